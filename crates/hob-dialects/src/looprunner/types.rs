//! The types of Loop Runner's API, for its clients: the settings, state and history of a loop, and
//! its events.
//!
//! Invariant: fields, defaults and response formats are Loop Runner's. Unknown fields are ignored,
//! as in Loop Runner itself; fields of a wrong type are refused.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The model that is shown if hob has none configured.
pub const DEFAULT_PROVIDER: &str = "anthropic";
pub const DEFAULT_MODEL: &str = "claude-sonnet-4-20250514";
/// Most entries of a history.
pub const HISTORY_MAX: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoopRunnerModel {
    #[serde(rename = "providerID")]
    pub provider_id: String,
    /// May contain slashes.
    #[serde(rename = "modelID")]
    pub model_id: String,
}

impl Default for LoopRunnerModel {
    fn default() -> Self {
        LoopRunnerModel {
            provider_id: DEFAULT_PROVIDER.to_owned(),
            model_id: DEFAULT_MODEL.to_owned(),
        }
    }
}

/// An available model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoopRunnerNamedModel {
    #[serde(flatten)]
    pub model: LoopRunnerModel,
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoopRunnerMonitor {
    pub command: String,
    /// Milliseconds. When missing, the command runs before each iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<u64>,
}

/// The settings of a loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopRunnerConfig {
    pub model: LoopRunnerModel,
    pub system: String,
    pub user: String,
    /// The working memory, which only the next iteration sees.
    pub working: String,
    /// The persistent memory, which every iteration sees.
    pub persistent: String,
    pub monitor: Option<LoopRunnerMonitor>,
    /// Milliseconds between two iterations.
    pub interval: u64,
    /// 0 means no limit.
    pub max_iterations: u32,
    /// Always true and without effect. Grants decide what a loop may do without asking.
    pub auto_approve: bool,
}

/// Changes to a loop's settings. Missing fields stay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopRunnerConfigChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<LoopRunnerModel>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persistent: Option<String>,
    /// `null` removes the monitor.
    #[serde(
        default,
        with = "crate::nullable",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<LoopRunnerMonitor>")]
    pub monitor: Option<Option<LoopRunnerMonitor>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_approve: Option<bool>,
}

/// The state of a loop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopRunnerState {
    pub running: bool,
    pub iteration: u32,
    /// The session of the current or the last iteration.
    #[serde(rename = "sessionID")]
    pub session_id: Option<String>,
    pub last_output: String,
    pub monitor_output: String,
    /// Missing in the event `state`, which is sent often.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<LoopRunnerIteration>>,
}

/// An answered iteration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoopRunnerIteration {
    pub iteration: u32,
    pub prompt: String,
    pub response: String,
    /// The end time, in milliseconds since 1970.
    pub timestamp: u64,
}

/// The response of `GET /api/state`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoopRunnerSnapshot {
    pub state: LoopRunnerState,
    pub config: LoopRunnerConfig,
}

/// The response of actions that return no data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoopRunnerAck {
    pub ok: bool,
}

/// The response of `POST /api/config`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoopRunnerConfigReply {
    pub ok: bool,
    pub config: LoopRunnerConfig,
}

/// The body of `POST /api/working`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkingBody {
    pub working: String,
}

/// The body of `POST /api/persistent`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PersistentBody {
    pub persistent: String,
}

/// The body of `POST /api/loops`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoopRunnerCreateBody {
    /// The loop's name: lower-case letters, digits and dashes.
    pub id: String,
    #[serde(default)]
    pub config: LoopRunnerConfigChange,
}

/// The response of `POST /api/loops`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoopRunnerCreateReply {
    pub ok: bool,
    pub id: String,
    pub config: LoopRunnerConfig,
}

/// A loop in the list of `GET /api/loops`, without long fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopRunnerSummary {
    pub id: String,
    pub running: bool,
    pub iteration: u32,
    pub user: String,
    pub interval: u64,
    pub max_iterations: u32,
    /// Milliseconds since 1970.
    pub created_at: u64,
    pub updated_at: u64,
}

/// The response of `GET /api/loops/{id}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoopRunnerDetail {
    pub id: String,
    #[serde(flatten)]
    pub whole: LoopRunnerSnapshot,
}

/// An event for a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum LoopRunnerEvent {
    /// Always the first event.
    Connected {
        state: LoopRunnerState,
        config: LoopRunnerConfig,
    },
    /// An iteration began.
    Iteration {
        iteration: u32,
    },
    /// The monitor ended.
    Monitor {
        output: String,
    },
    /// The model was asked.
    Prompt {
        prompt: String,
        iteration: u32,
    },
    /// The model answered.
    Response {
        response: String,
        iteration: u32,
    },
    Error {
        message: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        iteration: Option<u32>,
    },
    State {
        state: LoopRunnerState,
    },
    Config {
        config: LoopRunnerConfig,
    },
    /// The loop ended.
    Stopped,
}

#[cfg(test)]
#[path = "looprunner_tests.rs"]
mod tests;
