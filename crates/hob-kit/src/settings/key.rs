//! The declaration of a setting, from which the file, environment variable, CLI and manual derive.

use super::value::SettingValue;
use crate::duration::{format_ms, parse_ms};
use crate::host_environment::EnvVars;

/// The declaration of a setting: `SettingKey::new("log.level", SettingKind::…, "info", "…")`, then
/// [`SettingKey::live`] if a change applies without a restart and [`SettingKey::not_over_wire`] if
/// only the file may set it (program paths, for one).
#[derive(Clone, Copy, Debug)]
pub struct SettingKey {
    /// The dotted path. One segment may be `*`, a name that the user chooses (`models.*.url`).
    pub path: &'static str,
    pub kind: SettingKind,
    /// The default, as written in an environment variable.
    pub default: &'static str,
    /// The description, in full sentences.
    pub doc: &'static str,
    /// True if a change applies without a restart.
    pub live: bool,
    /// True if `config.set` may change it.
    pub over_wire: bool,
    /// A second environment variable. The one derived from the path overrides it.
    pub alias: Option<&'static str>,
    /// A setting for a folder. `hob config set` sets it to its own folder together with this one,
    /// unless it is set already.
    pub folder: Option<&'static str>,
}

/// The kind of values that a setting takes.
#[derive(Clone, Copy, Debug)]
pub enum SettingKind {
    Bool,
    Integer {
        min: u64,
        max: u64,
    },
    /// Written as `500ms`, `30s`, `10m`, `2h`, `7d`.
    Duration {
        min_ms: u64,
        max_ms: u64,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
    Text,
    /// A text with its own check. `expects` completes the sentence "takes …".
    Checked {
        expects: &'static str,
        check: fn(&str) -> Result<(), String>,
    },
    /// A list of texts; commas separate them in an environment variable.
    List,
}

impl SettingKey {
    pub const fn new(
        path: &'static str,
        kind: SettingKind,
        default: &'static str,
        doc: &'static str,
    ) -> SettingKey {
        SettingKey {
            path,
            kind,
            default,
            doc,
            live: false,
            over_wire: true,
            alias: None,
            folder: None,
        }
    }

    #[must_use]
    pub const fn live(mut self) -> SettingKey {
        self.live = true;
        self
    }

    #[must_use]
    pub const fn not_over_wire(mut self) -> SettingKey {
        self.over_wire = false;
        self
    }

    #[must_use]
    pub const fn alias(mut self, variable: &'static str) -> SettingKey {
        self.alias = Some(variable);
        self
    }

    #[must_use]
    pub const fn with_folder(mut self, path: &'static str) -> SettingKey {
        self.folder = Some(path);
        self
    }

    pub fn is_pattern(&self) -> bool {
        self.path.split('.').any(|segment| segment == "*")
    }

    /// The environment variable that overrides the file; a key with a `*` has none.
    pub fn variable(&self) -> Option<String> {
        let name = || format!("HOB_{}", self.path.replace(['.', '-'], "_").to_uppercase());
        (!self.is_pattern()).then(name)
    }

    pub fn default_value(&self) -> Option<SettingValue> {
        self.kind.parse(self.default).ok()
    }

    /// Returns the variable that sets the key in this environment, with its text.
    pub(super) fn environment<'e>(&self, env: &'e EnvVars) -> Option<(String, &'e str)> {
        let derived = self.variable().into_iter();
        let mut variables = derived.chain(self.alias.map(str::to_owned));
        variables.find_map(|variable| {
            let text = env.text(&variable)?;
            Some((variable, text))
        })
    }

    /// Returns true if `path` names this setting.
    pub(super) fn matches(&self, path: &str) -> bool {
        self.path == path || pattern_name(self.path, path).is_some()
    }
}

impl SettingKind {
    /// Parses a value from an environment variable or the command line.
    pub fn parse(&self, text: &str) -> Result<SettingValue, String> {
        let text = text.trim();
        let value = match self {
            SettingKind::Bool => match text {
                "true" => SettingValue::Bool(true),
                "false" => SettingValue::Bool(false),
                _ => return Err(self.refusal(text)),
            },
            SettingKind::Integer { .. } => {
                let digits = text.replace('_', "");
                SettingValue::Integer(digits.parse().map_err(|_| self.refusal(text))?)
            }
            SettingKind::Duration { .. } => {
                SettingValue::DurationMs(parse_ms(text).map_err(|_| self.refusal(text))?)
            }
            SettingKind::Choice(_) | SettingKind::Text | SettingKind::Checked { .. } => {
                SettingValue::Text(text.to_owned())
            }
            SettingKind::List => SettingValue::List(
                text.split(',')
                    .map(str::trim)
                    .filter(|part| !part.is_empty())
                    .map(str::to_owned)
                    .collect(),
            ),
        };
        self.check(value)
    }

