//! Analyzes the output of a command: its format, its facts, and findings that deserve attention.
//! Pure.
//!
//! The format follows from the command and from the shape of the output, never from one alone: each
//! parser decides itself whether the text has its format. The parser that the command names is
//! tried first, then all others.
//!
//! Invariants: every text has a format, at worst `text`; facts and findings are bounded.

mod addresses;
mod disks;
mod json;
mod listing;
mod log;
mod nmap;
mod processes;
pub(crate) mod program_name;
mod sockets;
mod table;
mod text;
mod units;

use hob_wire::analysis::{Importance, OutputAnalysis, OutputFinding};
use serde_json::Value;

/// The most rows of a list in the result.
const ROWS_MAX: usize = 500;
const FINDINGS_MAX: usize = 50;
const MESSAGE_CHARS_MAX: usize = 300;
/// The most bytes of a text that are parsed; the rest is only counted.
const READ_BYTES_MAX: usize = 1 << 20;

/// One format of output.
struct OutputKind {
    name: &'static str,
    /// The programs that print it.
    programs: &'static [&'static str],
    /// Returns the facts, or `None` if the text has another format.
    read: fn(&str) -> Option<ParsedOutput>,
}

/// The result of a parser.
#[derive(Debug, Default, PartialEq)]
struct ParsedOutput {
    parsed: Value,
    findings: Vec<OutputFinding>,
    summary: String,
}

/// The order in which formats are tried if the command does not name one: the most distinctive
/// first.
const KINDS: &[OutputKind] = &[
    json::KIND,
    nmap::KIND,
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

/// Analyzes the output of a command. `command` is its line and `exit_code` its exit code, if known.
pub fn analyze(command: Option<&str>, output: &str, exit_code: Option<i32>) -> OutputAnalysis {
    let program = command.and_then(program_name::printing_program);
    let read = &output[..output.floor_char_boundary(READ_BYTES_MAX.min(output.len()))];
    let named =
        |kind: &&OutputKind| program.is_some_and(|program| kind.programs.contains(&program));
    let first = KINDS.iter().filter(named);
    let (name, parsed_output) = first
        .chain(KINDS)
        .find_map(|kind| Some((kind.name, (kind.read)(read)?)))
        .unwrap_or_else(|| ("text", text::read(read)));
    let ParsedOutput {
        parsed,
        mut findings,
        mut summary,
    } = parsed_output;
    // These two formats report errors themselves.
    if name != "text" && name != "journal" {
        findings.extend(text::errors(read, MESSAGES_BESIDE));
    }
    if let Some(code) = exit_code.filter(|code| *code != 0) {
        findings.push(finding(
            "exit",
            format!("It ended with {}.", describe_exit(code)),
            Importance::Medium,
        ));
        summary = format!("It ended with {}. {summary}", describe_exit(code));
    }
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.importance));
    findings.truncate(FINDINGS_MAX);
    OutputAnalysis {
        format: name.to_owned(),
        parsed,
        findings,
        summary,
        line_count: output.lines().count() as u64,
        byte_count: output.len() as u64,
    }
}

/// The most error messages reported beside another format, such as `Permission denied`.
const MESSAGES_BESIDE: usize = 3;

fn describe_exit(code: i32) -> String {
    match code {
        126 => "exit code 126: it could not be run".to_owned(),
        127 => "exit code 127: there is no such command".to_owned(),
        130 => "exit code 130: it was interrupted".to_owned(),
        137 => "exit code 137: it was killed".to_owned(),
        code => format!("exit code {code}"),
    }
}

fn finding(category: &str, message: impl Into<String>, importance: Importance) -> OutputFinding {
    let mut message = message.into();
    if let Some((at, _)) = message.char_indices().nth(MESSAGE_CHARS_MAX) {
        message.truncate(at);
        message.push('…');
    }
    OutputFinding {
        category: category.to_owned(),
        message,
        importance,
    }
}

/// Returns `1 thing` or `2 things`.
fn count(number: usize, one: &str, many: &str) -> String {
    if number == 1 {
        format!("1 {one}")
    } else {
        format!("{number} {many}")
    }
}

/// Returns some names, and the number of the others.
fn list_some(names: &[String], shown: usize) -> String {
    let text = names[..names.len().min(shown)].join(", ");
    match names.len().saturating_sub(shown) {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}

#[cfg(test)]
mod analysis_tests;
