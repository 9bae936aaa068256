//! `loop.*`: prompts that run repeatedly, with memories, a monitor and the previous answer.
//!
//! The user names a loop. Each iteration is a run on a new session `loop:NAME:NUMBER` of the kind
//! `loop`. Numbers increase by one and are never reused.

use crate::event::events;
use crate::id::RunId;
pub use crate::loop_config::{
    BackoffConfig, BackoffConfigView, DEFAULT_LOOP, INTERVAL_MS, INTERVAL_MS_MAX, INTERVAL_MS_MIN,
    KIND, LOOP_NAME_BYTES_MAX, LOOP_TEXT_BYTES_MAX, LoopChange, LoopConfig, LoopEnd, LoopPhase,
    MonitorConfig, MonitorConfigView,
};
use crate::method::{CliExposure, methods};
use crate::rooms::agent::{Cost, RunEndCause};
pub use crate::schedule::{NotifyTarget, NotifyTargetView, ToolGrant, ToolGrantView, WorkOutcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

methods! { "loops";
    /// Creates a loop without starting it.
    Create = "loop.create" {
        params: LoopCreateParams, result: Loop, scope: Control, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Changes a loop. Missing fields stay. A running loop applies changes in its next iteration.
    Update = "loop.update" {
        params: LoopUpdateParams, result: Loop, scope: Control, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Shows one loop.
    Get = "loop.get" {
        params: LoopSelector, result: Loop, scope: Read, effect: Pure,
        cli: CliExposure::Hidden,
    }
    /// Lists the loops by name.
    List = "loop.list" {
        params: LoopListParams, result: LoopListResult, scope: Read, effect: Pure,
        cli: CliExposure::Hidden,
    }
    /// Starts a loop. A loop that is already running is a conflict.
    Start = "loop.start" {
        params: LoopSelector, result: Loop, scope: Control, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Stops a loop, including its prompt, monitor and sleep. Answers when all of it has stopped.
    Stop = "loop.stop" {
        params: LoopSelector, result: Loop, scope: Control, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Runs one iteration of a loop that is not running. Answers when the iteration has started.
    Once = "loop.once" {
        params: LoopOnceParams, result: Loop, scope: Control, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Deletes a loop that is not running, with its history.
    Delete = "loop.delete" {
        params: LoopSelector, result: LoopDeleteResult, scope: Control, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Lists iterations, newest first.
    History = "loop.history" {
        params: LoopHistoryParams, result: LoopHistoryResult, scope: Read, effect: Pure,
        cli: CliExposure::Hidden,
    }
    /// Sets the working memory, which only the next iteration sees.
    Working = "loop.working" {
        params: LoopWorkingParams, result: LoopMemory, scope: Control, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Shows, sets or reverts the persistent memory. Every revision is kept.
    Persistent = "loop.persistent" {
        params: LoopPersistentParams, result: LoopPersistentResult, scope: Control, effect: Keyed,
        cli: CliExposure::Hidden,
    }
}

events! { "loops";
    /// An iteration began.
    LoopIteration = "loop.iteration" {
        payload: LoopIterationPayload, scope: Read, durability: Logged,
    }
    /// A monitor command ended.
    LoopMonitor = "loop.monitor" {
        payload: LoopMonitorPayload, scope: Read, durability: Volatile,
    }
    /// The prompt of an iteration was sent.
    LoopPrompt = "loop.prompt" {
        payload: LoopPromptPayload, scope: Read, durability: Logged,
    }
    /// The model answered an iteration.
    LoopResponse = "loop.response" {
        payload: LoopResponsePayload, scope: Read, durability: Logged,
    }
    /// An iteration, a monitor or the loop itself failed.
    LoopError = "loop.error" {
        payload: LoopErrorPayload, scope: Read, durability: Logged,
    }
    /// A loop was created or changed, or one of its memories was changed.
    LoopConfigured = "loop.config" {
        payload: LoopConfiguredPayload, scope: Read, durability: Logged,
    }
    /// The state of a loop has changed.
    LoopStateChanged = "loop.state" {
        payload: LoopStatePayload, scope: Read, durability: Logged,
    }
    /// A loop ended: it was stopped, reached its last iteration, or failed.
    LoopStopped = "loop.stopped" {
        payload: LoopStoppedPayload, scope: Read, durability: Logged,
    }
    /// A loop was deleted.
    LoopDeleted = "loop.deleted" {
        payload: LoopDeletedPayload, scope: Read, durability: Logged,
    }
}

/// A loop: its settings, state and memories.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Loop {
    pub name: String,
    pub config: LoopConfig,
    pub state: LoopState,
    /// The persistent memory, which every iteration sees.
    pub persistent: LoopMemory,
    /// The working memory, which only the next iteration sees.
    pub working: LoopMemory,
    pub created_at: u64,
    pub updated_at: u64,
}

/// The state of a loop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopState {
    /// True if the loop is started. It continues after a restart of the daemon.
    pub running: bool,
    pub phase: LoopPhase,
    /// The current or the last iteration; 0 before the first.
    pub iteration: u32,
    /// The number of iterations since the last start.
    pub since_start: u32,
    /// The session of `iteration`.
    #[serde(default)]
    pub session_key: Option<String>,
    /// The run of `iteration`.
    #[serde(default)]
    pub run_id: Option<RunId>,
    /// The time of the next iteration, while it sleeps.
    #[serde(default)]
    pub next_at: Option<u64>,
    /// The last answer.
    #[serde(default)]
    pub last_response: Option<String>,
    /// The last output of the monitor.
    #[serde(default)]
    pub monitor: Option<MonitorOutput>,
    /// Consecutive failures.
    #[serde(default)]
    pub errors: u32,
    #[serde(default)]
    pub last_error: Option<String>,
    /// The outcome of the last finished iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<WorkOutcome>,
    /// The reason why it ended; missing if it never ran or is running.
    #[serde(default)]
    pub stopped: Option<LoopEnd>,
    /// The cost since the last start.
    #[serde(default)]
    pub cost: Cost,
}

/// The output of a monitor. Long streams are cut in the middle.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MonitorOutput {
    /// The end time, in milliseconds since 1970.
    pub at: u64,
    pub duration_ms: u64,
    /// Missing if it was killed or did not start.
    #[serde(default)]
    pub exit_code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    /// The reason if there is no exit code.
    #[serde(default)]
    pub problem: Option<String>,
}

/// A memory of a loop. Its revision increases by one with each change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopMemory {
    pub revision: u64,
    pub text: String,
    /// The author of this revision: a token's name, or `loop:NAME:NUMBER` for the loop itself.
    #[serde(default)]
    pub by: String,
    /// Milliseconds since 1970.
    #[serde(default)]
    pub at: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopPersistentResult {
    #[serde(flatten)]
    pub memory: LoopMemory,
    /// Earlier revisions, newest first; only if requested with `earlier`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<LoopMemory>,
}

/// One iteration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IterationRecord {
    pub iteration: u32,
    pub session_key: String,
    #[serde(default)]
    pub run_id: Option<RunId>,
    pub prompt: String,
    /// The answer; missing while the iteration runs.
    #[serde(default)]
    pub response: Option<String>,
    /// True if the model answered; see `outcome` for details.
    #[serde(default)]
    pub success: Option<bool>,
    #[serde(default)]
    pub outcome: Option<WorkOutcome>,
    #[serde(default)]
    pub cause: Option<RunEndCause>,
    /// The reason for a failure, or the denied calls and how to allow them.
    #[serde(default)]
    pub message: Option<String>,
    /// Denied calls of its run, including those of its sub-agents.
    #[serde(default)]
    pub denied_calls: u32,
    /// Failed or invalid calls of its run.
    #[serde(default)]
    pub failed_calls: u32,
    #[serde(default)]
    pub cost: Cost,
    pub started_at: u64,
    #[serde(default)]
    pub ended_at: Option<u64>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LoopCreateParams {
    /// Lower-case letters, digits and dashes.
    pub name: String,
    #[serde(default, skip_serializing_if = "LoopChange::is_empty")]
    pub config: LoopChange,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persistent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LoopUpdateParams {
    pub name: String,
    pub config: LoopChange,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LoopSelector {
    /// The loop's name.
    pub name: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LoopOnceParams {
    /// The loop's name.
    pub name: String,
    /// A repeated request with the same key is the same iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LoopListParams {
    /// True: only running loops. False: only loops that are not running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<bool>,
}

/// Loops without their memories and answers; see `loop.get` for those.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopListResult {
    pub loops: Vec<Loop>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopDeleteResult {
    pub name: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LoopHistoryParams {
    /// The loop's name.
    pub name: String,
    /// Only iterations before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u32>,
    /// The most iterations to return; 50 when missing, at most 500.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopHistoryResult {
    pub iterations: Vec<IterationRecord>,
    /// True if there are more: ask again with `before` set to the last one.
    #[serde(default)]
    pub more: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LoopWorkingParams {
    /// The loop's name.
    pub name: String,
    pub text: String,
}

/// Without `text` and `undo`, the memory is only shown.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LoopPersistentParams {
    /// The loop's name.
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Restores the previous revision as a new revision.
    #[serde(default)]
    pub undo: bool,
    /// Refuses the change if the memory has another revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_revision: Option<u64>,
    /// The number of earlier revisions to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<u32>,
    /// A repeated request with the same key is the same revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// The session of the iteration that writes. Only the daemon sets it, for a call of that run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopIterationPayload {
    pub name: String,
    pub iteration: u32,
    pub session_key: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopMonitorPayload {
    pub name: String,
    pub output: MonitorOutput,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopPromptPayload {
    pub name: String,
    pub iteration: u32,
    pub run_id: RunId,
    pub prompt: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopResponsePayload {
    pub name: String,
    pub iteration: u32,
    pub run_id: RunId,
    pub response: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopErrorPayload {
    pub name: String,
    #[serde(default)]
    pub iteration: Option<u32>,
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopConfiguredPayload {
    pub name: String,
    pub config: LoopConfig,
    /// The revision of the persistent memory; `loop.get` returns the text.
    pub persistent: u64,
    pub working: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopStatePayload {
    pub name: String,
    pub running: bool,
    pub phase: LoopPhase,
    pub iteration: u32,
    #[serde(default)]
    pub next_at: Option<u64>,
    #[serde(default)]
    pub errors: u32,
    /// The outcome of the iteration that just ended; missing if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<WorkOutcome>,
    /// The reason for a failure of that iteration, or the denied calls and how to allow them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(default)]
    pub cost: Cost,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopStoppedPayload {
    pub name: String,
    pub iteration: u32,
    pub end: LoopEnd,
    /// The reason as a sentence.
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopDeletedPayload {
    pub name: String,
}
