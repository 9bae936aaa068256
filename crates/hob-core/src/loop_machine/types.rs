//! The settings, inputs and outputs of the loop machine.

use hob_wire::loop_config::LoopEnd;

/// The settings that decide what comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopPolicy {
    /// The time between the end of an iteration and the next one.
    pub interval_ms: u64,
    /// Iterations per start; 0 means no limit.
    pub max_iterations: u32,
    /// The longest interval after failures.
    pub backoff_ms_max: u64,
    /// Consecutive failures after which the loop ends; 0 means never.
    pub errors_max: u32,
    /// The budget per start, in millionths of a dollar.
    pub money_max: Option<u64>,
    pub monitor: MonitorSchedule,
}

/// The schedule of a loop's monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MonitorSchedule {
    Off,
    /// Once in each iteration, before the model is asked.
    BeforeIteration,
    /// In the background, this long after its last end.
    Interval(u64),
}

/// An input of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopEvent {
    /// Start the loop.
    Start,
    /// Run one iteration.
    StartOnce,
    /// Stop the loop.
    Stop,
    /// The settings changed.
    PolicyChanged(LoopPolicy),
    /// The iteration is on record.
    IterationRecorded,
    /// The iteration could not be recorded; its number is free again.
    IterationNotRecorded,
    /// The monitor before an iteration ended.
    MonitorEnded,
    /// The background monitor ended.
    BackgroundMonitorEnded,
    /// The iteration ended and cost this much.
    IterationEnded {
        end: IterationEnd,
        micro_dollars: u64,
    },
    /// Time has passed.
    Tick,
}

/// The result of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IterationEnd {
    Answered,
    Failed,
    /// A budget ceiling beyond the loop's own stopped it. That is not a failure of the loop: it
    /// tries again after growing waits and never ends because of it.
    Unaffordable,
}

/// An action for the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopEffect {
    /// Record the start of this iteration; answered by `IterationRecorded` or
    /// `IterationNotRecorded`.
    RecordIteration { iteration: u32 },
    /// Run the monitor; answered by `MonitorEnded`.
    RunMonitor,
    /// Run the background monitor; answered by `BackgroundMonitorEnded`.
    RunBackgroundMonitor,
    /// Ask the model, or keep waiting for its answer; answered by `IterationEnded`.
    AskModel,
    /// Stop everything that runs; each part still reports its end.
    Interrupt,
    /// The loop ended for this reason.
    End(LoopEnd),
}

/// The state of a loop that an earlier process left running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedLoop {
    /// The number of the last iteration.
    pub iteration: u32,
    pub since_start: u32,
    pub errors: u32,
    pub micro_dollars: u64,
    /// Only one iteration was requested.
    pub run_once: bool,
    pub step: SavedStep,
}

/// The step an earlier process left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SavedStep {
    /// The iteration was recorded and the model not asked yet.
    Recorded,
    /// The model was asked.
    Asking,
    /// The loop slept; this much time was left.
    Sleeping { left_ms: u64 },
}
