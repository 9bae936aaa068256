//! `config.*`: reading and changing settings. Writing needs `admin`.

use crate::event::events;
use crate::method::{Cli, methods};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

methods! { "config";
    /// Shows settings: one, those below a prefix, or all.
    Get = "config.get" {
        params: GetParams, result: Settings, scope: Read, effect: Pure,
        cli: Cli::Hidden,
    }
    /// Changes one setting in the config file and applies it at once where that can be done.
    Set = "config.set" {
        params: SetParams, result: Changed, scope: Admin, effect: Keyed,
        cli: Cli::Hidden,
    }
}

events! { "config";
    /// A setting changed.
    ConfigChanged = "config.changed" {
        payload: Changed, scope: Read, durability: Logged,
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GetParams {
    /// A key such as `log.level`, or a prefix such as `log`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    pub settings: Vec<Setting>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Setting {
    pub key: String,
    pub value: Value,
    pub origin: Origin,
    /// Whether a change applies without a restart.
    pub live: bool,
}

/// Where a setting's value comes from; the later beats the earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    Default,
    File,
    Env,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetParams {
    pub key: String,
    /// The new value; null goes back to the default.
    pub value: Value,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Changed {
    pub key: String,
    pub value: Value,
    pub applied: Applied,
}

/// When a change takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Applied {
    /// Already.
    Now,
    /// After `hob restart`.
    Restart,
    /// Not while the environment variable that beats the file is set.
    Overridden,
}
