//! `loop.*`: prompts that are asked again and again, with memories, a monitor and their own last
//! answer.
//!
//! A loop is named by a person. Each iteration is a run on a fresh session `loop:NAME:NUMBER` of
//! the kind `loop`; numbers rise by one and are never used twice.

use crate::event::events;
use crate::id::RunId;
pub use crate::looping::{
    Backoff, BackoffView, DEFAULT_LOOP, INTERVAL_MS, INTERVAL_MS_MAX, INTERVAL_MS_MIN, KIND,
    LOOP_NAME_BYTES_MAX, LOOP_TEXT_BYTES_MAX, LoopChange, LoopConfig, LoopEnd, LoopPhase, Monitor,
    MonitorView,
};
use crate::method::{Cli, methods};
use crate::rooms::agent::{Cause, Cost};
pub use crate::schedule::{Grant, GrantView, Notify, NotifyView, WorkOutcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

methods! { "loops";
    /// Makes a loop; it does not run yet.
    Create = "loop.create" {
        params: CreateParams, result: Loop, scope: Control, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// Changes a loop; what is not named stays. A running one takes it up with its next iteration.
    Update = "loop.update" {
        params: UpdateParams, result: Loop, scope: Control, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// Shows one loop.
    Get = "loop.get" {
        params: NameParams, result: Loop, scope: Read, effect: Pure,
        cli: Cli::Hidden,
    }
    /// Lists the loops by name.
    List = "loop.list" {
        params: ListParams, result: Loops, scope: Read, effect: Pure,
        cli: Cli::Hidden,
    }
    /// Starts a loop; one that runs already is a conflict.
    Start = "loop.start" {
        params: NameParams, result: Loop, scope: Control, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// Stops a loop with its prompt, its monitor and its sleep. Answers when nothing of it works.
    Stop = "loop.stop" {
        params: NameParams, result: Loop, scope: Control, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// Runs one iteration of a loop that is not running, and answers when it has begun.
    Once = "loop.once" {
        params: OnceParams, result: Loop, scope: Control, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// Deletes a loop that is not running, with its history.
    Delete = "loop.delete" {
        params: NameParams, result: Deleted, scope: Control, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// Lists iterations, the newest first.
    History = "loop.history" {
        params: HistoryParams, result: Iterations, scope: Read, effect: Pure,
        cli: Cli::Hidden,
    }
    /// Sets the working memory: what the next iteration is shown, and no other.
    Working = "loop.working" {
        params: WorkingParams, result: Memory, scope: Control, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// Shows, sets or takes back the persistent memory. Every revision is kept.
    Persistent = "loop.persistent" {
        params: PersistentParams, result: Memories, scope: Control, effect: Keyed,
        cli: Cli::Hidden,
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
    /// An iteration was answered.
    LoopResponse = "loop.response" {
        payload: LoopResponsePayload, scope: Read, durability: Logged,
    }
    /// An iteration, a monitor or the loop itself failed.
    LoopError = "loop.error" {
        payload: LoopErrorPayload, scope: Read, durability: Logged,
    }
    /// A loop was made, changed, or one of its memories was.
    LoopConfigured = "loop.config" {
        payload: LoopConfiguredPayload, scope: Read, durability: Logged,
    }
    /// What a loop is doing has changed.
    LoopStateChanged = "loop.state" {
        payload: LoopStatePayload, scope: Read, durability: Logged,
    }
    /// A loop ended: stopped, at its last iteration, or given up.
    LoopStopped = "loop.stopped" {
        payload: LoopStoppedPayload, scope: Read, durability: Logged,
    }
    /// A loop was deleted.
    LoopDeleted = "loop.deleted" {
        payload: LoopDeletedPayload, scope: Read, durability: Logged,
    }
}

/// A loop as it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Loop {
    pub name: String,
    pub config: LoopConfig,
    pub state: LoopState,
    /// What every iteration is shown.
    pub persistent: Memory,
    /// What the next iteration is shown, and no other.
    pub working: Memory,
    pub created_at: u64,
    pub updated_at: u64,
}

/// What a loop is doing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopState {
    /// Whether it is wanted to run: it goes on after a restart.
    pub running: bool,
    pub phase: LoopPhase,
    /// The iteration under way or the last one; 0 before the first.
    pub iteration: u32,
    /// How many iterations this start has begun.
    pub since_start: u32,
    /// The session of that iteration.
    #[serde(default)]
    pub session_key: Option<String>,
    /// Its run.
    #[serde(default)]
    pub run_id: Option<RunId>,
    /// When the next iteration begins, while it sleeps.
    #[serde(default)]
    pub next_at: Option<u64>,
    /// The last answer.
    #[serde(default)]
    pub last_response: Option<String>,
    /// What the monitor last printed.
    #[serde(default)]
    pub monitor: Option<MonitorOutput>,
    /// Failures in a row.
    #[serde(default)]
    pub errors: u32,
    #[serde(default)]
    pub last_error: Option<String>,
    /// The outcome of the last iteration that is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<WorkOutcome>,
    /// Why it is not running, once it ran.
    #[serde(default)]
    pub stopped: Option<LoopEnd>,
    /// What this start has cost.
    #[serde(default)]
    pub cost: Cost,
}

/// What a monitor printed, bounded: the beginning and the end of each stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MonitorOutput {
    /// When it ended, in milliseconds since 1970.
    pub at: u64,
    pub duration_ms: u64,
    /// Missing when it was killed or did not start.
    #[serde(default)]
    pub exit_code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    /// Why it has no exit code.
    #[serde(default)]
    pub problem: Option<String>,
}

/// A memory and its revision, which rises by one with each change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Memory {
    pub revision: u64,
    pub text: String,
    /// Who wrote this revision: a token's name, or `loop:NAME:NUMBER` for the loop itself.
    #[serde(default)]
    pub by: String,
    /// Milliseconds since 1970.
    #[serde(default)]
    pub at: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Memories {
    #[serde(flatten)]
    pub memory: Memory,
    /// Earlier revisions, the newest first; only where they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Memory>,
}

/// One iteration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Iteration {
    pub iteration: u32,
    pub session_key: String,
    #[serde(default)]
    pub run_id: Option<RunId>,
    pub prompt: String,
    /// The answer; missing while it is under way.
    #[serde(default)]
    pub response: Option<String>,
    /// Whether the model answered; `outcome` says more.
    #[serde(default)]
    pub success: Option<bool>,
    #[serde(default)]
    pub outcome: Option<WorkOutcome>,
    #[serde(default)]
    pub cause: Option<Cause>,
    /// Why it failed, or what was denied and how to allow it.
    #[serde(default)]
    pub message: Option<String>,
    /// Calls of its run that were denied, those of its sub-agents included.
    #[serde(default)]
    pub denied_calls: u32,
    /// Calls of its run that failed or were invalid.
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
pub struct CreateParams {
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
pub struct UpdateParams {
    pub name: String,
    pub config: LoopChange,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NameParams {
    /// The loop's name.
    pub name: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OnceParams {
    /// The loop's name.
    pub name: String,
    /// Makes repeating this request one iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListParams {
    /// Only those that run, or only those that do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<bool>,
}

/// Loops without their memories and answers, which `loop.get` shows.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Loops {
    pub loops: Vec<Loop>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Deleted {
    pub name: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HistoryParams {
    /// The loop's name.
    pub name: String,
    /// Only iterations before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u32>,
    /// At most this many; 50 when missing, 500 at the most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Iterations {
    pub iterations: Vec<Iteration>,
    /// There are more: ask again before the last one.
    #[serde(default)]
    pub more: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkingParams {
    /// The loop's name.
    pub name: String,
    pub text: String,
}

/// Shows the memory when neither `text` nor `undo` is there.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PersistentParams {
    /// The loop's name.
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Goes back to the revision before, as a new revision.
    #[serde(default)]
    pub undo: bool,
    /// Refuses when the memory is of another revision by now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_revision: Option<u64>,
    /// Shows this many earlier revisions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<u32>,
    /// Makes repeating this request one revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// The iteration that writes. Only the house itself sets it, for a call of that run.
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
    /// The revisions of its memories, whose texts `loop.get` has.
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
    /// How the iteration went that ends with this; missing when none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<WorkOutcome>,
    /// Why that iteration failed, or what was denied and how to allow it.
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
    /// The end in a sentence.
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopDeletedPayload {
    pub name: String,
}
