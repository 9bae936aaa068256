//! The state machine of an agent run. Pure: events in, effects out.
//!
//! A run is a chain of steps. A step asks the model. If the answer contains tool calls, each one is
//! checked for permission, begun and answered, and the next step follows. An answer without calls
//! ends the run. The journal of a run is the ordered list of [`TurnEvent`]s. Feeding it to a fresh
//! machine restores the state, which is all that resuming after a crash needs.
//!
//! Invariants:
//! - no effect follows [`TurnEffect::Finish`]
//! - a tool runs only after it was allowed, and [`TurnEffect::Run`] tells whether its intent must
//!   be on disk before it begins
//! - after a restart a pure or keyed call runs again, a probeable one is probed, an opaque one is
//!   in doubt: never a silent repeat, never a silent loss
//! - every limit ends the run with its own cause, and none is exceeded by more than one model call
//! - an answer that repeats itself ends the run: the model would go on with it
//! - an unattended run never waits for a person: at a ceiling it ends
//! - time a person takes to decide about money or a call in doubt does not count as run time

mod call_events;
mod calls;
mod limits;
mod machine;
pub mod repetition;

pub use calls::{TurnCall, TurnCallState};
pub use limits::{RunLimits, RunUsage};
pub use machine::{TurnMachine, TurnPhase};

use hob_wire::work::Idempotency;
use hob_wire::work::{DoubtAnswer, RunEndCause};
use serde::{Deserialize, Serialize};

/// An input of the machine. Times are wall-clock milliseconds, stored in the journal with the
/// event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase")]
pub enum TurnEvent {
    /// The run leaves the queue.
    Begin { at: u64 },
    /// The model's answer is complete.
    ModelDone { answer: ModelAnswer, at: u64 },
    /// A model call ended without an answer and may have cost this much.
    Lost {
        tokens: u64,
        micro_dollars: Option<u64>,
        at: u64,
    },
    /// Runs that this one started have cost this much more.
    Charged {
        tokens: u64,
        micro_dollars: u64,
        at: u64,
    },
    /// The same step is retried, with the same model or another.
    Retried { at: u64 },
    /// The model could not answer, after all retries and fallbacks.
    ModelFailed { at: u64 },
    /// A permission was given or denied.
    Decided {
        call: String,
        allowed: bool,
        at: u64,
    },
    /// The intent of a call is on disk; it begins now.
    Begun { call: String, at: u64 },
    /// A call has its result.
    ToolDone { call: String, failed: bool, at: u64 },
    /// The executor of a call went away or stayed silent: the call is treated as after a restart.
    Unanswered { call: String, at: u64 },
    /// A probe reported whether an earlier call happened.
    Probed {
        call: String,
        found: ProbeResult,
        at: u64,
    },
    /// A person decided about a call in doubt.
    Resolved {
        call: String,
        answer: DoubtAnswer,
        at: u64,
    },
    /// A person adds text to the running task; the model sees it at the next step.
    Steered { at: u64 },
    /// A budget beyond the run's own is used up: the session's, the day's or the total.
    OutOfMoney { at: u64 },
    /// A person allowed more money.
    MoneyAllowed { at: u64 },
    /// A budget beyond the run's own is used up, and nobody can allow more.
    Unaffordable { at: u64 },
    /// Somebody stops the run.
    Cancelled { at: u64 },
    /// The daemon stops and leaves the run for its next start.
    Left { at: u64 },
    /// The daemon started again and resumes the run.
    Restarted { at: u64 },
    /// Time passed.
    Tick { at: u64 },
}

impl TurnEvent {
    /// The time of the event.
    pub fn at(&self) -> u64 {
        match self {
            TurnEvent::Begin { at }
            | TurnEvent::ModelDone { at, .. }
            | TurnEvent::Lost { at, .. }
            | TurnEvent::Charged { at, .. }
            | TurnEvent::Retried { at }
            | TurnEvent::ModelFailed { at }
            | TurnEvent::Decided { at, .. }
            | TurnEvent::Begun { at, .. }
            | TurnEvent::ToolDone { at, .. }
            | TurnEvent::Unanswered { at, .. }
            | TurnEvent::Probed { at, .. }
            | TurnEvent::Resolved { at, .. }
            | TurnEvent::Steered { at }
            | TurnEvent::OutOfMoney { at }
            | TurnEvent::MoneyAllowed { at }
            | TurnEvent::Unaffordable { at }
            | TurnEvent::Cancelled { at }
            | TurnEvent::Left { at }
            | TurnEvent::Restarted { at }
            | TurnEvent::Tick { at } => *at,
        }
    }
}

/// The parts of a complete model answer that the machine needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelAnswer {
    pub calls: Vec<CallSpec>,
    /// Tokens in and out.
    pub tokens: u64,
    /// Millionths of a dollar; `None` if the price is unknown.
    pub micro_dollars: Option<u64>,
    /// The answer does not have the requested form; the model is told so once.
    #[serde(default)]
    pub misfit: bool,
    /// The answer was ended because it repeated itself; see [`repetition`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeated: bool,
}

/// A call the model asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallSpec {
    pub id: String,
    pub tool: String,
    /// The arguments as canonical JSON.
    pub args: String,
    pub effect: Idempotency,
}

/// The result of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ProbeResult {
    /// It happened; its result is stored.
    Happened {
        failed: bool,
    },
    DidNot,
    Unknown,
}

/// An action for the driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "camelCase")]
pub enum TurnEffect {
    /// Call the model; an earlier attempt of the same step is void.
    CallModel { step: u32, attempt: u32 },
    /// Ask the permission machine.
    Ask { call: String },
    /// Run a tool. With `intent`, its begin must be durable before it starts.
    Run { call: String, intent: bool },
    /// Ask the tool whether the call happened.
    Probe { call: String },
    /// Ask a person whether the call happened.
    Doubt { call: String },
    /// Ask a person for more money.
    AskForMoney,
    /// Stop the model call and all running tool calls.
    StopAll,
    /// The run is over.
    Finish { cause: RunEndCause },
}
