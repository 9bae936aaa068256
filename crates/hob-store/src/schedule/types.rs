//! Jobs and slots as the store's callers say and are told them.

use hob_wire::RunId;
use hob_wire::rooms::agent::Cost;
use hob_wire::rooms::cron::{JobTerms, Slot, SlotOrigin, SlotState};

/// A job as it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct JobRow {
    pub id: String,
    pub terms: JobTerms,
    pub enabled: bool,
    /// The last due time that was decided.
    pub cursor_ms: u64,
    pub failures: u32,
    pub problem: Option<String>,
    pub nonce: String,
    pub created_at: u64,
    pub updated_at: u64,
}

/// What is decided of one job, together.
#[derive(Clone, Debug)]
pub struct Opening {
    /// The job's id.
    pub job: String,
    /// Where its cursor goes.
    pub cursor_ms: Option<u64>,
    pub slots: Vec<NewSlot>,
}

impl Opening {
    pub(super) fn bytes(&self) -> usize {
        let task =
            |slot: &NewSlot| 256 + slot.task.len() + slot.own_task.as_ref().map_or(0, String::len);
        64 + self.slots.iter().map(task).sum::<usize>()
    }
}

/// A slot to open.
#[derive(Clone, Debug)]
pub struct NewSlot {
    pub key: String,
    /// A slot of this key that is no older than so much is this one; for calls that come again.
    pub same_within_ms: Option<u64>,
    pub due_ms: u64,
    pub begin_ms: u64,
    pub origin: SlotOrigin,
    /// `due`, or the outcome it has at once.
    pub state: SlotState,
    pub reason: Option<String>,
    pub stands_for: u64,
    /// The session its run gets.
    pub session_key: Option<String>,
    /// What is to be done, as its event says it.
    pub task: String,
    /// What is to be done where that is not the job's own task.
    pub own_task: Option<String>,
}

/// A slot that was opened.
#[derive(Clone, Debug, PartialEq)]
pub struct Opened {
    pub row: SlotRow,
    /// It was there before.
    pub duplicate: bool,
}

/// A slot as it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct SlotRow {
    pub slot: Slot,
    pub key: String,
    pub begin_ms: u64,
    pub own_task: Option<String>,
}

/// How a slot ended, and what that makes of its job.
#[derive(Clone, Debug)]
pub struct SlotEnd {
    pub number: u64,
    pub state: SlotState,
    pub reason: Option<String>,
    pub run: Option<RunId>,
    pub exit_code: Option<i32>,
    pub output: Option<String>,
    pub cost: Cost,
    /// Calls of its run that were denied, and that failed.
    pub denied_calls: u32,
    pub failed_calls: u32,
    /// Failures in a row now; none leaves them as they are.
    pub failures: Option<u32>,
    /// Why the job is disabled with it.
    pub given_up: Option<String>,
}
