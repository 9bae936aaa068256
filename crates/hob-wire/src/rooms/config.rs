//! `config.*`: reading and changing settings. Writing needs `admin`.

use crate::event::events;
use crate::method::{CliExposure, methods};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

methods! { "config";
    /// Shows one setting, the settings under a prefix, or all settings.
    Get = "config.get" {
        params: ConfigGetParams, result: ConfigGetResult, scope: Read, effect: Pure,
        cli: CliExposure::Hidden,
    }
    /// Changes one setting in the config file and applies it at once if possible.
    Set = "config.set" {
        params: ConfigSetParams, result: ConfigChange, scope: Admin, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Describes every setting: its kind, default, value, source and meaning.
    Schema = "config.schema" {
        params: ConfigGetParams, result: ConfigSchemaResult, scope: Read, effect: Pure,
        cli: CliExposure::Hidden,
    }
    /// Takes back the last change that `config.set` made, once.
    ///
    /// Refused with `CONFLICT` if the config file was changed since, and with `NOT_FOUND` if there
    /// is nothing to take back.
    Undo = "config.undo" {
        params: ConfigUndoParams, result: ConfigChange, scope: Admin, effect: Opaque,
        cli: CliExposure::Hidden,
    }
}

events! { "config";
    /// A setting changed.
    ConfigChanged = "config.changed" {
        payload: ConfigChange, scope: Read, durability: Logged,
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConfigGetParams {
    /// A key such as `log.level`, or a prefix such as `log`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigGetResult {
    pub settings: Vec<ConfigSetting>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigSetting {
    pub key: String,
    pub value: Value,
    pub origin: ConfigOrigin,
    /// True if a change applies without a restart.
    pub live: bool,
}

/// The source of a setting's value. Later variants override earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ConfigOrigin {
    Default,
    File,
    Env,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigSchemaResult {
    pub settings: Vec<ConfigKeySchema>,
}

/// The declaration of a setting, and its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigKeySchema {
    /// The dotted path. A `*` in it is a name of your choice: `models.*.url`.
    pub key: String,
    pub kind: SettingKindSchema,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// The value in effect; missing for a path with a `*`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// The value that takes effect after `hob restart`, if it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<Value>,
    /// The source of the configured value.
    pub origin: ConfigOrigin,
    /// The settings that a path with a `*` stands for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<ConfigInstance>,
    /// True if a change applies without a restart.
    pub live: bool,
    /// False if only the file may set it.
    pub settable: bool,
    /// The environment variable that overrides the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// Its meaning, in full sentences.
    pub about: String,
}

/// The values that a setting takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    rename_all = "lowercase",
    rename_all_fields = "camelCase",
    tag = "type"
)]
pub enum SettingKindSchema {
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
    Choice {
        choices: Vec<String>,
    },
    Text {
        /// What it takes, if it is not any text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expects: Option<String>,
    },
    /// A list of texts.
    List,
}

/// A setting whose path has a name of the person's choice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigInstance {
    pub key: String,
    pub value: Value,
    pub origin: ConfigOrigin,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConfigUndoParams {}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConfigSetParams {
    pub key: String,
    /// The new value; null resets it to the default.
    pub value: Value,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigChange {
    pub key: String,
    pub value: Value,
    pub applied: ApplyStatus,
}

/// The time at which a change takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ApplyStatus {
    /// The change is in effect.
    Now,
    /// The change takes effect after `hob restart`.
    Restart,
    /// The change has no effect while an environment variable overrides the file.
    Overridden,
}
