//! Output that was looked at, in Archy's form: facts for programs and a text for eyes.
//!
//! Invariant: success and exit code are what the shell said, never guessed from the output.

use hob_wire::analysis::{Analysis, Finding, Importance};
use hob_wire::archy::{Analyzed, Answer, COMMAND_TIMEOUT, Metadata, Parsed, Response, Status};
use hob_wire::rooms::terminal::{CommandState, TerminalCommand};
use serde_json::{Value, json};
use std::fmt::Write;

/// Of a capture; an answer holds it several times, and Archy's clients read 10 MB.
const TEXT_BYTES_MAX: usize = 1024 * 1024;
/// Lines of the output that are shown for eyes.
const DISPLAY_LINES_MAX: usize = 200;

const BOLD: &str = "\x1b[1m";
const RED: &str = "\x1b[31m";
const YELLOW: &str = "\x1b[33m";
const GREEN: &str = "\x1b[32m";
const PLAIN: &str = "\x1b[0m";

/// A command that ended.
pub(crate) fn done(command: &str, ended: TerminalCommand, read: Option<Analysis>) -> Answer {
    let by_itself = ended.state == CommandState::Done;
    let success = by_itself && ended.exit_code == Some(0);
    let exit_code = ended.exit_code.filter(|_| by_itself).unwrap_or(-1);
    let error = match (success, ended.detail) {
        (true, _) => None,
        (false, Some(detail)) => Some(detail),
        (false, None) => Some(format!("The command ended with exit code {exit_code}.")),
    };
    let told = Told {
        status: if success {
            Status::Success
        } else {
            Status::Error
        },
        exit_code: Some(exit_code),
        duration_ms: ended.duration_ms,
        error,
    };
    told.of(command, ended.output.unwrap_or_default(), read)
}

/// What is on a screen; nobody knows how it ended.
pub(crate) fn seen(command: &str, text: String, read: Option<Analysis>) -> Answer {
    let told = Told {
        status: Status::Success,
        exit_code: None,
        duration_ms: None,
        error: None,
    };
    told.of(command, text, read)
}

/// A command that had not ended when the time to wait was over.
pub(crate) fn timed_out(command: &str, running: TerminalCommand) -> Answer {
    let output = running.output.unwrap_or_default();
    let facts = json!({ "timeout": true, "partial_output": output });
    unread(command, Status::Timeout, COMMAND_TIMEOUT, facts, output)
}

/// A request that came to nothing.
pub(crate) fn failed(command: &str, why: &str) -> Answer {
    let facts = json!({ "error": why });
    unread(command, Status::Error, why, facts, String::new())
}

/// The end of a long text, from the beginning of a line on.
pub(crate) fn latest(text: &str) -> &str {
    if text.len() <= TEXT_BYTES_MAX {
        return text;
    }
    let mut from = text.len() - TEXT_BYTES_MAX;
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let cut = &text[from..];
    cut.split_once('\n').map_or(cut, |(_, rest)| rest)
}

struct Told {
    status: Status,
    exit_code: Option<i32>,
    duration_ms: Option<u64>,
    error: Option<String>,
}

impl Told {
    fn of(self, command: &str, output: String, read: Option<Analysis>) -> Answer {
        let read = read.unwrap_or_else(|| nothing_read(&output));
        let metadata = Metadata {
            line_count: read.line_count,
            byte_count: read.byte_count,
            duration_ms: self.duration_ms,
            format_detected: read.format,
        };
        let structured = match read.parsed {
            Value::Null => json!({}),
            facts => facts,
        };
        let parsed = Parsed {
            status: self.status,
            structured: structured.clone(),
            findings: read.findings.clone(),
            summary: read.summary.clone(),
            metadata: metadata.clone(),
            raw_output: output.clone(),
        };
        let shown = |colours| {
            let mut shown = Shown::new(command, colours);
            shown.output(&output);
            shown.findings(&read.findings);
            shown.end(self.error.as_deref(), &read.summary);
            shown.text
        };
        Answer::Analyzed(Box::new(Analyzed {
            display: shown(true),
            display_plain: shown(false),
            plain: Response {
                success: self.status == Status::Success,
                output: Some(output.clone()),
                error: self.error,
                exists: None,
            },
            command: command.to_owned(),
            status: self.status,
            exit_code: self.exit_code,
            structured,
            findings: read.findings,
            summary: read.summary,
            metadata,
            parsed: Some(parsed),
            raw_output: output,
        }))
    }
}

fn unread(command: &str, status: Status, why: &str, facts: Value, output: String) -> Answer {
    let shown = |colours| {
        let mut shown = Shown::new(command, colours);
        shown.end(Some(why), "");
        shown.text
    };
    let counted = nothing_read(&output);
    let (summary, format) = match status {
        Status::Timeout => ("Command timeout".to_owned(), "timeout"),
        _ => (format!("Error: {why}"), "error"),
    };
    Answer::Analyzed(Box::new(Analyzed {
        display: shown(true),
        display_plain: shown(false),
        plain: Response {
            output: (!output.is_empty()).then(|| output.clone()),
            ..Response::failed(why)
        },
        command: command.to_owned(),
        status,
        exit_code: Some(-1),
        structured: facts,
        findings: Vec::new(),
        summary,
        metadata: Metadata {
            line_count: counted.line_count,
            byte_count: counted.byte_count,
            duration_ms: None,
            format_detected: format.to_owned(),
        },
        parsed: None,
        raw_output: output,
    }))
}

/// Where nothing could be read out of it, it is a text.
fn nothing_read(output: &str) -> Analysis {
    let line_count = output.lines().count() as u64;
    Analysis {
        format: "text".to_owned(),
        parsed: Value::Null,
        findings: Vec::new(),
        summary: format!("{line_count} lines of output"),
        line_count,
        byte_count: output.len() as u64,
    }
}

/// The text for eyes as it grows.
struct Shown {
    text: String,
    colours: bool,
}

impl Shown {
    fn new(command: &str, colours: bool) -> Shown {
        let mut shown = Shown {
            text: String::new(),
            colours,
        };
        if !command.is_empty() {
            shown.line(BOLD, &format!("$ {command}"));
        }
        shown
    }

    fn line(&mut self, colour: &str, text: &str) {
        let _ = if self.colours && !colour.is_empty() {
            writeln!(self.text, "{colour}{text}{PLAIN}")
        } else {
            writeln!(self.text, "{text}")
        };
    }

    fn output(&mut self, output: &str) {
        let mut lines = output.lines();
        for line in lines.by_ref().take(DISPLAY_LINES_MAX) {
            self.line("", line);
        }
        let more = lines.count();
        if more > 0 {
            self.line("", &format!("… {more} more lines"));
        }
    }

    fn findings(&mut self, findings: &[Finding]) {
        for finding in findings {
            let colour = match finding.importance {
                Importance::Critical | Importance::High => RED,
                Importance::Medium => YELLOW,
                Importance::Low => "",
            };
            self.line(colour, &format!("! {}", finding.message));
        }
    }

    fn end(&mut self, error: Option<&str>, summary: &str) {
        match error {
            Some(why) => self.line(RED, &format!("✗ {why}")),
            None => self.line(GREEN, &format!("✓ {summary}")),
        }
    }
}

#[cfg(test)]
#[path = "analyzed_tests.rs"]
mod tests;
