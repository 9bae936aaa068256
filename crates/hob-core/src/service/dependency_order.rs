//! In which order services that need each other are started and stopped. Pure.

use std::collections::{BTreeMap, BTreeSet};

/// Who needs whom: each service's name and the names it needs.
pub type Needs = BTreeMap<String, Vec<String>>;

/// Why there is no order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Disorder {
    /// These need each other in a circle; the first is the last one's need.
    Circle(Vec<String>),
    /// `by` needs a service that there is not.
    Unknown { name: String, by: String },
}

impl Disorder {
    /// In a sentence.
    pub fn sentence(&self) -> String {
        match self {
            Disorder::Circle(names) => {
                let first = names.first().map_or("", String::as_str);
                format!(
                    "Services that need each other in a circle cannot be started: {} → {first}. Change 'needs' of one of them.",
                    names.join(" → ")
                )
            }
            Disorder::Unknown { name, by } => {
                format!("'{by}' needs '{name}', and there is no service of that name.")
            }
        }
    }
}

/// A service after all it needs, each once: the order in which they start.
pub fn starting(name: &str, needs: &Needs) -> Result<Vec<String>, Disorder> {
    let mut walk = Walk {
        needs,
        path: Vec::new(),
        done: BTreeSet::new(),
        order: Vec::new(),
    };
    walk.visit(name)?;
    Ok(walk.order)
}

/// A service after all that need it, directly or not: the order in which they stop.
pub fn stopping(name: &str, needs: &Needs) -> Vec<String> {
    let mut affected = BTreeSet::from([name.to_owned()]);
    loop {
        let before = affected.len();
        let needing = needs.iter().filter(|(_, needed)| {
            let mut needed = needed.iter();
            needed.any(|name| affected.contains(name))
        });
        let needing: Vec<String> = needing.map(|(name, _)| name.clone()).collect();
        affected.extend(needing);
        if affected.len() == before {
            break;
        }
    }
    backwards(affected, needs)
}

/// All services, each after all that need it.
pub fn stopping_all(needs: &Needs) -> Vec<String> {
    backwards(needs.keys().cloned().collect(), needs)
}

/// These, each after those of them that need it.
fn backwards(mut affected: BTreeSet<String>, needs: &Needs) -> Vec<String> {
    let mut order: Vec<String> = Vec::new();
    while !affected.is_empty() {
        let is_needed = |name: &String| {
            let mut others = affected.iter().filter(|other| *other != name);
            others.any(|other| needs.get(other).is_some_and(|it| it.contains(name)))
        };
        let free = affected.iter().find(|name| !is_needed(name));
        // In a circle nobody is free; then any may be first.
        let Some(next) = free.or_else(|| affected.first()).cloned() else {
            break;
        };
        affected.remove(&next);
        order.push(next);
    }
    order
}

struct Walk<'a> {
    needs: &'a Needs,
    /// From the first asked for to the one looked at.
    path: Vec<String>,
    done: BTreeSet<String>,
    order: Vec<String>,
}

impl Walk<'_> {
    fn visit(&mut self, name: &str) -> Result<(), Disorder> {
        if self.done.contains(name) {
            return Ok(());
        }
        if let Some(at) = self.path.iter().position(|above| above == name) {
            return Err(Disorder::Circle(self.path[at..].to_vec()));
        }
        let Some(needed) = self.needs.get(name) else {
            let by = self.path.last().cloned().unwrap_or_default();
            let name = name.to_owned();
            return Err(Disorder::Unknown { name, by });
        };
        self.path.push(name.to_owned());
        for need in needed {
            self.visit(need)?;
        }
        self.path.pop();
        self.done.insert(name.to_owned());
        self.order.push(name.to_owned());
        Ok(())
    }
}

#[cfg(test)]
#[path = "order_tests.rs"]
mod tests;
