//! The types of runs and money.

use crate::sessions::transcript::StepOrigin;
use hob_core::turn::RunLimits;
use hob_wire::DamagedRow;
use hob_wire::rooms::agent::{Cost, QueueMode, RunState};
use hob_wire::rooms::cost::CostRow;
use hob_wire::work::RunEndCause;
use hob_wire::{Message, MessageContent, Role, RunId, SessionId, TokenUsage};
use serde_json::Value;
use std::fmt;

/// A run to accept.
#[derive(Clone, Debug)]
pub struct NewRun {
    /// Made by the caller. Accepting the same id again returns the run it made.
    pub id: RunId,
    /// The session's key or id; created if missing.
    pub session: String,
    /// The kind of a new session; `main` when missing.
    pub kind: Option<String>,
    /// Works on a new session whose parent is `session`. Its metadata has the parent's last message
    /// as `forkedAt`.
    pub fork: bool,
    pub task: String,
    /// The parameters as accepted, pictures included.
    pub params: Value,
    /// The limits of its machine, fixed for the whole run.
    pub limits: RunLimits,
    pub mode: QueueMode,
    /// Runs that may wait behind the active one.
    pub queue_max: u32,
    /// Makes a repeat return the same run, among those asked on `session`.
    pub idempotency_key: Option<String>,
    /// The link to the parent, when another run starts this one.
    pub parent_link: Option<ParentLink>,
}

/// The link of a run to the run that starts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParentLink {
    /// It must not have ended. Its session becomes the parent of the child's, and pays.
    pub parent: RunId,
    /// The label of the child's session.
    pub label: Option<String>,
    /// Children that one run may ever have.
    pub children_max: u32,
}

/// A run that was accepted, now or before.
#[derive(Clone, Debug, PartialEq)]
pub struct AcceptedRun {
    pub run: RunRow,
    /// True if it was accepted before.
    pub duplicate: bool,
}

/// A run as it is stored. Its parameters are read separately.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    pub id: RunId,
    /// The run that started it.
    pub parent: Option<RunId>,
    pub session_id: SessionId,
    /// The session's key if it has one, else its id.
    pub session_key: String,
    pub task: String,
    pub limits: RunLimits,
    pub queued_at: u64,
    /// Entries in its journal: the `at_index` of the next write.
    pub journal_len: u64,
    /// The numbers, in its session, of the first and the last message it added.
    pub first_message: Option<u64>,
    pub last_message: Option<u64>,
    pub summary: RunSummary,
}

/// The progress of a run: the part that changes from step to step.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSummary {
    pub state: RunState,
    pub step: u32,
    pub attempt: u32,
    /// The number of times it was resumed after a restart.
    pub resumed: u32,
    /// The answer so far.
    pub text: String,
    pub cost: Cost,
    /// True if the answer is what was asked for. Valid once it has ended.
    pub success: bool,
    /// The reason of its end; set with the state `done` and only then.
    pub cause: Option<RunEndCause>,
    /// The cause in a sentence.
    pub message: Option<String>,
    pub model: Option<String>,
    pub notes: Vec<String>,
    pub started_at: Option<u64>,
    /// Set with the state `done` and only then.
    pub ended_at: Option<u64>,
}

impl Default for RunSummary {
    fn default() -> Self {
        RunSummary {
            state: RunState::Queued,
            step: 0,
            attempt: 0,
            resumed: 0,
            text: String::new(),
            cost: Cost::default(),
            success: false,
            cause: None,
            message: None,
            model: None,
            notes: Vec::new(),
            started_at: None,
            ended_at: None,
        }
    }
}

