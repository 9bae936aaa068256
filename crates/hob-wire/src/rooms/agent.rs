//! `agent.*` and `run.*`: executing a task on a session, durable to the step.

use crate::content::{ToolCall, ToolResult, Usage};
use crate::damage::DamagedRow;
use crate::event::events;
use crate::id::RunId;
use crate::method::{Cli, methods};
pub use crate::rooms::chat::{
    ChatMessage, ChatParams, ChatReply, ClientTool, Sampling, Thinking, ToolChoice,
};
use crate::rooms::permission::Denial;
use crate::rooms::tool::Tier;
pub use crate::work::{Budget, Cause, DoubtAnswer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

methods! { "agent";
    /// Runs a task on a session; a missing session is created.
    ///
    /// Answers once the run is durably accepted, or at its end with `wait`.
    Run = "agent.run" {
        params: RunParams, result: RunReply, scope: Chat, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// Stops the run of a session, or one run, and says what had already happened.
    Abort = "agent.abort" {
        params: RunSelector, result: Aborted, scope: Chat, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// Shows a run with the text it has produced so far.
    Status = "agent.status" {
        params: RunSelector, result: RunView, scope: Read, effect: Pure,
        cli: Cli::Hidden,
    }
    /// Waits for the end of a run, and shows it as it stands then.
    Wait = "agent.wait" {
        params: WaitParams, result: RunView, scope: Read, effect: Pure,
        cli: Cli::Hidden,
    }
    /// Lists runs, the newest first.
    List = "agent.list" {
        params: ListParams, result: Runs, scope: Read, effect: Pure,
        cli: Cli::Hidden,
    }
    /// Counts runs, tokens and money.
    Stats = "agent.stats" {
        params: StatsParams, result: AgentStats, scope: Read, effect: Pure,
        cli: Cli::Verb(&[]),
    }
    /// Answers a conversation that the caller keeps; nothing is stored but the ledger.
    Chat = "agent.chat" {
        params: ChatParams, result: ChatReply, scope: Chat, effect: Opaque,
        cli: Cli::Hidden,
    }
    /// Allows a paused run more money.
    Allow = "agent.allow" {
        params: AllowParams, result: RunView, scope: Control, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// Answers for a tool call that was cut off: it happened, it did not, or give up.
    Resolve = "agent.resolve" {
        params: ResolveParams, result: RunView, scope: Control, effect: Keyed,
        cli: Cli::Hidden,
    }
}

events! { "agent";
    /// A run was accepted and waits for its turn.
    RunQueued = "run.queued" {
        payload: RunQueuedPayload, scope: Read, durability: Logged,
    }
    /// A run began, or went on after a restart.
    RunStarted = "run.started" {
        payload: RunStartedPayload, scope: Read, durability: Logged,
    }
    /// A server that hob found on this machine, and nobody configured, is sent the prompt now.
    RunServer = "run.server" {
        payload: RunServerPayload, scope: Read, durability: Volatile,
    }
    /// A piece of the answer as it is produced.
    ///
    /// A new `attempt` of a step starts at offset 0: drop the former attempt's text.
    RunDelta = "run.delta" {
        payload: RunDeltaPayload, scope: Read, durability: Volatile,
    }
    /// A tool call began or ended.
    RunTool = "run.tool" {
        payload: RunToolPayload, scope: Read, durability: Logged,
    }
    /// A step ended: the model answered, and its calls, if any, follow.
    RunStep = "run.step" {
        payload: RunStepPayload, scope: Read, durability: Logged,
    }
    /// A budget of the session, the day or the house is used up: a person must allow more.
    /// Runs of loops, jobs and webhooks end instead, with the cause `budget`.
    RunPaused = "run.paused" {
        payload: RunPausedPayload, scope: Read, durability: Logged,
    }
    /// Nobody knows whether a tool call happened: a person must say.
    RunInDoubt = "run.in_doubt" {
        payload: RunInDoubtPayload, scope: Read, durability: Logged,
    }
    /// The last event of every run, after an abort too.
    RunCompleted = "run.completed" {
        payload: RunCompletedPayload, scope: Read, durability: Logged,
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunParams {
    /// The session's key or id.
    pub session_key: String,
    /// What to do, in words.
    pub task: String,
    /// The kind of a session that is made for it; `main` when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// `provider/model` or an alias; the default model when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Pictures that go with the task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// The channel the task came by, such as `telegram`; it may narrow what is allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextPolicy>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<QueueMode>,
    /// Answer only at the end of the run.
    #[serde(default)]
    pub wait: bool,
    /// Makes repeating this request one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// The caller's own layer of the system prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// A JSON Schema the final answer must fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// Only these tools; all that the session may use when missing, none when empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// The folder the tools work in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The farthest its tools may reach; a call beyond it is denied without asking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<Tier>,
    /// Nobody is there to be asked: what no stored rule allows is denied at once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unattended: bool,
    /// The run that starts this one: it reaches no farther than that one and ends with it. Only
    /// the house itself sets it, for a call of that run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<RunId>,
    /// Names the session for people; only with `parent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// A picture, base64.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Image {
    pub mime_type: String,
    pub data: String,
}

/// What a run sees of its session's past.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ContextPolicy {
    /// The whole history.
    #[default]
    Continue,
    /// Nothing but the task.
    Fresh,
    /// The history, but the answer goes to a new session whose parent this one is.
    Fork,
}

/// What happens when the session already has a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum QueueMode {
    /// Wait for its end.
    #[default]
    Queue,
    /// Hand the task to the running one at its next step; where that one may do more than this
    /// request allows, wait for its end.
    Steer,
    /// Answer `CONFLICT`.
    Reject,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunReply {
    pub run_id: RunId,
    pub session_key: String,
    pub state: RunState,
    /// The answer; only with `wait`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
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
    /// A person is asked whether a tool call happened.
    InDoubt,
    /// A budget is used up and a person is asked for more.
    Paused,
    Done,
}

/// What a run cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cost {
    /// Millionths of a dollar; missing when a price is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_dollars: Option<u64>,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Model calls.
    pub calls: u32,
}

/// One run, by its id or by its session; with a session, the one running or else the latest.
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
pub struct WaitParams {
    pub run_id: RunId,
    /// How long at the most; 240 s when missing, and never longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Aborted {
    /// The runs this ended, waiting ones included.
    pub runs: Vec<RunView>,
}

/// A run as it stands.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunView {
    pub run_id: RunId,
    /// The run that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<RunId>,
    pub session_key: String,
    pub state: RunState,
    /// Whether it is executing now.
    pub running: bool,
    pub task: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub step: u32,
    pub attempt: u32,
    /// The text of the present attempt, or the whole answer of a finished run. Deltas whose
    /// `offset` is below its length are already in it.
    pub text: String,
    pub cost: Cost,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// The cause in a sentence, when it is not an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What a person should know: turns left out, a fallback model, what an abort could not undo.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The calls made, with their outcome so far.
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
    pub state: CallState,
    /// Why it was not allowed, with the state `denied`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denial: Option<Denial>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ToolResult>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CallState {
    /// Asked for; not begun.
    Asked,
    /// Begun; the outcome is not known yet.
    Begun,
    Done,
    Denied,
    /// Begun before a crash, and nobody knows.
    InDoubt,
    /// Never begun, or stopped while it ran.
    Cancelled,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListParams {
    /// Only runs of this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<RunState>,
    /// At most this many; 50 when missing, 500 at the most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Where the page before ended: its `next`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<RunId>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Runs {
    pub runs: Vec<RunView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<RunId>,
    /// Damaged rows, which are left out above.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<DamagedRow>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StatsParams {}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentStats {
    pub runs: u64,
    pub active: u64,
    /// Of the active ones those that wait for a person: for a permission, for money, or for a word
    /// about a call in doubt.
    #[serde(default)]
    pub waiting: u64,
    pub queued: u64,
    pub cost: Cost,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AllowParams {
    pub run_id: RunId,
    /// Millionths of a dollar on top of what stopped it.
    pub micro_dollars: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResolveParams {
    pub run_id: RunId,
    /// The call in doubt.
    pub call_id: String,
    pub answer: DoubtAnswer,
    /// With `happened`: what the tool answered, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
}

/// Which run an event is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunOf {
    pub session_key: String,
    pub run_id: RunId,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunQueuedPayload {
    #[serde(flatten)]
    pub of: RunOf,
    pub task: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunStartedPayload {
    #[serde(flatten)]
    pub of: RunOf,
    pub model: String,
    /// How many times it went on after a restart.
    #[serde(default)]
    pub resumed: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunServerPayload {
    #[serde(flatten)]
    pub of: RunOf,
    /// What answers and where: `Ollama 0.12.0 at 127.0.0.1:11434`.
    pub server: String,
    /// What the server calls the model.
    pub model: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunDeltaPayload {
    #[serde(flatten)]
    pub of: RunOf,
    pub step: u32,
    pub attempt: u32,
    /// Where `delta` begins in this attempt's text of this kind, in bytes.
    pub offset: u64,
    pub kind: DeltaKind,
    pub delta: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DeltaKind {
    Text,
    Thinking,
    Tool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunToolPayload {
    #[serde(flatten)]
    pub of: RunOf,
    pub step: u32,
    pub phase: ToolPhase,
    pub call: ToolCall,
    /// At the end of a call that was not allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denial: Option<Denial>,
    /// At the end.
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
    pub of: RunOf,
    pub step: u32,
    pub attempt: u32,
    pub model: String,
    pub usage: Usage,
    pub cost: Cost,
    /// The step's whole text.
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunPausedPayload {
    #[serde(flatten)]
    pub of: RunOf,
    /// Which budget, what it allows and what is used, for a person.
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunInDoubtPayload {
    #[serde(flatten)]
    pub of: RunOf,
    pub step: u32,
    pub call: ToolCall,
    pub began_at: u64,
    /// What is known, for a person.
    pub known: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunCompletedPayload {
    #[serde(flatten)]
    pub of: RunOf,
    pub response: String,
    pub success: bool,
    pub cause: Cause,
    /// The cause in a sentence, when it is not an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    pub cost: Cost,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default)]
    pub notes: Vec<String>,
    /// The calls that were not allowed, the first ones of many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<Denial>,
}
