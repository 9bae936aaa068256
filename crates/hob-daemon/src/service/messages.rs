//! What is said of a service, in sentences a person can act on. Pure.

use hob_exec::Exit;
use hob_exec::order::{Cause, Ended};
use hob_wire::rooms::service::{LastExit, ServiceLine};
use std::time::Duration;

/// Of what it printed last, at most so much stands in a sentence.
const LAST_LINES: usize = 4;
const LAST_CHARS_MAX: usize = 600;

/// How a process ended, for the wire.
pub(super) fn last_exit(exit: &Exit) -> LastExit {
    match exit.ended {
        Ended::Code(code) => LastExit::Code(code),
        Ended::Signal(signal) => LastExit::Signal(signal_name(signal)),
    }
}

/// How a process ended, as the middle of a sentence.
pub(super) fn ending(exit: &Exit) -> String {
    match (exit.cause, exit.ended) {
        (Cause::Processes, _) => "had more processes than it may and was ended".to_owned(),
        (Cause::Disk, _) => "was ended because a disk is nearly full".to_owned(),
        (_, Ended::Code(code)) => format!("ended with exit code {code}"),
        (_, Ended::Signal(signal)) => format!("was ended by {}", signal_name(signal)),
    }
}

/// ` It printed last: …`, or nothing.
pub(super) fn printed(lines: &[ServiceLine]) -> String {
    let newest = &lines[lines.len().saturating_sub(LAST_LINES)..];
    let texts = newest.iter().map(|line| line.text.trim());
    let text = texts.filter(|text| !text.is_empty()).collect::<Vec<_>>();
    if text.is_empty() {
        return String::new();
    }
    let text = text.join(" | ");
    // The end says most.
    let skipped = text.chars().count().saturating_sub(LAST_CHARS_MAX);
    let shown: String = text.chars().skip(skipped).collect();
    let mark = if skipped > 0 { "…" } else { "" };
    format!(" It printed last: {mark}{shown}")
}

/// What to do about a service that is given up.
pub(super) fn way_out(name: &str) -> String {
    format!(
        " 'hob service logs {name}' shows more; when it is mended, run: hob service start {name}"
    )
}

pub(super) fn shown(time: Duration) -> String {
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