/// Everything that a step of a run writes together.
#[derive(Clone, Debug)]
pub struct StepWrite {
    pub run: RunId,
    /// The journal's length as the caller knows it. Another length refuses the whole write.
    pub at_index: u64,
    pub journal: Vec<Value>,
    /// Added to the run's session, each with its `session.message` event.
    pub messages: Vec<NewMessage>,
    /// Applied before `reserve` is checked against its ceilings.
    pub ledger: Vec<LedgerWrite>,
    pub reserve: Option<CostReservation>,
    /// Logged in this order, after those of the messages. A payload that can be rebuilt from the
    /// run's row and its messages is not stored again.
    pub events: Vec<(&'static str, Value)>,
    /// Keys of steering messages that the run takes with this write. Sending one again finds this
    /// run.
    pub steer_keys: Vec<String>,
    pub summary: RunSummary,
}

impl StepWrite {
    /// Creates a write that only changes the summary.
    pub fn new(run: RunId, at_index: u64, summary: RunSummary) -> Self {
        StepWrite {
            run,
            at_index,
            journal: Vec::new(),
            messages: Vec::new(),
            ledger: Vec::new(),
            reserve: None,
            events: Vec::new(),
            steer_keys: Vec::new(),
            summary,
        }
    }
}

/// A message to add.
#[derive(Clone, Debug, PartialEq)]
pub struct NewMessage {
    pub role: Role,
    pub content: MessageContent,
    /// A write whose key already made a message of this session is refused as a conflict.
    pub idempotency_key: Option<String>,
    /// The step that it belongs to, if it is an answer or the result of a call.
    pub origin: Option<StepOrigin>,
}

impl NewMessage {
    pub fn new(role: Role, content: MessageContent) -> Self {
        NewMessage {
            role,
            content,
            idempotency_key: None,
            origin: None,
        }
    }

    /// The same message as a part of this step.
    #[must_use]
    pub fn of_step(mut self, origin: StepOrigin) -> Self {
        self.origin = Some(origin);
        self
    }
}

/// The result of a written step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WrittenStep {
    /// The messages as stored in the session, in the given order.
    pub messages: Vec<Message>,
}

/// Money set aside before a model call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostReservation {
    /// The permanent name of the call: one key, one call.
    pub call_key: String,
    /// `provider/model`.
    pub model: String,
    /// The most it may cost, in millionths of a dollar; none when the price is unknown.
    pub micro_dollars: Option<u64>,
    pub ceilings: SpendingCeilings,
}

/// The spending limits, in millionths of a dollar. None means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpendingCeilings {
    pub session: Option<u64>,
    /// The present day (UTC).
    pub day: Option<u64>,
    pub total: Option<u64>,
}

/// The outcome of a model call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LedgerWrite {
    /// The call ended with this usage. A call that was never reserved is entered as it is.
    Settle {
        call_key: String,
        usage: TokenUsage,
        /// None when the price is unknown.
        micro_dollars: Option<u64>,
        /// The model that answered.
        model: String,
    },
    /// A crash interrupted it. It keeps its reserved amount.
    Unknown { call_key: String },
}

/// A model call in the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerCall {
    /// `provider/model`: the model that answered, or that was asked.
    pub model: String,
    /// What counts; reserved, as long as the call lasts. None when the price is unknown.
    pub micro_dollars: Option<u64>,
    pub usage: TokenUsage,
}

/// Ledger writes of a call without a run.
#[derive(Clone, Debug, Default)]
pub struct LedgerEntry {
    /// The session that pays, by key or id; none charges no session.
    pub session: Option<String>,
    pub writes: Vec<LedgerWrite>,
    pub reserve: Option<CostReservation>,
}

/// The scope of a spending limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetScope {
    Session,
    Day,
    Total,
}

impl fmt::Display for BudgetScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BudgetScope::Session => "session's",
            BudgetScope::Day => "day's",
            BudgetScope::Total => "total",
        })
    }
}

/// A page of runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunPage {
    pub runs: Vec<RunRow>,
    /// The `before` of the next page; missing on the last.
    pub next: Option<RunId>,
    /// Damaged runs of this page, which are left out.
    pub damaged: Vec<DamagedRow>,
}

/// Counts of runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunStats {
    /// Runs ever accepted, including those of deleted sessions.
    pub runs: u64,
    /// Begun and not ended.
    pub active: u64,
    /// Active runs that wait for a person.
    pub waiting: u64,
    pub queued: u64,
    /// The cost of the whole ledger.
    pub cost: Cost,
}

/// Sums of the ledger. Money is missing where no call has a known price.
#[derive(Clone, Debug, Default)]
pub struct LedgerSummary {
    pub total: Cost,
    /// Days that have calls, oldest first.
    pub days: Vec<CostRow>,
    /// The most expensive first.
    pub models: Vec<CostRow>,
}
