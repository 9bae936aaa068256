//! Settings: declared once by the crate that owns them, read from one commented TOML file, beaten
//! by environment variables.
//!
//! - [`Key`], [`Kind`]: how a crate declares a setting (`pub const KEYS: &[Key]`)
//! - [`Catalog`]: all declared keys, assembled in the binary; its texts (default file, reference
//!   page) derive from the declarations
//! - [`Settings`]: the values, each with its [`Origin`]
//! - [`edit`]: changing one key of the file, every comment kept
//!
//! Invariants: a value that is in a [`Settings`] fits its key's kind and bounds; a file with an
//! unknown key, a wrong type or a value out of bounds is refused with its line, never half read.

mod catalog;
mod document;
pub mod edit;
mod key;
mod page;
mod value;

pub use catalog::Catalog;
pub use document::{Problem, Problems};
pub use key::{Key, Kind};
pub use value::Value;

use crate::text_file::NotText;
use crate::world::Env;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Where a setting's value comes from; the later beats the earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    Default,
    File,
    Env,
}

/// One value and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub value: Value,
    pub origin: Origin,
}

/// Every setting's value. Live changes travel as `watch::Receiver<Arc<Settings>>`.
#[derive(Clone, Debug)]
pub struct Settings {
    catalog: Arc<Catalog>,
    entries: BTreeMap<String, Entry>,
}

impl Settings {
    /// The defaults alone, for tests and for commands without a home.
    pub fn defaults(catalog: Arc<Catalog>) -> Settings {
        let entries = catalog
            .keys()
            .filter(|key| !key.is_pattern())
            .filter_map(|key| Some((key.path.to_owned(), key.default_value()?)))
            .map(|(path, value)| {
                let origin = Origin::Default;
                (path, Entry { value, origin })
            })
            .collect();
        Settings { catalog, entries }
    }

    /// Reads the file's text over the defaults, and the environment over both. `name` is how the
    /// file is called in messages.
    pub fn load(
        catalog: &Arc<Catalog>,
        name: &str,
        text: &str,
        env: &Env,
    ) -> Result<Settings, Problems> {
        let mut settings = Settings::defaults(Arc::clone(catalog));
        let mut problems = Vec::new();
        match document::read(catalog, text) {
            Ok(values) => {
                for (path, value) in values {
                    let origin = Origin::File;
                    settings.entries.insert(path, Entry { value, origin });
                }
            }
            Err(found) => problems = found,
        }
        for key in catalog.keys().filter(|key| !key.is_pattern()) {
            let Some((variable, text)) = key.environment(env) else {
                continue;
            };
            match key.kind.parse(text) {
                Ok(value) => {
                    let origin = Origin::Env;
                    let path = key.path.to_owned();
                    settings.entries.insert(path, Entry { value, origin });
                }
                Err(reason) => problems.push(Problem {
                    line: None,
                    message: format!("{variable} (which sets {}): {reason}", key.path),
                }),
            }
        }
        if problems.is_empty() {
            Ok(settings)
        } else {
            Err(Problems {
                file: name.to_owned(),
                problems,
            })
        }
    }

    /// Reads the home's config file; a missing one means the defaults.
    pub fn of_home(
        catalog: &Arc<Catalog>,
        home: &crate::home::Home,
        env: &Env,
    ) -> Result<Settings, Problems> {
        let path = home.config_file();
        let name = path.display().to_string();
        let text = edit::read_file(&path).map_err(|failure| Problems {
            file: name.clone(),
            problems: vec![unreadable(&failure)],
        })?;
        Settings::load(catalog, &name, &text, env)
    }

    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    pub fn entry(&self, path: &str) -> Option<&Entry> {
        self.entries.get(path)
    }

    /// Every setting in alphabetical order.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries
            .iter()
            .map(|(path, entry)| (path.as_str(), entry))
    }

    /// The names a `*` stands for, such as those of `[models.NAME]` for `models.*.url`.
    pub fn names(&self, pattern: &str) -> Vec<String> {
        let mut names: Vec<String> = self
            .entries
            .keys()
            .filter_map(|path| key::pattern_name(pattern, path))
            .collect();
        names.dedup();
        names
    }

    /// These settings with the values of live keys taken from `newer`: what is in effect after a
    /// change of the file without a restart.
    #[must_use]
    pub fn with_live_from(&self, newer: &Settings) -> Settings {
        let live = |path: &str| self.catalog.find(path).is_some_and(|key| key.live);
        let mut entries = self.entries.clone();
        entries.retain(|path, _| !live(path));
        for (path, entry) in newer.entries.iter().filter(|(path, _)| live(path)) {
            entries.insert(path.clone(), entry.clone());
        }
        Settings {
            catalog: Arc::clone(&self.catalog),
            entries,
        }
    }

    pub fn bool(&self, path: &str) -> bool {
        match self.value(path) {
            Value::Bool(value) => *value,
            other => misread(path, other),
        }
    }

    pub fn u64(&self, path: &str) -> u64 {
        match self.value(path) {
            Value::Integer(value) => *value,
            other => misread(path, other),
        }
    }

    pub fn usize(&self, path: &str) -> usize {
        usize::try_from(self.u64(path)).unwrap_or(usize::MAX)
    }

    pub fn duration_ms(&self, path: &str) -> u64 {
        match self.value(path) {
            Value::DurationMs(value) => *value,
            other => misread(path, other),
        }
    }

    pub fn text(&self, path: &str) -> &str {
        match self.value(path) {
            Value::Text(value) => value,
            other => misread(path, other),
        }
    }

    pub fn list(&self, path: &str) -> &[String] {
        match self.value(path) {
            Value::List(value) => value,
            other => misread(path, other),
        }
    }

    #[expect(
        clippy::panic,
        reason = "reading a key that no crate declares is a fault of the program, met by the first test that does it"
    )]
    fn value(&self, path: &str) -> &Value {
        match self.entries.get(path) {
            Some(entry) => &entry.value,
            None => panic!("the setting '{path}' is declared by no catalog"),
        }
    }
}

/// What is wrong with a file whose text is not to be had.
fn unreadable(failure: &std::io::Error) -> Problem {
    let inner = failure.get_ref();
    match inner.and_then(|inner| inner.downcast_ref::<NotText>()) {
        Some(not_text) => Problem {
            line: Some(not_text.line),
            message: not_text.to_string(),
        },
        None => Problem {
            line: None,
            message: format!("the file cannot be read: {failure}"),
        },
    }
}

#[expect(
    clippy::panic,
    reason = "reading a key as another kind than its own is a fault of the program, met by the first test that does it"
)]
fn misread(path: &str, found: &Value) -> ! {
    panic!("the setting '{path}' is not of the kind it is read as: {found:?}")
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
