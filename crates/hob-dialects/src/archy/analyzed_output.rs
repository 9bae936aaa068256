//! Analyzed output in Archy's format: facts for programs and a display text for people.
//!
//! Invariant: status and exit code come from the shell and are never guessed from the output.

use crate::archy::structured_facts;
use crate::archy::types::{
    ArchyAnalysis, ArchyAnswer, ArchyFinding, ArchyMetadata, ArchyParsed, ArchyResponse,
    ArchyStatus, COMMAND_TIMEOUT,
};
use hob_wire::analysis::{Importance, OutputAnalysis, OutputFinding};
use hob_wire::rooms::terminal::{CommandState, TerminalCommand};
use serde_json::{Value, json};
use std::fmt::Write;

/// Maximum bytes of a capture. An answer repeats it several times, and Archy's clients read 10 MB.
const TEXT_BYTES_MAX: usize = 1024 * 1024;
/// Maximum lines of output in the display text.
const DISPLAY_LINES_MAX: usize = 200;

const BOLD: &str = "\x1b[1m";
const RED: &str = "\x1b[31m";
const YELLOW: &str = "\x1b[33m";
const GREEN: &str = "\x1b[32m";
const PLAIN: &str = "\x1b[0m";

/// The answer for a command that ended.
pub(crate) fn finished(
    command: &str,
    ended: TerminalCommand,
    read: Option<OutputAnalysis>,
) -> ArchyAnswer {
    let by_itself = ended.state == CommandState::Done;
    // Archy reports -1 for a command that did not end by itself.
    let exit_code = ended.exit_code.filter(|_| by_itself).unwrap_or(-1);
    let told = || format!("The command ended with exit code {exit_code}.");
    // Archy's clients show the output only of what succeeded, so a command that ran to its end is a
    // success whatever its exit code; `status` and `exit_code` say how it ended.
    let error = (!by_itself).then(|| ended.detail.unwrap_or_else(told));
    let outcome = ArchyOutcome {
        success: by_itself,
        status: if exit_code == 0 {
            ArchyStatus::Success
        } else {
            ArchyStatus::Error
        },
        exit_code: Some(exit_code),
        duration_ms: ended.duration_ms,
        error,
    };
    outcome.into_answer(command, ended.output.unwrap_or_default(), read)
}

/// The answer for a screen's content, whose exit code is unknown.
pub(crate) fn captured(command: &str, text: String, read: Option<OutputAnalysis>) -> ArchyAnswer {
    let outcome = ArchyOutcome {
        success: true,
        status: ArchyStatus::Success,
        exit_code: None,
        duration_ms: None,
        error: None,
    };
    outcome.into_answer(command, text, read)
}

/// The answer for a command that did not end in time.
pub(crate) fn timed_out(command: &str, running: TerminalCommand) -> ArchyAnswer {
    let output = running.output.unwrap_or_default();
    let facts = json!({ "timeout": true, "partial_output": output });
    without_analysis(
        command,
        ArchyStatus::Timeout,
        COMMAND_TIMEOUT,
        facts,
        output,
    )
}

/// The answer for a request that failed.
pub(crate) fn failed(command: &str, why: &str) -> ArchyAnswer {
    let facts = json!({ "error": why });
    without_analysis(command, ArchyStatus::Error, why, facts, String::new())
}

/// Returns the end of a long text, starting at a line's beginning.
pub(crate) fn tail(text: &str) -> &str {
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

/// The outcome of a command, without its output.
struct ArchyOutcome {
    success: bool,
    status: ArchyStatus,
    exit_code: Option<i32>,
    duration_ms: Option<u64>,
    error: Option<String>,
}

impl ArchyOutcome {
    /// What a person reads of a failure.
    fn failure(&self) -> Option<String> {
        let code = self.exit_code.filter(|code| *code != 0)?;
        let told = || format!("The command ended with exit code {code}.");
        Some(self.error.clone().unwrap_or_else(told))
    }

    fn into_answer(
        self,
        command: &str,
        output: String,
        read: Option<OutputAnalysis>,
    ) -> ArchyAnswer {
        let read = read.unwrap_or_else(|| plain_text_analysis(&output));
        let metadata = ArchyMetadata {
            line_count: read.line_count,
            byte_count: read.byte_count,
            duration_ms: self.duration_ms,
            format_detected: structured_facts::format_name(&read, command).to_owned(),
        };
        let structured = structured_facts::structured(&read, command, &output);
        let findings: Vec<ArchyFinding> = read.findings.iter().map(ArchyFinding::from).collect();
        let parsed = ArchyParsed {
            status: self.status,
            structured: structured.clone(),
            findings: findings.clone(),
            summary: read.summary.clone(),
            metadata: metadata.clone(),
            raw_output: output.clone(),
        };
        let shown = |colours| {
            let mut shown = DisplayText::new(command, colours);
            shown.output(&output);
            shown.findings(&read.findings);
            shown.end(self.failure().as_deref(), &read.summary);
            shown.text
        };
        ArchyAnswer::Analyzed(Box::new(ArchyAnalysis {
            display: shown(true),
            display_plain: shown(false),
            plain: ArchyResponse {
                success: self.success,
                output: Some(output.clone()),
                error: self.error,
                exists: None,
            },
            command: command.to_owned(),
            status: self.status,
            exit_code: self.exit_code,
            structured,
            findings,
            summary: read.summary,
            metadata,
            parsed: Some(parsed),
            raw_output: output,
        }))
    }
}

fn without_analysis(
    command: &str,
    status: ArchyStatus,
    why: &str,
    facts: Value,
    output: String,
) -> ArchyAnswer {
    let shown = |colours| {
        let mut shown = DisplayText::new(command, colours);
        shown.end(Some(why), "");
        shown.text
    };
    let counted = plain_text_analysis(&output);
    let (summary, format) = match status {
        ArchyStatus::Timeout => ("Command timeout".to_owned(), "timeout"),
        _ => (format!("Error: {why}"), "error"),
    };
    ArchyAnswer::Analyzed(Box::new(ArchyAnalysis {
        display: shown(true),
        display_plain: shown(false),
        plain: ArchyResponse {
            output: (!output.is_empty()).then(|| output.clone()),
            ..ArchyResponse::failed(why)
        },
        command: command.to_owned(),
        status,
        exit_code: Some(-1),
        structured: facts,
        findings: Vec::new(),
        summary,
        metadata: ArchyMetadata {
            line_count: counted.line_count,
            byte_count: counted.byte_count,
            duration_ms: None,
            format_detected: format.to_owned(),
        },
        parsed: None,
        raw_output: output,
    }))
}

/// The analysis of output that no parser recognizes.
fn plain_text_analysis(output: &str) -> OutputAnalysis {
    let line_count = output.lines().count() as u64;
    OutputAnalysis {
        format: "text".to_owned(),
        parsed: Value::Null,
        findings: Vec::new(),
        summary: format!("{line_count} lines of output"),
        line_count,
        byte_count: output.len() as u64,
    }
}

/// A builder of the display text.
struct DisplayText {
    text: String,
    colours: bool,
}

impl DisplayText {
    fn new(command: &str, colours: bool) -> DisplayText {
        let mut shown = DisplayText {
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

    fn findings(&mut self, findings: &[OutputFinding]) {
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
#[path = "analyzed_output_tests.rs"]
mod tests;
