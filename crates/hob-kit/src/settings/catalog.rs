//! All declared settings in one list.

use super::key::SettingKey;

/// All keys of the program, in the order of their crates.
#[derive(Clone, Debug)]
pub struct SettingsCatalog {
    keys: Vec<SettingKey>,
}

impl SettingsCatalog {
    pub fn new(lists: &[&[SettingKey]]) -> SettingsCatalog {
        SettingsCatalog {
            keys: lists.concat(),
        }
    }

    pub fn keys(&self) -> impl Iterator<Item = &SettingKey> {
        self.keys.iter()
    }

    /// Finds the declaration of a path (`models.home.url` finds `models.*.url`).
    pub fn find(&self, path: &str) -> Option<&SettingKey> {
        self.keys.iter().find(|key| key.matches(path))
    }

    /// Returns the declared path most similar to `path`, if one is similar enough.
    pub fn nearest(&self, path: &str) -> Option<String> {
        const LIKENESS_MIN: f64 = 0.75;
        let name = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
        let likeness = |declared: &str| {
            let whole = strsim::jaro_winkler(declared, path);
            // The right name in the wrong section is a likely mistake too.
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

    /// Returns true if some key is below this table.
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

    /// Returns the faults of the declarations themselves. Empty in a correct program; for a test.
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
                let below = |one: &SettingKey, two: &SettingKey| {
                    two.path.starts_with(&format!("{}.", one.path))
                };
                if below(key, other) || below(other, key) {
                    faults.push(format!("{} and {} nest", other.path, key.path));
                }
            }
        }
        faults
    }
}

/// Replaces the `*` of a declared path by the name in `path`.
fn named_as(declared: &str, path: &str) -> String {
    let mut given = path.split('.');
    let segments = declared.split('.').map(|segment| match given.next() {
        Some(name) if segment == "*" => name,
        _ => segment,
    });
    segments.collect::<Vec<_>>().join(".")
}
