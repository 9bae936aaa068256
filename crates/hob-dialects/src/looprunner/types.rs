//! The types of Loop Runner's API, for its clients: the settings, state and history of a loop, and
//! its events.
//!
//! Invariant: fields, defaults and response formats are Loop Runner's. Unknown fields are ignored,
//! as in Loop Runner itself; fields of a wrong type are refused.

#![expect(
    clippy::option_option,
    reason = "null clears a value, a missing field keeps it"
)]

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The model that is shown if hob has none configured.
pub(crate) const DEFAULT_PROVIDER: &str = "anthropic";
pub(crate) const DEFAULT_MODEL: &str = "claude-sonnet-4-20250514";
/// The texts of a loop that nobody has set up yet, until the first change of its settings.
pub(crate) const DEFAULT_SYSTEM: &str = "You work in a loop and are asked again after each pause. Working memory is for one iteration; persistent memory stays until it is changed.";
pub(crate) const DEFAULT_USER: &str = "Look at how things stand now, and do the next useful step.";
/// Most entries of a history.
pub(crate) const HISTORY_MAX: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LoopRunnerModel {
    #[serde(rename = "providerID")]
    pub(crate) provider_id: String,
    /// May contain slashes.
    #[serde(rename = "modelID")]
    pub(crate) model_id: String,
}

impl Default for LoopRunnerModel {
    fn default() -> Self {
        LoopRunnerModel {
            provider_id: DEFAULT_PROVIDER.to_owned(),
            model_id: DEFAULT_MODEL.to_owned(),
        }
    }
}

/// A model as a client names it: Loop Runner's page cuts an id at its slashes, and may leave either
/// part out. See `model_choice`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LoopRunnerModelChange {
    #[serde(rename = "providerID", default)]
    pub(crate) provider_id: String,
    #[serde(rename = "modelID", default)]
    pub(crate) model_id: String,
}

/// What this surface keeps in a loop's metadata. It is there once a client has set up the loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct LoopRunnerSetup {
    pub(crate) auto_approve: bool,
}

impl Default for LoopRunnerSetup {
    fn default() -> Self {
        LoopRunnerSetup { auto_approve: true }
    }
}

/// An available model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LoopRunnerNamedModel {
    #[serde(flatten)]
    pub(crate) model: LoopRunnerModel,
    pub(crate) name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LoopRunnerMonitor {
    pub(crate) command: String,
    /// Milliseconds. When missing, the command runs before each iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) interval: Option<u64>,
}

/// The settings of a loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LoopRunnerConfig {
    pub(crate) model: LoopRunnerModel,
    pub(crate) system: String,
    pub(crate) user: String,
    /// The working memory, which only the next iteration sees.
    pub(crate) working: String,
    /// The persistent memory, which every iteration sees.
    pub(crate) persistent: String,
    pub(crate) monitor: Option<LoopRunnerMonitor>,
    /// Milliseconds between two iterations.
    pub(crate) interval: u64,
    /// 0 means no limit.
    pub(crate) max_iterations: u32,
    /// Kept, and without effect: grants decide what a loop may do without asking.
    pub(crate) auto_approve: bool,
}

/// Changes to a loop's settings. Missing fields stay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LoopRunnerConfigChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<LoopRunnerModelChange>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) system: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) working: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) persistent: Option<String>,
    /// `null` removes the monitor.
    #[serde(
        default,
        with = "hob_wire::nullable",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<LoopRunnerMonitor>")]
    pub(crate) monitor: Option<Option<LoopRunnerMonitor>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) interval: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_iterations: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) auto_approve: Option<bool>,
}

/// The state of a loop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LoopRunnerState {
    pub(crate) running: bool,
    pub(crate) iteration: u32,
    /// The session of the current or the last iteration.
    #[serde(rename = "sessionID")]
    pub(crate) session_id: Option<String>,
    pub(crate) last_output: String,
    pub(crate) monitor_output: String,
    /// Missing in the event `state`, which is sent often.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) history: Option<Vec<LoopRunnerIteration>>,
}

/// An answered iteration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LoopRunnerIteration {
    pub(crate) iteration: u32,
    pub(crate) prompt: String,
    pub(crate) response: String,
    /// The end time, in milliseconds since 1970.
    pub(crate) timestamp: u64,
}

/// The response of `GET /api/state`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LoopRunnerSnapshot {
    pub(crate) state: LoopRunnerState,
    pub(crate) config: LoopRunnerConfig,
}

/// The response of actions that return no data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LoopRunnerAck {
    pub(crate) ok: bool,
}

/// The response of `POST /api/config`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LoopRunnerConfigReply {
    pub(crate) ok: bool,
    pub(crate) config: LoopRunnerConfig,
}

/// The body of `POST /api/working`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct WorkingBody {
    /// A missing or null text clears the memory.
    #[serde(default)]
    pub(crate) working: Option<String>,
}

/// The body of `POST /api/persistent`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct PersistentBody {
    /// A missing or null text clears the memory. Its earlier revisions are kept.
    #[serde(default)]
    pub(crate) persistent: Option<String>,
}

/// The body of `POST /api/loops`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LoopRunnerCreateBody {
    /// The loop's name: lower-case letters, digits and dashes.
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) config: LoopRunnerConfigChange,
}

/// The response of `POST /api/loops`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LoopRunnerCreateReply {
    pub(crate) ok: bool,
    pub(crate) id: String,
    pub(crate) config: LoopRunnerConfig,
}

/// A loop in the list of `GET /api/loops`, without long fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LoopRunnerSummary {
    pub(crate) id: String,
    pub(crate) running: bool,
    pub(crate) iteration: u32,
    pub(crate) user: String,
    pub(crate) interval: u64,
    pub(crate) max_iterations: u32,
    /// Milliseconds since 1970.
    pub(crate) created_at: u64,
    pub(crate) updated_at: u64,
}

/// The response of `GET /api/loops/{id}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LoopRunnerDetail {
    pub(crate) id: String,
    #[serde(flatten)]
    pub(crate) whole: LoopRunnerSnapshot,
}

/// An event for a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum LoopRunnerEvent {
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
#[path = "types_tests.rs"]
mod tests;
