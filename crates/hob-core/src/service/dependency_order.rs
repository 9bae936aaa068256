//! The order in which dependent services start and stop. Pure.

use std::collections::{BTreeMap, BTreeSet};

/// The names of the services that each service needs.
pub type ServiceDependencies = BTreeMap<String, Vec<String>>;

/// The reason there is no order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DependencyError {
    /// The services need each other in a cycle; the last one needs the first.
    Cycle(Vec<String>),
    /// `by` needs an unknown service.
    Unknown { name: String, by: String },
}

impl DependencyError {
    /// Returns a sentence for a person.
    pub fn sentence(&self) -> String {
        match self {
            DependencyError::Cycle(names) => {
                let first = names.first().map_or("", String::as_str);
                format!(
                    "Services that need each other in a cycle cannot be started: {} → {first}. Change 'needs' of one of them.",
                    names.join(" → ")
                )
            }
            DependencyError::Unknown { name, by } => {
                format!("'{by}' needs '{name}', but there is no service of that name.")
            }
        }
    }
}

/// Returns a service after everything it needs, each once: the start order.
pub fn start_order(
    name: &str,
    needs: &ServiceDependencies,
) -> Result<Vec<String>, DependencyError> {
    let mut walk = DependencyWalk {
        needs,
        path: Vec::new(),
        done: BTreeSet::new(),
        order: Vec::new(),
    };
    walk.visit(name)?;
    Ok(walk.order)
}

/// Returns a service after everything that needs it, directly or not: the stop order.
pub fn stop_order(name: &str, needs: &ServiceDependencies) -> Vec<String> {
    let mut affected = BTreeSet::from([name.to_owned()]);
    // Repeated until nothing is added, because a service may need this one through others.
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
    reverse_order(affected, needs)
}

/// Returns all services, each after everything that needs it.
pub fn stop_order_all(needs: &ServiceDependencies) -> Vec<String> {
    reverse_order(needs.keys().cloned().collect(), needs)
}

/// Orders these services so that each comes after those of them that need it.
fn reverse_order(mut affected: BTreeSet<String>, needs: &ServiceDependencies) -> Vec<String> {
    let mut order: Vec<String> = Vec::new();
    while !affected.is_empty() {
        let is_needed = |name: &String| {
            let mut others = affected.iter().filter(|other| *other != name);
            others.any(|other| needs.get(other).is_some_and(|it| it.contains(name)))
        };
        let free = affected.iter().find(|name| !is_needed(name));
        // In a cycle none is free; any of them may be first.
        let Some(next) = free.or_else(|| affected.first()).cloned() else {
            break;
        };
        affected.remove(&next);
        order.push(next);
    }
    order
}

struct DependencyWalk<'a> {
    needs: &'a ServiceDependencies,
    /// The services from the requested one to the present one.
    path: Vec<String>,
    done: BTreeSet<String>,
    order: Vec<String>,
}

impl DependencyWalk<'_> {
    fn visit(&mut self, name: &str) -> Result<(), DependencyError> {
        // A service that several others need is started once.
        if self.done.contains(name) {
            return Ok(());
        }
        if let Some(at) = self.path.iter().position(|above| above == name) {
            return Err(DependencyError::Cycle(self.path[at..].to_vec()));
        }
        let Some(needed) = self.needs.get(name) else {
            let by = self.path.last().cloned().unwrap_or_default();
            let name = name.to_owned();
            return Err(DependencyError::Unknown { name, by });
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
#[path = "dependency_order_tests.rs"]
mod tests;
