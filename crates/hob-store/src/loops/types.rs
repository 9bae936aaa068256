//! What callers say about loops, and what they are told.

use crate::judgements::RuleChange;
use hob_wire::RunId;
use hob_wire::rooms::agent::{Cause, Cost};
use hob_wire::rooms::loops::{LoopConfig, LoopEnd, MonitorOutput, WorkOutcome};

/// A loop to be made.
#[derive(Clone, Debug)]
pub struct NewLoop {
    pub name: String,
    pub config: LoopConfig,
    pub persistent: String,
    pub working: String,
    /// Who makes it.
    pub by: String,
    /// The rules it gets.
    pub rules: Vec<RuleChange>,
}

/// Whether a loop is to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Idle,
    Running,
    /// One iteration only.
    Once,
}

/// How a loop is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhichStart {
    Again,
    Once { key: Option<String> },
}

/// What became of a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Started {
    /// It is to run; its last iteration had this number.
    Now { iteration: u32 },
    /// The key asked for an iteration before.
    Before,
}

/// A loop as its owner needs it.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopRow {
    pub(crate) row_id: i64,
    pub name: String,
    pub config: LoopConfig,
    pub created_at: u64,
    pub updated_at: u64,
    pub mode: Mode,
    pub once_key: Option<String>,
    pub iteration: u32,
    pub since_start: u32,
    pub errors: u32,
    pub last_error: Option<String>,
    pub stopped: Option<LoopEnd>,
    pub next_at: Option<u64>,
    pub monitor: Option<MonitorOutput>,
    pub cost: Cost,
    /// The revisions of its memories.
    pub persistent: u64,
    pub working: u64,
}

/// What was under way when a loop was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Under {
    /// It had begun, and asked nothing yet.
    Opened,
    /// It had a run, which may have ended since.
    Asking,
    /// It slept until then.
    Asleep { next_at: u64 },
    /// It was started, and no iteration had begun.
    Started,
}

/// An iteration that has its run.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompted {
    pub name: String,
    pub number: u32,
    pub run: RunId,
    /// What the monitor printed last.
    pub monitor: Option<MonitorOutput>,
}

/// An iteration that ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    pub name: String,
    pub number: u32,
    pub success: bool,
    pub outcome: WorkOutcome,
    pub cause: Option<Cause>,
    /// Why it failed, or what was denied.
    pub message: Option<String>,
    /// Calls of its run that were denied, and that failed.
    pub denied_calls: u32,
    pub failed_calls: u32,
    /// Whether the failure is told as one; a person who stops a loop knows.
    pub told: bool,
    /// Failures in a row, with this one.
    pub errors: u32,
    /// What this start has cost.
    pub cost: Cost,
    pub next_at: Option<u64>,
    /// The loop ended with it, with a sentence.
    pub end: Option<(LoopEnd, String)>,
}

/// One of a loop's memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What every iteration is shown.
    Persistent,
    /// What the next one is shown.
    Working,
}

impl Kind {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Kind::Persistent => "persistent",
            Kind::Working => "working",
        }
    }
}

/// A memory to be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remember {
    pub name: String,
    pub kind: Kind,
    /// The new text; none goes back to the revision before.
    pub text: Option<String>,
    pub by: String,
    /// Refuses when the memory is of another revision by now.
    pub if_revision: Option<u64>,
    /// Makes repeating this one revision.
    pub key: Option<String>,
}
