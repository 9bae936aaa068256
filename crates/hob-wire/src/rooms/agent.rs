//! `agent.*` and `run.*`: running a task on a session. Each step is durable.

pub use crate::block::DeltaKind;
use crate::content::{TokenUsage, ToolCall, ToolResult};
use crate::damage::DamagedRow;
use crate::event::events;
use crate::id::RunId;
use crate::method::{CliExposure, methods};
pub use crate::rooms::chat::{
    AgentChatParams, AgentChatResult, ChatMessage, ChatStep, ClientTool, SamplingParams,
    ThinkingLevel, ToolChoice,
};
use crate::rooms::permission::PermissionDenial;
use crate::rooms::tool::Tier;
pub use crate::work::{Budget, DoubtAnswer, RunEndCause, ToolCallState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

methods! { "agent";
    /// Runs a task on a session. Creates the session if it does not exist.
    ///
    /// Answers once the run is stored, or at its end with `wait`.
    Run = "agent.run" {
        params: AgentRunParams, result: AgentRunResult, scope: Chat, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Aborts a run, or the runs of a session, and returns what had already happened.
    Abort = "agent.abort" {
        params: RunSelector, result: AgentAbortResult, scope: Chat, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Shows a run and its text so far.
    Status = "agent.status" {
        params: RunSelector, result: RunView, scope: Read, effect: Pure,
        cli: CliExposure::Hidden,
    }
    /// Waits for the end of a run and shows it.
    Wait = "agent.wait" {
        params: AgentWaitParams, result: RunView, scope: Read, effect: Pure,
        cli: CliExposure::Hidden,
    }
    /// Lists runs, newest first.
    List = "agent.list" {
        params: AgentListParams, result: AgentListResult, scope: Read, effect: Pure,
        cli: CliExposure::Hidden,
    }
    /// Counts runs, tokens and money.
    Stats = "agent.stats" {
        params: AgentStatsParams, result: AgentStats, scope: Read, effect: Pure,
        cli: CliExposure::Verb(&[]),
    }
    /// Answers a conversation that the caller stores. hob stores only the ledger entry.
    Chat = "agent.chat" {
        params: AgentChatParams, result: AgentChatResult, scope: Chat, effect: Opaque,
        cli: CliExposure::Hidden,
    }
    /// Gives a paused run more money.
    Allow = "agent.allow" {
        params: AgentAllowParams, result: RunView, scope: Control, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Resolves an interrupted tool call: it happened, it did not, or give up.
    Resolve = "agent.resolve" {
        params: AgentResolveParams, result: RunView, scope: Control, effect: Keyed,
        cli: CliExposure::Hidden,
    }
}

events! { "agent";
    /// A run was accepted and queued.
    RunQueued = "run.queued" {
        payload: RunQueuedPayload, scope: Read, durability: Logged,
    }
    /// A run started, or resumed after a restart.
    RunStarted = "run.started" {
        payload: RunStartedPayload, scope: Read, durability: Logged,
    }
    /// The prompt is sent to a server that was found and not configured, or to the demo model.
    RunServer = "run.server" {
        payload: RunServerPayload, scope: Read, durability: Volatile,
    }
    /// A piece of the streamed answer.
    ///
    /// A new `attempt` of a step starts at offset 0: discard the text of the previous attempt.
    RunDelta = "run.delta" {
        payload: RunDeltaPayload, scope: Read, durability: Volatile,
    }
    /// A tool call began or ended.
    RunTool = "run.tool" {
        payload: RunToolPayload, scope: Read, durability: Logged,
    }
    /// A step ended: the model answered. Its tool calls, if any, follow.
    RunStep = "run.step" {
        payload: RunStepPayload, scope: Read, durability: Logged,
    }
    /// A budget of the session, the day or the daemon is used up. A person must allow more.
    /// Runs of loops, jobs and webhooks end instead, with the cause `budget`.
    RunPaused = "run.paused" {
        payload: RunPausedPayload, scope: Read, durability: Logged,
    }
    /// It is unknown if a tool call happened. A person must resolve it.
    RunInDoubt = "run.in_doubt" {
        payload: RunInDoubtPayload, scope: Read, durability: Logged,
    }
    /// The last event of every run, also after an abort.
    RunCompleted = "run.completed" {
        payload: RunCompletedPayload, scope: Read, durability: Logged,
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentRunParams {
    /// The session's key or id.
    pub session_key: String,
    /// The task in plain language.
    pub task: String,
    /// The kind of a newly created session; `main` when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// `provider/model` or an alias; the default model when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Images for the task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<InlineImage>,
    /// The channel of the task, such as `telegram`. It may restrict what is allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextPolicy>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<QueueMode>,
    /// Answers only at the end of the run.
    #[serde(default)]
    pub wait: bool,
    /// A repeated request with the same key is the same run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// Text that the caller adds to the system prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// A JSON Schema for the final answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// The reasoning effort, for models that support it; the provider chooses when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<ThinkingLevel>,
    /// The allowed tools; all tools of the session when missing, none when empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// The working folder of the tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The folder that the person asks from, by which `agent.list` finds the run; `workspace` when
    /// missing. It allows nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The highest allowed tier. A call above it is denied without asking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<Tier>,
    /// True if nobody can be asked: calls that no stored rule allows are denied at once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unattended: bool,
    /// The run that starts this one. This run has at most its permissions and ends with it. Only
    /// the daemon sets it, for a call of that run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<RunId>,
    /// The label of the session; only with `parent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// An image in base64.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InlineImage {
    pub mime_type: String,
    pub data: String,
}

/// The part of the session's history that a run sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ContextPolicy {
    /// The whole history.
    #[default]
    Continue,
    /// Only the task.
    Fresh,
    /// The whole history. The answer goes to a new session, whose parent is this one.
    Fork,
}

/// The policy if the session already has a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum QueueMode {
    /// Waits for its end.
    #[default]
    Queue,
    /// Adds the task to the current run at its next step. If that run may do more than this request
    /// allows, waits for its end.
    Steer,
    /// Answers `CONFLICT`.
    Reject,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentRunResult {
    pub run_id: RunId,
    pub session_key: String,
    pub state: RunState,
    /// The answer; only with `wait`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<RunEndCause>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// The model that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    Queued,
    Running,
    /// A person is asked for permission.
    Waiting,
    /// A person is asked if a tool call happened.
    InDoubt,
    /// A budget is used up, and a person is asked for more.
    Paused,
    Done,
}

/// The cost of model calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cost {
    /// Millionths of a dollar; missing if a price is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_dollars: Option<u64>,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// The number of model calls.
    pub calls: u32,
}

/// One run, by its id or its session. A session selects its current run, or else the latest.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunSelector {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentWaitParams {
    pub run_id: RunId,
    /// The longest time to wait; 240 s when missing, which is also the maximum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentAbortResult {
    /// The aborted runs, including queued ones.
    pub runs: Vec<RunView>,
}

/// A run and its current state.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunView {
    pub run_id: RunId,
    /// The run that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<RunId>,
    pub session_key: String,
    pub state: RunState,
    /// True if it is executing now.
    pub running: bool,
    pub task: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub step: u32,
    pub attempt: u32,
    /// The text of the current attempt, or the whole answer of a finished run. It already contains
    /// deltas whose `offset` is below its length.
    pub text: String,
    pub cost: Cost,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<RunEndCause>,
    /// The cause as a sentence; missing if the model answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Notes for people: omitted turns, a fallback model, actions that an abort could not undo.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The tool calls with their outcomes so far.
    #[serde(default)]
    pub calls: Vec<CallView>,
    pub queued_at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<u64>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallView {
    pub step: u32,
    pub call: ToolCall,
    pub state: ToolCallState,
    /// The denial, with the state `denied`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denial: Option<PermissionDenial>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ToolResult>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentListParams {
    /// Only runs of this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    /// Only runs whose tools worked in this folder, or that were asked from it. Of the newest runs
    /// only: an older one is not found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<RunState>,
    /// The most runs to return; 50 when missing, at most 500.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<RunId>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentListResult {
    pub runs: Vec<RunView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<RunId>,
    /// Damaged rows. They are not in `runs`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<DamagedRow>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentStatsParams {}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentStats {
    pub runs: u64,
    pub active: u64,
    /// The active runs that wait for a person: for a permission, for money, or for the resolution
    /// of an interrupted call.
    #[serde(default)]
    pub waiting: u64,
    pub queued: u64,
    pub cost: Cost,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentAllowParams {
    pub run_id: RunId,
    /// Millionths of a dollar on top of the limit that paused it.
    pub micro_dollars: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentResolveParams {
    pub run_id: RunId,
    /// The call in doubt.
    pub call_id: String,
    pub answer: DoubtAnswer,
    /// With `happened`: the result of the tool as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
}

/// The run that an event belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunRef {
    pub session_key: String,
    pub run_id: RunId,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunQueuedPayload {
    #[serde(flatten)]
    pub run: RunRef,
    pub task: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunStartedPayload {
    #[serde(flatten)]
    pub run: RunRef,
    pub model: String,
    /// The number of resumptions after a restart.
    #[serde(default)]
    pub resumed: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunServerPayload {
    #[serde(flatten)]
    pub run: RunRef,
    /// The server and its address: `Ollama 0.12.0 at 127.0.0.1:11434`.
    pub server: String,
    /// The server's name of the model.
    pub model: String,
    /// True for the demo model, which is named before it answers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub demo: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunDeltaPayload {
    #[serde(flatten)]
    pub run: RunRef,
    pub step: u32,
    pub attempt: u32,
    /// The byte offset of `delta` in this attempt's text of this kind.
    pub offset: u64,
    pub kind: DeltaKind,
    pub delta: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunToolPayload {
    #[serde(flatten)]
    pub run: RunRef,
    pub step: u32,
    pub phase: ToolPhase,
    pub call: ToolCall,
    /// The denial, at the end of a denied call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denial: Option<PermissionDenial>,
    /// The result, at the end of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ToolResult>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ToolPhase {
    Start,
    End,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunStepPayload {
    #[serde(flatten)]
    pub run: RunRef,
    pub step: u32,
    pub attempt: u32,
    pub model: String,
    pub usage: TokenUsage,
    pub cost: Cost,
    /// The whole text of the step.
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunPausedPayload {
    #[serde(flatten)]
    pub run: RunRef,
    /// A sentence for people: the budget, its limit and its use.
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunInDoubtPayload {
    #[serde(flatten)]
    pub run: RunRef,
    pub step: u32,
    pub call: ToolCall,
    pub began_at: u64,
    /// The known facts, for people.
    pub known: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunCompletedPayload {
    #[serde(flatten)]
    pub run: RunRef,
    pub response: String,
    pub success: bool,
    pub cause: RunEndCause,
    /// The cause as a sentence; missing if the model answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    pub cost: Cost,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default)]
    pub notes: Vec<String>,
    /// The denied calls; only the first ones if there are many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<PermissionDenial>,
}
