//! Plain text, and the error messages of programs.

use super::{ParsedOutput, count, finding};
use hob_wire::analysis::{Importance, OutputFinding};
use serde_json::Value;

const LINES_MAX: usize = 20_000;
const ERRORS_MAX: usize = 10;

/// Endings of lines in which programs report errors.
const ENDINGS: &[&str] = &[
    "command not found",
    "Permission denied",
    "No such file or directory",
    "Operation not permitted",
    "No space left on device",
    "Connection refused",
    "Segmentation fault",
    "Segmentation fault (core dumped)",
    "Is a directory",
    "Not a directory",
];

/// Beginnings of such lines.
const BEGINNINGS: &[&str] = &[
    "error:",
    "error[",
    "ERROR:",
    "ERROR ",
    "Error:",
    "fatal:",
    "FATAL:",
    "E: ",
    "panic:",
    "Traceback (most recent call last)",
    "make: ***",
];

pub(super) fn read(text: &str) -> ParsedOutput {
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let findings = errors(text, ERRORS_MAX);
    let summary = match (lines.as_slice(), findings.first()) {
        ([], _) => "It printed nothing.".to_owned(),
        (lines, Some(finding)) => {
            format!(
                "{}, with an error: {}",
                count(lines.len(), "line", "lines"),
                finding.message
            )
        }
        ([line], None) => format!("One line: {}", clip(line)),
        ([.., last], None) => format!("{} lines of text, the last: {}", lines.len(), clip(last)),
    };
    ParsedOutput {
        parsed: Value::Null,
        findings,
        summary,
    }
}

/// Returns the lines in which a program reports an error.
pub(super) fn errors(text: &str, most: usize) -> Vec<OutputFinding> {
    let lines = text
        .lines()
        .take(LINES_MAX)
        .map(str::trim)
        .filter(|line| is_error(line));
    lines
        .take(most)
        .map(|line| finding("error", line, Importance::High))
        .collect()
}

fn is_error(line: &str) -> bool {
    let end = line.trim_end_matches('.');
    BEGINNINGS.iter().any(|begin| line.starts_with(begin))
        || ENDINGS.iter().any(|last| {
            // Programs put their name before the message: `ls: x: Permission denied`.
            end.strip_suffix(last)
                .is_some_and(|before| before.is_empty() || before.ends_with(": "))
        })
        || (line.starts_with("thread '") && line.contains("' panicked at "))
}

fn clip(line: &str) -> String {
    const SHOWN: usize = 120;
    let line = line.trim();
    match line.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}
