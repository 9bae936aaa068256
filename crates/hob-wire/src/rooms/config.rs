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
