//! The types of jobs and slots.

use hob_wire::RunId;
use hob_wire::rooms::agent::Cost;
use hob_wire::rooms::cron::{JobDefinition, JobSlot, SlotOrigin, SlotState};

/// A job as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct JobRow {
    pub id: String,
    pub terms: JobDefinition,
    pub enabled: bool,
    /// The last due time that was decided.
    pub cursor_ms: u64,
    pub failures: u32,
    pub problem: Option<String>,
    pub nonce: String,
    pub created_at: u64,
    pub updated_at: u64,
}

/// The decision about one job: its slots and its new cursor.
#[derive(Clone, Debug)]
pub struct SlotOpening {
    /// The job's id.
    pub job: String,
    /// The new cursor.
    pub cursor_ms: Option<u64>,
    pub slots: Vec<NewSlot>,
}

impl SlotOpening {
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
    /// For repeated calls: a slot with this key that is not older than this is the same slot.
    pub same_within_ms: Option<u64>,
    pub due_ms: u64,
    pub begin_ms: u64,
    pub origin: SlotOrigin,
    /// `due`, or the outcome of a slot that is never run.
    pub state: SlotState,
    pub reason: Option<String>,
    pub stands_for: u64,
    /// The session of its run.
    pub session_key: Option<String>,
    /// The task, as its event shows it.
    pub task: String,
    /// The task, if it differs from the job's.
    pub own_task: Option<String>,
}

/// A slot that was opened, now or before.
#[derive(Clone, Debug, PartialEq)]
pub struct SlotOpenResult {
    pub row: SlotRow,
    /// True if it existed before.
    pub duplicate: bool,
}

/// A slot as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct SlotRow {
    pub slot: JobSlot,
    pub key: String,
    pub begin_ms: u64,
    pub own_task: Option<String>,
}

/// The outcome of a slot, and its effect on the job.
#[derive(Clone, Debug)]
pub struct SlotEnd {
    pub number: u64,
    pub state: SlotState,
    pub reason: Option<String>,
    pub run: Option<RunId>,
    pub exit_code: Option<i32>,
    pub output: Option<String>,
    pub cost: Cost,
    /// Denied and failed calls of its run.
    pub denied_calls: u32,
    pub failed_calls: u32,
    /// Failures in a row now; none leaves them unchanged.
    pub failures: Option<u32>,
    /// The reason why the job is disabled with this slot.
    pub given_up: Option<String>,
}
