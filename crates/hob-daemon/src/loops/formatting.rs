//! Session keys of iterations, conversions of a loop's settings, and sentences. Pure.

use crate::grants::GrantOwner;
use crate::scheduled_command::ScheduledCommand;
use hob_core::loop_machine::MonitorResult;
use hob_wire::rooms::loops::{KIND, LoopConfig, LoopEnd, MonitorOutput};

/// Returns the session key of an iteration.
pub(super) fn session_key(name: &str, iteration: u32) -> String {
    format!("{KIND}:{name}:{iteration}")
}

/// Returns the loop that a session belongs to; none if it belongs to no iteration.
pub(super) fn loop_of_session(session_key: &str) -> Option<&str> {
    let mut steps = session_key.split(':');
    let (kind, name) = (steps.next()?, steps.next()?);
    (kind == KIND).then_some(name)
}

/// Returns the owner under which a loop's grants are stored.
pub(super) fn grant_owner(name: &str) -> GrantOwner<'_> {
    GrantOwner {
        room: "loops",
        kind: KIND,
        name,
    }
}

/// Returns the monitor command of a loop.
pub(super) fn monitor_command(config: &LoopConfig) -> Option<ScheduledCommand> {
    let monitor = config.monitor.as_ref()?;
    Some(ScheduledCommand {
        command: monitor.command.clone(),
        workspace: config.workspace.clone(),
        network: monitor.network,
        timeout_ms: monitor.timeout_ms,
    })
}

/// Converts a monitor's output for the prompt; `at` is its time as text.
pub(super) fn shown_output<'o>(output: &'o MonitorOutput, at: &'o str) -> MonitorResult<'o> {
    MonitorResult {
        at,
        exit_code: output.exit_code,
        problem: output.problem.as_deref(),
        stdout: &output.stdout,
        stderr: &output.stderr,
    }
}

/// Formats a time in UTC.
pub(super) fn format_time(at_ms: u64) -> String {
    let at = i64::try_from(at_ms).ok();
    let at = at.and_then(|at| jiff::Timestamp::from_millisecond(at).ok());
    at.map_or_else(
        || format!("{at_ms} ms after 1970"),
        |at| at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
    )
}

/// Explains why a loop ended.
pub(super) fn end_message(end: LoopEnd, config: &LoopConfig, error: Option<&str>) -> String {
    match end {
        LoopEnd::Stopped => "It was stopped.".to_owned(),
        LoopEnd::MaxIterations => {
            format!("Its {} iterations are done.", config.max_iterations)
        }
        LoopEnd::Money => "Its budget is used up. Raise it and start the loop again.".to_owned(),
        LoopEnd::Errors => {
            let last = error.unwrap_or("the reason is unknown");
            format!(
                "{} iterations in a row failed; the last one: {last}",
                config.backoff.errors_max
            )
        }
        LoopEnd::Once => "Its one iteration is done.".to_owned(),
    }
}

#[cfg(test)]
#[path = "formatting_tests.rs"]
mod tests;
