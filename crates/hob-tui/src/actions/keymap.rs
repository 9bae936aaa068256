//! Which key does what. Pure. A keymap is a preset with the lines of a file over it:
//!
//! ```text
//! preset hob
//! palette = ctrl-g
//! cut-to-end =
//! ```
//!
//! Invariant: a loaded keymap has no conflict; the error names both actions and the key.

use super::{ACTIONS, Action, Context, Key};
use crate::presets;
use std::collections::BTreeMap;
use std::fmt;

/// The most lines of a keymap file.
const LINES_MAX: usize = 1_000;

/// The reason why a keymap cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeymapError {
    /// Two actions share a key.
    Conflict {
        key: Key,
        one: &'static str,
        other: &'static str,
    },
    UnknownAction {
        line: usize,
        name: String,
    },
    UnknownKey {
        line: usize,
        key: String,
    },
    UnknownPreset {
        line: usize,
        name: String,
    },
    NotALine {
        line: usize,
    },
    TooLong,
}

impl fmt::Display for KeymapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeymapError::Conflict { key, one, other } => write!(
                f,
                "The key {key} is both `{one}` and `{other}`. Give one of them another key."
            ),
            KeymapError::UnknownAction { line, name } => {
                write!(f, "Line {line}: there is no action `{name}`.")
            }
            KeymapError::UnknownKey { line, key } => write!(
                f,
                "Line {line}: `{key}` is no key. Keys are written like ctrl-p, alt-enter, f1."
            ),
            KeymapError::UnknownPreset { line, name } => {
                let names = presets::names().join(", ");
                write!(
                    f,
                    "Line {line}: there is no preset `{name}`; there are {names}."
                )
            }
            KeymapError::NotALine { line } => write!(
                f,
                "Line {line}: expected `action = key key …` or `preset NAME`."
            ),
            KeymapError::TooLong => write!(f, "The file has more than {LINES_MAX} lines."),
        }
    }
}

/// The keys of every action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keymap {
    keys: BTreeMap<Action, Vec<Key>>,
}

impl Default for Keymap {
    fn default() -> Self {
        let keys = ACTIONS.iter().map(|spec| {
            let keys = spec.keys.iter().filter_map(|key| Key::parse(key));
            (spec.action, keys.collect())
        });
        Keymap {
            keys: keys.collect(),
        }
    }
}

impl Keymap {
    /// Reads a keymap file.
    pub fn parse(text: &str) -> Result<Keymap, KeymapError> {
        let mut keymap = Keymap::default();
        keymap.apply(text, true)?;
        keymap.check()?;
        Ok(keymap)
    }

    fn apply(&mut self, text: &str, may_name_preset: bool) -> Result<(), KeymapError> {
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            if number > LINES_MAX {
                return Err(KeymapError::TooLong);
            }
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(name) = line.strip_prefix("preset ").filter(|_| may_name_preset) {
                let name = name.trim();
                let preset = presets::named(name).ok_or(KeymapError::UnknownPreset {
                    line: number,
                    name: name.to_owned(),
                })?;
                *self = Keymap::default();
                self.apply(preset, false)?;
                continue;
            }
            self.apply_line(line, number)?;
        }
        Ok(())
    }

    fn apply_line(&mut self, line: &str, number: usize) -> Result<(), KeymapError> {
        let parts = line.split_once('=');
        let (name, keys) = parts.ok_or(KeymapError::NotALine { line: number })?;
        let name = name.trim();
        let action = Action::named(name).ok_or(KeymapError::UnknownAction {
            line: number,
            name: name.to_owned(),
        })?;
        let keys = keys.split_whitespace().map(|key| {
            Key::parse(key).ok_or(KeymapError::UnknownKey {
                line: number,
                key: key.to_owned(),
            })
        });
        self.keys.insert(action, keys.collect::<Result<_, _>>()?);
        Ok(())
    }

    fn check(&self) -> Result<(), KeymapError> {
        let mut taken: BTreeMap<Key, Vec<Action>> = BTreeMap::new();
        for (action, keys) in &self.keys {
            for key in keys {
                let others = taken.entry(*key).or_default();
                let context = action.spec().context;
                let clashes =
                    |other: &&Action| **other != *action && other.spec().context.overlaps(context);
                if let Some(other) = others.iter().find(clashes) {
                    return Err(KeymapError::Conflict {
                        key: *key,
                        one: other.spec().name,
                        other: action.spec().name,
                    });
                }
                others.push(*action);
            }
        }
        Ok(())
    }

    /// The action of a key in the first of these places that has one.
    pub fn action(&self, key: Key, contexts: &[Context]) -> Option<Action> {
        let key = key.normal();
        contexts.iter().find_map(|context| {
            let mut here = ACTIONS.iter().filter(|spec| spec.context == *context);
            let found = here.find(|spec| self.keys_of(spec.action).contains(&key));
            found.map(|spec| spec.action)
        })
    }

    pub fn keys_of(&self, action: Action) -> &[Key] {
        self.keys.get(&action).map_or(&[], Vec::as_slice)
    }

    /// The first key of an action as it is written; empty without one.
    pub fn shown(&self, action: Action) -> String {
        let first = self.keys_of(action).first();
        first.map_or_else(String::new, ToString::to_string)
    }
}
