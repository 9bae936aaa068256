//! The value of a setting, and its TOML and JSON forms.

use crate::duration::format_ms;
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingValue {
    Bool(bool),
    Integer(u64),
    Text(String),
    DurationMs(u64),
    List(Vec<String>),
}

impl SettingValue {
    /// Converts to JSON; a duration becomes text such as `30s`.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            SettingValue::Bool(value) => (*value).into(),
            SettingValue::Integer(value) => (*value).into(),
            SettingValue::Text(value) => value.clone().into(),
            SettingValue::DurationMs(value) => format_ms(*value).into(),
            SettingValue::List(items) => items.clone().into(),
        }
    }

    pub(super) fn to_toml(&self) -> toml_edit::Value {
        match self {
            SettingValue::Bool(value) => (*value).into(),
            // TOML integers are signed, so a larger value is clamped.
            SettingValue::Integer(value) => i64::try_from(*value).unwrap_or(i64::MAX).into(),
            SettingValue::Text(value) => value.into(),
            SettingValue::DurationMs(value) => format_ms(*value).into(),
            SettingValue::List(items) => items.iter().collect::<toml_edit::Array>().into(),
        }
    }
}

impl fmt::Display for SettingValue {
    /// As TOML.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_toml().to_string().trim())
    }
}
