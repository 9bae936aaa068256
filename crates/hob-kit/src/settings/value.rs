//! A setting's value, and how it is written as TOML and JSON.

use crate::duration::format_ms;
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Bool(bool),
    Integer(u64),
    Text(String),
    DurationMs(u64),
    List(Vec<String>),
}

impl Value {
    /// As JSON; a duration is the text a person writes.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Value::Bool(value) => (*value).into(),
            Value::Integer(value) => (*value).into(),
            Value::Text(value) => value.clone().into(),
            Value::DurationMs(value) => format_ms(*value).into(),
            Value::List(items) => items.clone().into(),
        }
    }

    pub(super) fn to_toml(&self) -> toml_edit::Value {
        match self {
            Value::Bool(value) => (*value).into(),
            // TOML's integers are signed; bounds above that are cut to what it can say.
            Value::Integer(value) => i64::try_from(*value).unwrap_or(i64::MAX).into(),
            Value::Text(value) => value.into(),
            Value::DurationMs(value) => format_ms(*value).into(),
            Value::List(items) => items.iter().collect::<toml_edit::Array>().into(),
        }
    }
}

impl fmt::Display for Value {
    /// As TOML.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_toml().to_string().trim())
    }
}
