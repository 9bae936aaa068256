//! Sentences about services. Pure.

use hob_exec::ChildExit;
use hob_exec::shim_protocol::{ExitCause, WaitStatus};
use hob_wire::rooms::service::{LastExit, ServiceLogLine};
use std::time::Duration;

/// Lines and characters of output quoted in a sentence.
const LAST_LINES: usize = 4;
const LAST_CHARS_MAX: usize = 600;

/// Converts a process's exit for the wire.
pub(super) fn last_exit(exit: &ChildExit) -> LastExit {
    match exit.status {
        WaitStatus::Code(code) => LastExit::Code(code),
        WaitStatus::Signal(signal) => LastExit::Signal(signal_name(signal)),
    }
}

/// Describes a process's exit, as the predicate of a sentence.
pub(super) fn describe_exit(exit: &ChildExit) -> String {
    match (exit.cause, exit.status) {
        (ExitCause::Processes, _) => "was ended because it had too many processes".to_owned(),
        (ExitCause::Disk, _) => "was ended because a disk is nearly full".to_owned(),
        (_, WaitStatus::Code(code)) => format!("ended with exit code {code}"),
        (_, WaitStatus::Signal(signal)) => format!("was ended by {}", signal_name(signal)),
    }
}

/// ` It printed last: …`, or nothing.
pub(super) fn last_output(lines: &[ServiceLogLine]) -> String {
    let newest = &lines[lines.len().saturating_sub(LAST_LINES)..];
    let texts = newest.iter().map(|line| line.text.trim());
    let text = texts.filter(|text| !text.is_empty()).collect::<Vec<_>>();
    if text.is_empty() {
        return String::new();
    }
    let text = text.join(" | ");
    // The end is kept, because errors come last.
    let skipped = text.chars().count().saturating_sub(LAST_CHARS_MAX);
    let shown: String = text.chars().skip(skipped).collect();
    let mark = if skipped > 0 { "…" } else { "" };
    format!(" It printed last: {mark}{shown}")
}

/// Says how to fix a service that failed.
pub(super) fn fix_hint(name: &str) -> String {
    format!(
        " 'hob service logs {name}' shows more; when it is fixed, run: hob service start {name}"
    )
}

pub(super) fn format_duration(time: Duration) -> String {
    hob_kit::duration::format_ms(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        other => return format!("signal {other}"),
    };
    name.to_owned()
}
