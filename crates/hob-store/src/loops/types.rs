//! The types of loops.

use crate::audit::RuleChange;
use hob_wire::RunId;
use hob_wire::rooms::agent::{Cost, RunEndCause};
use hob_wire::rooms::loops::{LoopConfig, LoopEnd, MonitorOutput, WorkOutcome};

/// A loop to create.
#[derive(Clone, Debug)]
pub struct NewLoopRow {
    pub name: String,
    pub config: LoopConfig,
    pub persistent: String,
    pub working: String,
    /// The creator.
    pub by: String,
    /// The rules it gets.
    pub rules: Vec<RuleChange>,
}

/// The wanted activity of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopMode {
    Idle,
    Running,
    /// One iteration only.
    Once,
}

/// The kind of a start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoopStart {
    Continuous,
    Once { key: Option<String> },
}

/// The result of a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopStartResult {
    /// It shall run; its last iteration had this number.
    Now { iteration: u32 },
    /// The key requested an iteration before.
    AlreadyRequested,
}

/// A loop as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopRow {
    pub(crate) row_id: i64,
    pub name: String,
    pub config: LoopConfig,
    pub created_at: u64,
    pub updated_at: u64,
    pub mode: LoopMode,
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

/// The point at which a loop is resumed after a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopResumePoint {
    /// The iteration had begun, and had no run yet.
    Opened,
    /// It had a run, which may have ended since.
    Asking,
    /// It slept until then.
    Asleep { next_at: u64 },
    /// The loop was started, and no iteration had begun.
    Started,
}

/// The run of an iteration.
#[derive(Clone, Debug, PartialEq)]
pub struct IterationPrompt {
    pub name: String,
    pub number: u32,
    pub run: RunId,
    /// The last output of the monitor.
    pub monitor: Option<MonitorOutput>,
}

/// The end of an iteration.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedIteration {
    pub name: String,
    pub number: u32,
    pub success: bool,
    pub outcome: WorkOutcome,
    pub cause: Option<RunEndCause>,
    /// The reason of a failure, or the denied calls.
    pub message: Option<String>,
    /// Denied and failed calls of its run.
    pub denied_calls: u32,
    pub failed_calls: u32,
    /// True if the failure is logged as an error. It is not for a person who stopped the loop.
    pub is_reported: bool,
    /// Failures in a row, this one included.
    pub errors: u32,
    /// The cost since the loop was started.
    pub cost: Cost,
    pub next_at: Option<u64>,
    /// The end of the loop, if it ended with the iteration, with a sentence.
    pub end: Option<(LoopEnd, String)>,
}

/// The kind of a loop's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryKind {
    /// Shown to every iteration.
    Persistent,
    /// Shown to the next iteration.
    Working,
}

impl MemoryKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            MemoryKind::Persistent => "persistent",
            MemoryKind::Working => "working",
        }
    }
}

/// A change of a memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryUpdate {
    pub name: String,
    pub kind: MemoryKind,
    /// The new text; none goes back to the revision before.
    pub text: Option<String>,
    pub by: String,
    /// Refuses the change if the memory has another revision.
    pub if_revision: Option<u64>,
    /// Makes a repeat return the same revision.
    pub key: Option<String>,
}