    /// Reads a value from JSON. A string is parsed like a command line argument.
    pub fn from_json(&self, json: &serde_json::Value) -> Result<SettingValue, String> {
        let refused = || self.refusal(&json.to_string());
        let value = match (self, json) {
            (SettingKind::Bool, serde_json::Value::Bool(value)) => SettingValue::Bool(*value),
            (SettingKind::Integer { .. }, serde_json::Value::Number(value)) => {
                SettingValue::Integer(value.as_u64().ok_or_else(refused)?)
            }
            (SettingKind::List, serde_json::Value::Array(items)) => {
                let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
                SettingValue::List(texts.collect::<Option<_>>().ok_or_else(refused)?)
            }
            (SettingKind::Text | SettingKind::Checked { .. }, serde_json::Value::String(text)) => {
                SettingValue::Text(text.clone())
            }
            (_, serde_json::Value::String(text)) => return self.parse(text),
            _ => return Err(refused()),
        };
        self.check(value)
    }

    /// Refuses a value out of bounds.
    pub(super) fn check(&self, value: SettingValue) -> Result<SettingValue, String> {
        let fits = match (self, &value) {
            (SettingKind::Bool, SettingValue::Bool(_))
            | (SettingKind::Text, SettingValue::Text(_)) => true,
            (SettingKind::Integer { min, max }, SettingValue::Integer(number)) => {
                (min..=max).contains(&number)
            }
            (SettingKind::Duration { min_ms, max_ms }, SettingValue::DurationMs(ms)) => {
                (min_ms..=max_ms).contains(&ms)
            }
            (SettingKind::Choice(words), SettingValue::Text(text)) => {
                words.contains(&text.as_str())
            }
            (SettingKind::Checked { check, .. }, SettingValue::Text(text)) => {
                return check(text).map(|()| value);
            }
            (SettingKind::List, SettingValue::List(items)) => {
                // An item with a comma could not be written in an environment variable.
                items
                    .iter()
                    .all(|item| !item.is_empty() && !item.contains(','))
            }
            _ => false,
        };
        if fits {
            Ok(value)
        } else {
            Err(self.refusal(&value.to_string()))
        }
    }

    /// The accepted values, to complete "takes …".
    pub fn expects(&self) -> String {
        match self {
            SettingKind::Bool => "true or false".to_owned(),
            SettingKind::Integer { min, max } => format!("a whole number from {min} to {max}"),
            SettingKind::Duration { min_ms, max_ms } => format!(
                "a duration from \"{}\" to \"{}\"",
                format_ms(*min_ms),
                format_ms(*max_ms)
            ),
            SettingKind::Choice(words) => format!("one of \"{}\"", words.join("\", \"")),
            SettingKind::Text => "a text".to_owned(),
            SettingKind::Checked { expects, .. } => (*expects).to_owned(),
            SettingKind::List => "a list of texts".to_owned(),
        }
    }

    pub(super) fn refusal(&self, found: &str) -> String {
        format!("it takes {}, not {found}", self.expects())
    }
}

/// Returns the name that the `*` of `pattern` matches in `path`; `None` if they do not match.
pub(super) fn pattern_name(pattern: &str, path: &str) -> Option<String> {
    let star = pattern.split('.').position(|segment| segment == "*")?;
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    // The whole catalog is compared with each path, and hardly any path has quotes: only a path
    // with quotes is parsed as TOML.
    if path.bytes().all(is_bare) {
        let name = name_at(star, pattern, path.split('.'))?;
        return (!name.is_empty()).then(|| name.to_owned());
    }
    let parsed = toml_edit::Key::parse(path).ok()?;
    let segments = parsed.iter().map(toml_edit::Key::get);
    name_at(star, pattern, segments).map(str::to_owned)
}

/// Returns the segment at `star` if all other segments equal those of the pattern.
fn name_at<'p>(
    star: usize,
    pattern: &str,
    mut path: impl Iterator<Item = &'p str>,
) -> Option<&'p str> {
    let mut name = None;
    for (index, segment) in pattern.split('.').enumerate() {
        let found = path.next()?;
        if index == star {
            name = Some(found);
        } else if found != segment {
            return None;
        }
    }
    name.filter(|_| path.next().is_none())
}
