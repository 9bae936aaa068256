//! What a command's output says: its kind, its facts, and what deserves attention. Pure.
//!
//! The kind follows from the command's own words and from the output's shape, and never from either
//! alone: each reader says itself whether the text is of its kind. The reader that the command
//! names is asked first, then all others.
//!
//! Invariants: any text is some kind, at worst `text`; facts and findings are bounded.

mod addresses;
mod disks;
pub mod folder;
mod json;
mod listing;
mod log;
mod processes;
mod scan;
mod sockets;
mod table;
mod text;
mod units;
mod words;

use hob_wire::analysis::{Analysis, Finding, Importance};
use serde_json::Value;

/// How many rows of a list are handed on.
const ROWS_MAX: usize = 500;
const FINDINGS_MAX: usize = 50;
const MESSAGE_CHARS_MAX: usize = 300;
/// What is read of a text at the most; what is behind is counted only.
const READ_BYTES_MAX: usize = 1 << 20;

/// One kind of output.
struct Kind {
    name: &'static str,
    /// The programs that print it.
    programs: &'static [&'static str],
    /// Its facts, if the text is of this kind.
    read: fn(&str) -> Option<Reading>,
}

/// What a reader found.
#[derive(Debug, Default, PartialEq)]
struct Reading {
    parsed: Value,
    findings: Vec<Finding>,
    summary: String,
}

/// The order in which kinds are tried where the command does not name one: what has the plainest
/// shape first.
const KINDS: &[Kind] = &[
    json::KIND,
    scan::KIND,
    disks::KIND,
    processes::KIND,
    sockets::KIND,
    addresses::KIND,
    units::KIND,
    units::STATUS,
    listing::KIND,
    log::KIND,
    table::KIND,
];

/// Reads what a command printed. `command` is its line and `exit_code` how it ended, where known.
pub fn analyze(command: Option<&str>, output: &str, exit_code: Option<i32>) -> Analysis {
    let program = command.and_then(words::program);
    let read = &output[..output.floor_char_boundary(READ_BYTES_MAX.min(output.len()))];
    let named = |kind: &&Kind| program.is_some_and(|program| kind.programs.contains(&program));
    let first = KINDS.iter().filter(named);
    let (name, reading) = first
        .chain(KINDS)
        .find_map(|kind| Some((kind.name, (kind.read)(read)?)))
        .unwrap_or_else(|| ("text", text::read(read)));
    let Reading {
        parsed,
        mut findings,
        mut summary,
    } = reading;
    if name != "text" && name != "journal" {
        findings.extend(text::errors(read, MESSAGES_BESIDE));
    }
    if let Some(code) = exit_code.filter(|code| *code != 0) {
        findings.push(finding(
            "exit",
            format!("It ended with {}.", ending(code)),
            Importance::Medium,
        ));
        summary = format!("It ended with {}. {summary}", ending(code));
    }
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.importance));
    findings.truncate(FINDINGS_MAX);
    Analysis {
        format: name.to_owned(),
        parsed,
        findings,
        summary,
        line_count: output.lines().count() as u64,
        byte_count: output.len() as u64,
    }
}

/// Messages of programs that stand beside what another kind prints, such as `Permission denied`.
const MESSAGES_BESIDE: usize = 3;

fn ending(code: i32) -> String {
    match code {
        126 => "exit code 126: it could not be run".to_owned(),
        127 => "exit code 127: there is no such command".to_owned(),
        130 => "exit code 130: it was interrupted".to_owned(),
        137 => "exit code 137: it was killed".to_owned(),
        code => format!("exit code {code}"),
    }
}

fn finding(category: &str, message: impl Into<String>, importance: Importance) -> Finding {
    let mut message = message.into();
    if let Some((at, _)) = message.char_indices().nth(MESSAGE_CHARS_MAX) {
        message.truncate(at);
        message.push('…');
    }
    Finding {
        category: category.to_owned(),
        message,
        importance,
    }
}

/// `1 thing`, `2 things`.
fn count(number: usize, one: &str, many: &str) -> String {
    if number == 1 {
        format!("1 {one}")
    } else {
        format!("{number} {many}")
    }
}

/// Some names, and how many more there are.
fn some(names: &[String], shown: usize) -> String {
    let text = names[..names.len().min(shown)].join(", ");
    match names.len().saturating_sub(shown) {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}

#[cfg(test)]
mod analysis_tests;
