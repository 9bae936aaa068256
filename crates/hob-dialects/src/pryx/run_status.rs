//! The state of a run in Pryx's words. Pure.

use hob_wire::rooms::agent::{RunEndCause, RunState, RunView};

/// The status of an agent in the runtime's API.
pub(crate) fn agent_status(run: &RunView) -> &'static str {
    match (run.state, run.cause) {
        (RunState::Queued, _) => "pending",
        (RunState::Running, _) => "running",
        (RunState::Waiting | RunState::InDoubt, _) => "waiting",
        (RunState::Paused, _) => "paused",
        (RunState::Done, Some(RunEndCause::Answered)) => "completed",
        (RunState::Done, Some(RunEndCause::Aborted)) => "cancelled",
        (RunState::Done, _) => "failed",
    }
}

/// The status of an agent in the TUI's view, which has four.
pub(crate) fn page_status(run: &RunView) -> &'static str {
    match agent_status(run) {
        "running" => "running",
        "pending" | "waiting" | "paused" => "idle",
        "failed" => "error",
        _ => "stopped",
    }
}
