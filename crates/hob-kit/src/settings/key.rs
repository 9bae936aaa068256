//! How a setting is declared: once, with all that file, environment, CLI and manual derive from.

use super::value::Value;
use crate::duration::{format_ms, parse_ms};
use crate::world::Env;

/// A setting's declaration. `Key::new("log.level", Kind::…, "info", "How much is logged.")`,
/// then [`Key::live`] if a change applies without a restart and [`Key::not_over_wire`] if only
/// the file may set it (program paths, for one).
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Dotted path. One segment may be `*`: a name of the person's choice (`models.*.url`).
    pub path: &'static str,
    pub kind: Kind,
    /// The default as a person would write it in an environment variable.
    pub default: &'static str,
    /// What it does, in full sentences.
    pub doc: &'static str,
    /// Whether a change applies without a restart.
    pub live: bool,
    /// Whether `config.set` may change it.
    pub over_wire: bool,
    /// A second environment variable that sets it; the one derived from the path beats it.
    pub alias: Option<&'static str>,
}

/// What values a setting takes.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
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
    /// A text with a rule of its own. `expects` completes the sentence "takes …".
    Checked {
        expects: &'static str,
        check: fn(&str) -> Result<(), String>,
    },
    /// A list of texts; commas separate them in an environment variable.
    List,
}

impl Key {
    pub const fn new(
        path: &'static str,
        kind: Kind,
        default: &'static str,
        doc: &'static str,
    ) -> Key {
        Key {
            path,
            kind,
            default,
            doc,
            live: false,
            over_wire: true,
            alias: None,
        }
    }

    #[must_use]
    pub const fn live(mut self) -> Key {
        self.live = true;
        self
    }

    #[must_use]
    pub const fn not_over_wire(mut self) -> Key {
        self.over_wire = false;
        self
    }

    #[must_use]
    pub const fn alias(mut self, variable: &'static str) -> Key {
        self.alias = Some(variable);
        self
    }

    pub fn is_pattern(&self) -> bool {
        self.path.split('.').any(|segment| segment == "*")
    }

    /// The environment variable that beats the file; a key with a `*` has none.
    pub fn variable(&self) -> Option<String> {
        let name = || format!("HOB_{}", self.path.replace(['.', '-'], "_").to_uppercase());
        (!self.is_pattern()).then(name)
    }

    pub fn default_value(&self) -> Option<Value> {
        self.kind.parse(self.default).ok()
    }

    /// The variable of this environment that sets the key, with its text.
    pub(super) fn environment<'e>(&self, env: &'e Env) -> Option<(String, &'e str)> {
        let derived = self.variable().into_iter();
        let mut variables = derived.chain(self.alias.map(str::to_owned));
        variables.find_map(|variable| {
            let text = env.text(&variable)?;
            Some((variable, text))
        })
    }

    /// Whether `path` names this setting.
    pub(super) fn matches(&self, path: &str) -> bool {
        self.path == path || pattern_name(self.path, path).is_some()
    }
}

impl Kind {
    /// Reads a value as an environment variable or a command line gives it.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        let text = text.trim();
        let value = match self {
            Kind::Bool => match text {
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                _ => return Err(self.refusal(text)),
            },
            Kind::Integer { .. } => {
                let digits = text.replace('_', "");
                Value::Integer(digits.parse().map_err(|_| self.refusal(text))?)
            }
            Kind::Duration { .. } => {
                Value::DurationMs(parse_ms(text).map_err(|_| self.refusal(text))?)
            }
            Kind::Choice(_) | Kind::Text | Kind::Checked { .. } => Value::Text(text.to_owned()),
            Kind::List => Value::List(
                text.split(',')
                    .map(str::trim)
                    .filter(|part| !part.is_empty())
                    .map(str::to_owned)
                    .collect(),
            ),
        };
        self.check(value)
    }

    /// Reads a value as JSON gives it. A text is read as a person would write it.
    pub fn from_json(&self, json: &serde_json::Value) -> Result<Value, String> {
        let refused = || self.refusal(&json.to_string());
        let value = match (self, json) {
            (Kind::Bool, serde_json::Value::Bool(value)) => Value::Bool(*value),
            (Kind::Integer { .. }, serde_json::Value::Number(value)) => {
                Value::Integer(value.as_u64().ok_or_else(refused)?)
            }
            (Kind::List, serde_json::Value::Array(items)) => {
                let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
                Value::List(texts.collect::<Option<_>>().ok_or_else(refused)?)
            }
            (Kind::Text | Kind::Checked { .. }, serde_json::Value::String(text)) => {
                Value::Text(text.clone())
            }
            (_, serde_json::Value::String(text)) => return self.parse(text),
            _ => return Err(refused()),
        };
        self.check(value)
    }

    /// Refuses a value out of bounds.
    pub(super) fn check(&self, value: Value) -> Result<Value, String> {
        let fits = match (self, &value) {
            (Kind::Bool, Value::Bool(_)) | (Kind::Text, Value::Text(_)) => true,
            (Kind::Integer { min, max }, Value::Integer(number)) => (min..=max).contains(&number),
            (Kind::Duration { min_ms, max_ms }, Value::DurationMs(ms)) => {
                (min_ms..=max_ms).contains(&ms)
            }
            (Kind::Choice(words), Value::Text(text)) => words.contains(&text.as_str()),
            (Kind::Checked { check, .. }, Value::Text(text)) => return check(text).map(|()| value),
            (Kind::List, Value::List(items)) => {
                // An item with a comma could not be said in the environment.
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

    /// What it takes, to complete "takes …".
    pub fn expects(&self) -> String {
        match self {
            Kind::Bool => "true or false".to_owned(),
            Kind::Integer { min, max } => format!("a whole number from {min} to {max}"),
            Kind::Duration { min_ms, max_ms } => format!(
                "a duration from \"{}\" to \"{}\"",
                format_ms(*min_ms),
                format_ms(*max_ms)
            ),
            Kind::Choice(words) => format!("one of \"{}\"", words.join("\", \"")),
            Kind::Text => "a text".to_owned(),
            Kind::Checked { expects, .. } => (*expects).to_owned(),
            Kind::List => "a list of texts".to_owned(),
        }
    }

    pub(super) fn refusal(&self, found: &str) -> String {
        format!("it takes {}, not {found}", self.expects())
    }
}

/// What the `*` of `pattern` stands for in `path`; none when they do not match.
///
/// Paths are compared often, a whole catalog at a time, and hardly one has quotes: only those
/// that are more than bare words are parsed.
pub(super) fn pattern_name(pattern: &str, path: &str) -> Option<String> {
    let star = pattern.split('.').position(|segment| segment == "*")?;
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if path.bytes().all(is_bare) {
        let name = name_at(star, pattern, path.split('.'))?;
        return (!name.is_empty()).then(|| name.to_owned());
    }
    let parsed = toml_edit::Key::parse(path).ok()?;
    let segments = parsed.iter().map(toml_edit::Key::get);
    name_at(star, pattern, segments).map(str::to_owned)
}

/// The segment at `star`, if all others are those of the pattern.
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
