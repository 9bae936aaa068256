//! Settings: declared once by the crate that owns them, read from one commented TOML file, and
//! overridden by environment variables.
//!
//! - [`SettingKey`], [`SettingKind`]: the declaration of a setting (`pub const KEYS: &[SettingKey]`)
//! - [`SettingsCatalog`]: all declared keys, assembled in the binary; its texts (default file, reference
//!   page) derive from the declarations
//! - [`Settings`]: the values, each with its [`SettingSource`]
//! - [`edit`]: changes one key of the file and keeps every comment
//!
//! Invariants: a value in a [`Settings`] fits its key's kind and bounds; a file with an
//! unknown key, a wrong type or a value out of bounds is refused with its line, never half read.

mod catalog;
mod config_file;
pub mod edit;
mod generated_text;
mod key;
mod value;

pub use catalog::SettingsCatalog;
pub use config_file::{ConfigProblem, ConfigProblems};
pub use key::{SettingKey, SettingKind};
pub use value::SettingValue;

use crate::host_environment::EnvVars;
use crate::text_file::NotText;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The source of a setting's value; a later one overrides an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SettingSource {
    Default,
    File,
    Env,
}

/// The value of a setting and its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedSetting {
    pub value: SettingValue,
    pub origin: SettingSource,
}

/// The values of all settings. Live changes are distributed by `watch::Receiver<Arc<Settings>>`.
#[derive(Clone, Debug)]
pub struct Settings {
    catalog: Arc<SettingsCatalog>,
    entries: BTreeMap<String, ResolvedSetting>,
}

impl Settings {
    /// Returns the defaults only, for tests and for commands without a home.
    pub fn defaults(catalog: Arc<SettingsCatalog>) -> Settings {
        let entries = catalog
            .keys()
            .filter(|key| !key.is_pattern())
            .filter_map(|key| Some((key.path.to_owned(), key.default_value()?)))
            .map(|(path, value)| {
                let origin = SettingSource::Default;
                (path, ResolvedSetting { value, origin })
            })
            .collect();
        Settings { catalog, entries }
    }

    /// Reads the settings: the environment overrides the file's text, which overrides the defaults.
    /// `name` is the name of the file in messages.
    pub fn load(
        catalog: &Arc<SettingsCatalog>,
        name: &str,
        text: &str,
        env: &EnvVars,
    ) -> Result<Settings, ConfigProblems> {
        let mut settings = Settings::defaults(Arc::clone(catalog));
        let mut problems = Vec::new();
        // All problems are collected, so that the user can fix the file in one go.
        match config_file::read(catalog, text) {
            Ok(values) => {
                for (path, value) in values {
                    let origin = SettingSource::File;
                    settings
                        .entries
                        .insert(path, ResolvedSetting { value, origin });
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
                    let origin = SettingSource::Env;
                    let path = key.path.to_owned();
                    settings
                        .entries
                        .insert(path, ResolvedSetting { value, origin });
                }
                Err(reason) => problems.push(ConfigProblem {
                    line: None,
                    message: format!("{variable} (which sets {}): {reason}", key.path),
                }),
            }
        }
        if problems.is_empty() {
            Ok(settings)
        } else {
            Err(ConfigProblems {
                file: name.to_owned(),
                problems,
            })
        }
    }

    /// Reads the config file of the home; without one the defaults apply.
    pub fn load_home(
        catalog: &Arc<SettingsCatalog>,
        home: &crate::home::Home,
        env: &EnvVars,
    ) -> Result<Settings, ConfigProblems> {
        let path = home.config_file();
        let name = path.display().to_string();
        let text = edit::read_file(&path).map_err(|failure| ConfigProblems {
            file: name.clone(),
            problems: vec![unreadable(&failure)],
        })?;
        Settings::load(catalog, &name, &text, env)
    }

    pub fn catalog(&self) -> &Arc<SettingsCatalog> {
        &self.catalog
    }

    pub fn entry(&self, path: &str) -> Option<&ResolvedSetting> {
        self.entries.get(path)
    }

    /// All settings in alphabetical order.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &ResolvedSetting)> {
        self.entries
            .iter()
            .map(|(path, entry)| (path.as_str(), entry))
    }

    /// The names that match a `*`, such as those of `[models.NAME]` for `models.*.url`.
    pub fn names(&self, pattern: &str) -> Vec<String> {
        let mut names: Vec<String> = self
            .entries
            .keys()
            .filter_map(|path| key::pattern_name(pattern, path))
            .collect();
        // The paths are sorted, so equal names follow each other.
        names.dedup();
        names
    }

    /// Returns these settings with the live keys of `newer`, as they apply without a restart.
    #[must_use]
    pub fn with_live_from(&self, newer: &Settings) -> Settings {
        let live = |path: &str| self.catalog.find(path).is_some_and(|key| key.live);
        let mut entries = self.entries.clone();
        // Removed first: a key that is gone from the file must not keep its old value.
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
            SettingValue::Bool(value) => *value,
            other => panic_wrong_kind(path, other),
        }
    }

    pub fn u64(&self, path: &str) -> u64 {
        match self.value(path) {
            SettingValue::Integer(value) => *value,
            other => panic_wrong_kind(path, other),
        }
    }

    pub fn usize(&self, path: &str) -> usize {
        usize::try_from(self.u64(path)).unwrap_or(usize::MAX)
    }

    pub fn duration_ms(&self, path: &str) -> u64 {
        match self.value(path) {
            SettingValue::DurationMs(value) => *value,
            other => panic_wrong_kind(path, other),
        }
    }

    pub fn text(&self, path: &str) -> &str {
        match self.value(path) {
            SettingValue::Text(value) => value,
            other => panic_wrong_kind(path, other),
        }
    }

    pub fn list(&self, path: &str) -> &[String] {
        match self.value(path) {
            SettingValue::List(value) => value,
            other => panic_wrong_kind(path, other),
        }
    }

    #[expect(
        clippy::panic,
        reason = "reading a key that no crate declares is a fault of the program, met by the first test that does it"
    )]
    fn value(&self, path: &str) -> &SettingValue {
        match self.entries.get(path) {
            Some(entry) => &entry.value,
            None => panic!("the setting '{path}' is declared by no catalog"),
        }
    }
}

/// Returns the problem of a file that cannot be read.
fn unreadable(failure: &std::io::Error) -> ConfigProblem {
    let inner = failure.get_ref();
    match inner.and_then(|inner| inner.downcast_ref::<NotText>()) {
        Some(not_text) => ConfigProblem {
            line: Some(not_text.line),
            message: not_text.to_string(),
        },
        None => ConfigProblem {
            line: None,
            message: format!("the file cannot be read: {failure}"),
        },
    }
}

#[expect(
    clippy::panic,
    reason = "reading a key as another kind than its own is a fault of the program, met by the first test that does it"
)]
fn panic_wrong_kind(path: &str, found: &SettingValue) -> ! {
    panic!("the setting '{path}' is not of the kind it is read as: {found:?}")
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
