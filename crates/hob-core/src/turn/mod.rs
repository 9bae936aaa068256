//! The agent turn. Pure: events in, effects out.
//!
//! A run is a chain of steps. A step asks the model; if the answer holds tool calls, each is asked
//! for permission, begun, and answered, and the next step follows; an answer without calls ends
//! the run. The journal of a run is the ordered list of [`Event`]s: feeding it to a fresh machine
//! gives the same state again, which is all that resuming after a crash needs.
//!
//! Invariants:
//! - once [`Effect::Finish`] is out, no other effect follows
//! - a tool runs only after it was allowed, and [`Effect::Run`] says whether its intent must be on
//!   disk before it begins
//! - after a restart a pure or keyed call runs again, a probeable one is probed, an opaque one is
//!   in doubt: never a silent repeat, never a silent loss
//! - every limit ends the run with its own cause, and none is overrun by more than one model call
//! - a run that nobody watches waits for nobody: at a ceiling it ends
//! - the time a person takes to answer for money or for a call in doubt is not the run's time

mod calls;
mod limits;
mod machine;

pub use calls::{Call, CallState};
pub use limits::{Limits, Spent};
pub use machine::{Phase, Turn};

use hob_wire::work::Effect as EffectClass;
use hob_wire::work::{Cause, DoubtAnswer};
use serde::{Deserialize, Serialize};

/// What happened. Times are milliseconds of the wall, written into the journal with the event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase")]
pub enum Event {
    /// The run's turn has come.
    Begin { at: u64 },
    /// The model's answer is complete.
    ModelDone { answer: Answer, at: u64 },
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
    /// The same step is tried once more, with the same model or another.
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
    /// Whoever ran a call went away or stayed silent: it is treated as after a restart.
    Unanswered { call: String, at: u64 },
    /// A probe said whether an earlier call happened.
    Probed { call: String, found: Found, at: u64 },
    /// A person answered for a call in doubt.
    Resolved {
        call: String,
        answer: DoubtAnswer,
        at: u64,
    },
    /// A person adds words to the running task; they are seen at the next step.
    Steered { at: u64 },
    /// Money beyond this run's own budget is used up: the session's, the day's or the total.
    OutOfMoney { at: u64 },
    /// A person allowed more money.
    MoneyAllowed { at: u64 },
    /// Money beyond this run's own budget is used up, and nobody is there to allow more.
    Unaffordable { at: u64 },
    /// Somebody stops the run.
    Cancelled { at: u64 },
    /// The daemon stops and leaves the run to its next start.
    Left { at: u64 },
    /// The daemon was started again and takes the run up.
    Restarted { at: u64 },
    /// Time passed.
    Tick { at: u64 },
}

impl Event {
    /// When it happened.
    pub fn at(&self) -> u64 {
        match self {
            Event::Begin { at }
            | Event::ModelDone { at, .. }
            | Event::Lost { at, .. }
            | Event::Charged { at, .. }
            | Event::Retried { at }
            | Event::ModelFailed { at }
            | Event::Decided { at, .. }
            | Event::Begun { at, .. }
            | Event::ToolDone { at, .. }
            | Event::Unanswered { at, .. }
            | Event::Probed { at, .. }
            | Event::Resolved { at, .. }
            | Event::Steered { at }
            | Event::OutOfMoney { at }
            | Event::MoneyAllowed { at }
            | Event::Unaffordable { at }
            | Event::Cancelled { at }
            | Event::Left { at }
            | Event::Restarted { at }
            | Event::Tick { at } => *at,
        }
    }
}

/// A complete answer of a model, as far as the machine cares.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    pub calls: Vec<CallSpec>,
    /// Tokens in and out.
    pub tokens: u64,
    /// Millionths of a dollar; nothing when the price is unknown.
    pub micro_dollars: Option<u64>,
    /// It is not of the form that was asked for; the model is told so once.
    #[serde(default)]
    pub misfit: bool,
}

/// A call the model asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallSpec {
    pub id: String,
    pub tool: String,
    /// The arguments as canonical JSON.
    pub args: String,
    pub effect: EffectClass,
}

/// What a probe found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Found {
    /// It happened; its result is stored.
    Happened {
        failed: bool,
    },
    DidNot,
    Unknown,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "camelCase")]
pub enum Effect {
    /// Ask the model; a former attempt of the same step is void.
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
    /// Stop the model call and every tool call under way.
    StopAll,
    /// The run is over.
    Finish { cause: Cause },
}
