//! The documents of Loop Runner's API, for its clients: what a loop is set to, what it is doing,
//! what it has done, and the events that tell of it.
//!
//! Invariant: fields, defaults and the forms of answers are Loop Runner's; unknown fields are
//! tolerated, as by Loop Runner itself, and fields of the wrong kind are not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The model that is shown where the house has none.
pub const DEFAULT_PROVIDER: &str = "anthropic";
pub const DEFAULT_MODEL: &str = "claude-sonnet-4-20250514";
/// Entries of a history at the most.
pub const HISTORY_MAX: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Model {
    #[serde(rename = "providerID")]
    pub provider_id: String,
    /// May hold slashes.
    #[serde(rename = "modelID")]
    pub model_id: String,
}

impl Default for Model {
    fn default() -> Self {
        Model {
            provider_id: DEFAULT_PROVIDER.to_owned(),
            model_id: DEFAULT_MODEL.to_owned(),
        }
    }
}

/// A model that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamedModel {
    #[serde(flatten)]
    pub model: Model,
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Monitor {
    pub command: String,
    /// Milliseconds; the command runs before each iteration when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<u64>,
}

/// What a loop is set to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Config {
    pub model: Model,
    pub system: String,
    pub user: String,
    /// What the next iteration is shown, and no other.
    pub working: String,
    /// What every iteration is shown.
    pub persistent: String,
    pub monitor: Option<Monitor>,
    /// Milliseconds between two iterations.
    pub interval: u64,
    /// 0 is no limit.
    pub max_iterations: u32,
    /// Always true and without meaning: grants decide what a loop may do unasked.
    pub auto_approve: bool,
}

/// What to change of a loop's settings; what is missing stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persistent: Option<String>,
    /// `null` takes the monitor away.
    #[serde(
        default,
        with = "crate::given",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<Monitor>")]
    pub monitor: Option<Option<Monitor>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_approve: Option<bool>,
}

/// What a loop is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct State {
    pub running: bool,
    pub iteration: u32,
    /// The session of the iteration under way or of the last one.
    #[serde(rename = "sessionID")]
    pub session_id: Option<String>,
    pub last_output: String,
    pub monitor_output: String,
    /// Missing in the event `state`, which would carry all of it again and again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<Past>>,
}

/// An iteration that was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Past {
    pub iteration: u32,
    pub prompt: String,
    pub response: String,
    /// When it ended, in milliseconds since 1970.
    pub timestamp: u64,
}

/// The answer of `GET /api/state`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Whole {
    pub state: State,
    pub config: Config,
}

/// The answer to what was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Done {
    pub ok: bool,
}

/// The answer of `POST /api/config`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Configured {
    pub ok: bool,
    pub config: Config,
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
pub struct NewLoop {
    /// The loop's name: lower-case letters, digits and dashes.
    pub id: String,
    #[serde(default)]
    pub config: ConfigChange,
}

/// The answer of `POST /api/loops`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Made {
    pub ok: bool,
    pub id: String,
    pub config: Config,
}

/// A loop in the list of `GET /api/loops`, without what can be long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
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

/// The answer of `GET /api/loops/{id}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shown {
    pub id: String,
    #[serde(flatten)]
    pub whole: Whole,
}

/// What a client is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Event {
    /// Always the first.
    Connected {
        state: State,
        config: Config,
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
        state: State,
    },
    Config {
        config: Config,
    },
    /// The loop ended.
    Stopped,
}

#[cfg(test)]
#[path = "looprunner_tests.rs"]
mod tests;
