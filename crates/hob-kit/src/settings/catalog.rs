//! All declared settings in one list.

use super::key::Key;

/// Every key of the program, in the order their crates were named.
#[derive(Clone, Debug)]
pub struct Catalog {
    keys: Vec<Key>,
}

impl Catalog {
    pub fn new(lists: &[&[Key]]) -> Catalog {
        Catalog {
            keys: lists.concat(),
        }
    }

    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.keys.iter()
    }

    /// The declaration of a path as a person writes it (`models.home.url` finds `models.*.url`).
    pub fn find(&self, path: &str) -> Option<&Key> {
        self.keys.iter().find(|key| key.matches(path))
    }

    /// The declared path most like `path`, if one is near enough to be what was meant.
    pub fn nearest(&self, path: &str) -> Option<String> {
        const LIKENESS_MIN: f64 = 0.75;
        let name = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
        let likeness = |declared: &str| {
            let whole = strsim::jaro_winkler(declared, path);
            // The right name under the wrong section is a likely slip too.
            let same_name = name(declared) == name(path);
            if same_name { whole.max(0.9) } else { whole }
        };
        let declared = self.keys.iter().map(|key| named_as(key.path, path));
        declared
            .map(|declared| (likeness(&declared), declared))
            .filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
            .max_by(|one, other| one.0.total_cmp(&other.0))
            .map(|(_, declared)| declared)
    }

    /// Whether some key lies below this table.
    pub(super) fn is_table(&self, path: &[&str]) -> bool {
        self.keys.iter().any(|key| {
            let segments: Vec<&str> = key.path.split('.').collect();
            segments.len() > path.len()
                && path
                    .iter()
                    .zip(&segments)
                    .all(|(given, declared)| *declared == "*" || given == declared)
        })
    }

    /// What is wrong with the declarations themselves; empty in a sound program. A test asks.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for (index, key) in self.keys.iter().enumerate() {
            if let Err(reason) = key.kind.parse(key.default) {
                faults.push(format!("the default of {}: {reason}", key.path));
            }
            if key.doc.trim().is_empty() {
                faults.push(format!("{} says nothing about itself", key.path));
            }
            for other in &self.keys[..index] {
                let variable = key.variable().is_some() && key.variable() == other.variable();
                if variable || key.path == other.path {
                    faults.push(format!("{} and {} collide", other.path, key.path));
                }
                let below = |one: &Key, two: &Key| two.path.starts_with(&format!("{}.", one.path));
                if below(key, other) || below(other, key) {
                    faults.push(format!("{} and {} nest", other.path, key.path));
                }
            }
        }
        faults
    }
}

/// A declared path with the person's own name in place of its `*`.
fn named_as(declared: &str, path: &str) -> String {
    let mut given = path.split('.');
    let segments = declared.split('.').map(|segment| match given.next() {
        Some(name) if segment == "*" => name,
        _ => segment,
    });
    segments.collect::<Vec<_>>().join(".")
}
