//! What callers say about runs and money, and what they are told.

use hob_core::turn::Limits;
use hob_wire::DamagedRow;
use hob_wire::rooms::agent::{Cost, QueueMode, RunState};
use hob_wire::rooms::cost::CostRow;
use hob_wire::work::Cause;
use hob_wire::{Content, Message, Role, RunId, SessionId, Usage};
use serde_json::Value;
use std::fmt;

/// A run to be accepted.
#[derive(Clone, Debug)]
pub struct NewRun {
    /// Made by the caller; accepting the same id again answers the run it made.
    pub id: RunId,
    /// The session's key or id; created if missing.
    pub session: String,
    /// Kind of the session if it has to be made; `main` when missing.
    pub kind: Option<String>,
    /// Work on a new session whose parent is `session`. Its metadata names, as `forkedAt`, the
    /// parent's last message.
    pub fork: bool,
    pub task: String,
    /// The parameters as accepted, pictures included.
    pub params: Value,
    /// The bounds of its machine, fixed for its whole life.
    pub limits: Limits,
    pub mode: QueueMode,
    /// Runs that may wait behind the one under way.
    pub queue_max: u32,
    /// Makes repeating this one run, among those asked on `session`.
    pub idempotency_key: Option<String>,
    /// Who starts it, when another run does.
    pub birth: Option<Birth>,
}

/// A run that another one starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Birth {
    /// It must not have ended. Its session becomes the parent of the child's, and pays.
    pub parent: RunId,
    /// Names the child's session for people.
    pub label: Option<String>,
    /// Children one run may ever have.
    pub children_max: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Accepted {
    pub run: RunRow,
    /// Whether it was there before.
    pub duplicate: bool,
}

/// A run as it is stored; its parameters are read apart.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    pub id: RunId,
    /// The run that started it.
    pub parent: Option<RunId>,
    pub session_id: SessionId,
    /// The session's key if it has one, else its id.
    pub session_key: String,
    pub task: String,
    pub limits: Limits,
    pub queued_at: u64,
    /// Entries in its journal: the `at_index` of the next write.
    pub journal_len: u64,
    /// Places in its session of the first and the last message it added.
    pub first_message: Option<u64>,
    pub last_message: Option<u64>,
    pub summary: RunSummary,
}

/// How far a run is: what changes from step to step.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSummary {
    pub state: RunState,
    pub step: u32,
    pub attempt: u32,
    /// How many times it went on after a restart.
    pub resumed: u32,
    /// The answer so far.
    pub text: String,
    pub cost: Cost,
    /// Whether the answer is what was asked for; meant once it has ended.
    pub success: bool,
    /// Why it ended; set with the state `done` and only then.
    pub cause: Option<Cause>,
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

/// Everything that becomes true together at a step of a run.
#[derive(Clone, Debug)]
pub struct StepWrite {
    pub run: RunId,
    /// The journal's length as the caller knows it; another one refuses the whole write.
    pub at_index: u64,
    pub journal: Vec<Value>,
    /// Added to the run's session, each with its `session.message` event.
    pub messages: Vec<NewMessage>,
    /// Applied before `reserve` is held against its ceilings.
    pub ledger: Vec<LedgerWrite>,
    pub reserve: Option<Reserve>,
    /// Logged in this order, after those of the messages. A payload that can be rebuilt from the
    /// run's row and its messages is not stored a second time.
    pub events: Vec<(&'static str, Value)>,
    /// Keys of words that the run takes with this write; saying them again finds this run.
    pub steer_keys: Vec<String>,
    pub summary: RunSummary,
}

impl StepWrite {
    /// A write that only says how far the run is.
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

/// A message to be added.
#[derive(Clone, Debug, PartialEq)]
pub struct NewMessage {
    pub role: Role,
    pub content: Content,
    /// A write whose key already made a message of this session is refused as a conflict.
    pub idempotency_key: Option<String>,
}

impl NewMessage {
    pub fn new(role: Role, content: Content) -> Self {
        NewMessage {
            role,
            content,
            idempotency_key: None,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Written {
    /// The messages as they stand in the session, in the order they were given.
    pub messages: Vec<Message>,
}

/// Money set aside before a model call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reserve {
    /// Names the call for ever: one key, one call.
    pub call_key: String,
    /// `provider/model`.
    pub model: String,
    /// The most it may cost, in millionths of a dollar; nothing when the price is not known.
    pub micro_dollars: Option<u64>,
    pub ceilings: Ceilings,
}

/// What may be spent at the most, in millionths of a dollar. Nothing means no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ceilings {
    pub session: Option<u64>,
    /// The day (UTC).
    pub day: Option<u64>,
    pub total: Option<u64>,
}

/// What became of a model call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LedgerWrite {
    /// It ended; this is what it took. A call that was never reserved is entered as it is.
    Settle {
        call_key: String,
        usage: Usage,
        /// Nothing when the price is not known.
        micro_dollars: Option<u64>,
        /// The model that answered.
        model: String,
    },
    /// A crash cut it off: it stays at its reserved amount.
    Unknown { call_key: String },
}

/// Ledger writes of a call without a run.
#[derive(Clone, Debug, Default)]
pub struct LedgerEntry {
    /// The session that pays, by key or id; nobody when missing.
    pub session: Option<String>,
    pub writes: Vec<LedgerWrite>,
    pub reserve: Option<Reserve>,
}

/// Whose ceiling was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purse {
    Session,
    Day,
    Total,
}

impl fmt::Display for Purse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Purse::Session => "session's",
            Purse::Day => "day's",
            Purse::Total => "total",
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunPage {
    pub runs: Vec<RunRow>,
    /// Pass as `before` for the next page; missing on the last.
    pub next: Option<RunId>,
    /// Damaged runs of this page, which are left out.
    pub damaged: Vec<DamagedRow>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunStats {
    /// Runs ever accepted, those of deleted sessions included.
    pub runs: u64,
    /// Begun and not ended.
    pub active: u64,
    /// Of those the ones that wait for a person.
    pub waiting: u64,
    pub queued: u64,
    /// Of the whole ledger.
    pub cost: Cost,
}

/// Sums of the ledger. Money is missing where no call of a sum has a known price.
#[derive(Clone, Debug, Default)]
pub struct Costs {
    pub total: Cost,
    /// Days that have calls, oldest first.
    pub days: Vec<CostRow>,
    /// The dearest first.
    pub models: Vec<CostRow>,
}
