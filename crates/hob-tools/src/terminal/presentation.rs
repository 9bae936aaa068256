//! The preview of a call for a person, and the answers to the model. Pure.

use super::TerminalRequest;
use crate::outcome::{failed, succeeded};
use hob_wire::rooms::terminal::{
    CommandState, TerminalCaptureResult, TerminalCommand, TerminalInfo, TerminalListResult,
    TerminalState,
};
use hob_wire::rooms::tool::ToolExecuteResult;
use serde_json::{Value, json};

/// A line in every approval: the sandbox of `exec` does not apply here.
const NOT_SANDBOXED: &str = "Not sandboxed: runs with your full access";

/// Describes a call for a person.
pub(super) fn preview(
    name: &str,
    request: &TerminalRequest,
    found: Option<&TerminalInfo>,
) -> String {
    let mut lines = Vec::new();
    match request {
        TerminalRequest::Run(line) => {
            lines.push(format!("$ {}", mark_continuation_lines(&line.command)));
            lines.push(format!("why: {}", line.reason.replace('\n', " ")));
            if let Some(timeout_ms) = line.timeout_ms {
                lines.push(format!("interrupted after: {timeout_ms} ms"));
            }
        }
        TerminalRequest::Keys { text, keys } => {
            if !text.is_empty() {
                lines.push(format!("types: {}", mark_continuation_lines(text)));
            }
            if !keys.is_empty() {
                lines.push(format!("presses: {}", keys.join(" ")));
            }
        }
        TerminalRequest::Capture { lines: past } => {
            lines.push(format!(
                "looks at the screen and up to {past} lines before it"
            ));
        }
        TerminalRequest::List => lines.push("lists the terminals and their folders".to_owned()),
    }
    if *request != TerminalRequest::List {
        lines.push(format!("terminal: {name} ({})", terminal_activity(found)));
        let folder = found.map(|terminal| terminal.folder.as_deref().unwrap_or("not known yet"));
        lines.push(format!("in: {}", folder.unwrap_or("your home folder")));
    }
    if matches!(
        request,
        TerminalRequest::Run(_) | TerminalRequest::Keys { .. }
    ) {
        lines.push(NOT_SANDBOXED.to_owned());
    }
    lines.join("\n")
}

/// Prefixes continuation lines, so that none can pass for a line of the approval.
fn mark_continuation_lines(text: &str) -> String {
    text.replace('\n', "\n> ")
}

fn terminal_activity(found: Option<&TerminalInfo>) -> String {
    let Some(terminal) = found else {
        return "does not exist yet; it will be created".to_owned();
    };
    match (terminal.state, terminal.queued) {
        (TerminalState::Busy, 0) => "busy; it waits for its turn".to_owned(),
        (TerminalState::Busy, queued) => format!("busy, {queued} waiting; it waits for its turn"),
        _ => "idle".to_owned(),
    }
}

/// The answer for a command that ended.
pub(super) fn ended_answer(command: &TerminalCommand) -> ToolExecuteResult {
    let mut text = output_text(command);
    let detail = command.detail.as_deref().unwrap_or_default();
    let or = |usual: &str| match detail {
        "" => format!("({usual})"),
        detail => format!("({detail})"),
    };
    let last = match (command.state, command.exit_code) {
        (CommandState::Done, Some(0)) if !detail.is_empty() => or(""),
        (CommandState::Done, Some(0)) if text.is_empty() => "(no output)".to_owned(),
        (CommandState::Done, Some(0)) => String::new(),
        (CommandState::Done, Some(code)) if detail.is_empty() => format!("(exit code {code})"),
        (CommandState::Done, Some(code)) => format!("({detail})\n(exit code {code})"),
        (CommandState::Done, None) => or("it ended; with which exit code is not known"),
        (CommandState::Cancelled, _) if command.started_at.is_none() => {
            or("it was dropped before it began: the terminal was busy")
        }
        (CommandState::Cancelled, _) => or("it was interrupted"),
        (CommandState::Timeout, _) => or("it took longer than allowed and was interrupted"),
        (CommandState::Lost, _) => or("the terminal went away under it"),
        (CommandState::Queued | CommandState::Running, _) => return still_running_answer(command),
    };
    text.push_str(&last);
    let is_error = command.state != CommandState::Done;
    let answer = if is_error {
        failed(text)
    } else {
        succeeded(text)
    };
    ToolExecuteResult {
        metadata: Some(command_metadata(command)),
        ..answer
    }
}

/// The answer for a command that outlives its call.
pub(super) fn still_running_answer(command: &TerminalCommand) -> ToolExecuteResult {
    let mut text = output_text(command);
    text.push_str("(It still runs and goes on; the action capture shows it.)");
    ToolExecuteResult {
        metadata: Some(command_metadata(command)),
        ..succeeded(text)
    }
}

fn output_text(command: &TerminalCommand) -> String {
    let mut text = command.output.clone().unwrap_or_default();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

fn command_metadata(command: &TerminalCommand) -> Value {
    json!({
        "terminal": command.terminal, "commandId": command.id, "state": command.state,
        "exitCode": command.exit_code, "durationMs": command.duration_ms,
        "bytes": command.output_bytes,
    })
}

/// The answer with the screen of a terminal.
pub(super) fn screen_answer(screen: &TerminalCaptureResult) -> ToolExecuteResult {
    let mut text = match screen.text.trim() {
        "" => "(it is empty)".to_owned(),
        _ => screen.text.clone(),
    };
    if screen.full_screen {
        text.push_str("\n(A program has the whole screen.)");
    }
    ToolExecuteResult {
        metadata: Some(json!({
            "terminal": screen.name, "lines": screen.lines, "fullScreen": screen.full_screen,
            "cursorRow": screen.cursor_row, "cursorColumn": screen.cursor_column,
        })),
        ..succeeded(text)
    }
}

/// The terminals, one per line.
pub(super) fn terminal_lines(all: &TerminalListResult) -> Vec<String> {
    if let Some(problem) = &all.problem {
        return vec![problem.clone()];
    }
    if all.terminals.is_empty() {
        return vec!["There are no terminals; running a command creates one.".to_owned()];
    }
    let lines = all.terminals.iter().map(|terminal| {
        let state = json!(terminal.state);
        let state = state.as_str().unwrap_or_default();
        let folder = terminal.folder.as_deref().unwrap_or("-");
        format!("{}\t{state}\t{folder}", terminal.name)
    });
    lines.collect()
}
