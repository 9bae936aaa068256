//! The settings of a loop as others need them, and the sentences about its end. Pure.

use crate::errand::Errand;
use crate::grants::Owner;
use hob_core::rounds::Watched;
use hob_wire::rooms::loops::{KIND, LoopConfig, LoopEnd, MonitorOutput};

/// The key of an iteration's session.
pub(super) fn session_key(name: &str, iteration: u32) -> String {
    format!("{KIND}:{name}:{iteration}")
}

/// The loop that a session belongs to, if it is an iteration's.
pub(super) fn loop_of(session_key: &str) -> Option<&str> {
    let mut steps = session_key.split(':');
    let (kind, name) = (steps.next()?, steps.next()?);
    (kind == KIND).then_some(name)
}

/// Whose grants are stored for a loop.
pub(super) fn owner(name: &str) -> Owner<'_> {
    Owner {
        room: "loops",
        kind: KIND,
        name,
    }
}

/// The monitor of a loop.
pub(super) fn monitor(config: &LoopConfig) -> Option<Errand> {
    let monitor = config.monitor.as_ref()?;
    Some(Errand {
        command: monitor.command.clone(),
        workspace: config.workspace.clone(),
        network: monitor.network,
        timeout_ms: monitor.timeout_ms,
    })
}

/// A monitor's output as an iteration is shown it; `at` is its time in words.
pub(super) fn watched<'o>(output: &'o MonitorOutput, at: &'o str) -> Watched<'o> {
    Watched {
        at,
        exit_code: output.exit_code,
        problem: output.problem.as_deref(),
        stdout: &output.stdout,
        stderr: &output.stderr,
    }
}

/// A time in words.
pub(super) fn moment(at_ms: u64) -> String {
    let at = i64::try_from(at_ms).ok();
    let at = at.and_then(|at| jiff::Timestamp::from_millisecond(at).ok());
    at.map_or_else(
        || format!("{at_ms} ms after 1970"),
        |at| at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
    )
}

/// Why a loop ended, in a sentence.
pub(super) fn sentence(end: LoopEnd, config: &LoopConfig, error: Option<&str>) -> String {
    match end {
        LoopEnd::Stopped => "It was stopped.".to_owned(),
        LoopEnd::MaxIterations => {
            format!("Its {} iterations are done.", config.max_iterations)
        }
        LoopEnd::Money => "Its money is used up. Give it more, and start it again.".to_owned(),
        LoopEnd::Errors => {
            let last = error.unwrap_or("nobody knows why");
            format!(
                "{} iterations in a row failed; the last one: {last}",
                config.backoff.errors_max
            )
        }
        LoopEnd::Once => "Its one iteration is done.".to_owned(),
    }
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;
