//! What a person is asked about a call, and what the model is told of its end. Pure.

use super::Wish;
use crate::outcome::{failed, said};
use hob_wire::rooms::terminal::{
    Captured, CommandState, Terminal, TerminalCommand, TerminalState, Terminals,
};
use hob_wire::rooms::tool::Executed;
use serde_json::{Value, json};

/// What every approval says: nothing of `exec`'s sandbox is here.
const NO_WALLS: &str = "walls: none; it runs as you, with all your shell can reach";

/// What a call would do, for a person.
pub(super) fn preview(name: &str, wish: &Wish, found: Option<&Terminal>) -> String {
    let mut lines = Vec::new();
    match wish {
        Wish::Run(order) => {
            lines.push(format!("$ {}", continued(&order.command)));
            lines.push(format!("why: {}", order.reason.replace('\n', " ")));
            if let Some(timeout_ms) = order.timeout_ms {
                lines.push(format!("interrupted after: {timeout_ms} ms"));
            }
        }
        Wish::Keys { text, keys } => {
            if !text.is_empty() {
                lines.push(format!("types: {}", continued(text)));
            }
            if !keys.is_empty() {
                lines.push(format!("presses: {}", keys.join(" ")));
            }
        }
        Wish::Capture { lines: past } => {
            lines.push(format!(
                "looks at the screen and up to {past} lines before it"
            ));
        }
        Wish::List => lines.push("lists the terminals and their folders".to_owned()),
    }
    if *wish != Wish::List {
        lines.push(format!("terminal: {name} ({})", doing(found)));
        let folder = found.map(|terminal| terminal.folder.as_deref().unwrap_or("not known yet"));
        lines.push(format!("in: {}", folder.unwrap_or("your home folder")));
    }
    if matches!(wish, Wish::Run(_) | Wish::Keys { .. }) {
        lines.push(NO_WALLS.to_owned());
    }
    lines.join("\n")
}

/// Text whose further lines show that they are: none can pass for a line of the approval.
fn continued(text: &str) -> String {
    text.replace('\n', "\n> ")
}

fn doing(found: Option<&Terminal>) -> String {
    let Some(terminal) = found else {
        return "not there yet; it is made".to_owned();
    };
    match (terminal.state, terminal.queued) {
        (TerminalState::Busy, 0) => "busy; it waits for its turn".to_owned(),
        (TerminalState::Busy, queued) => format!("busy, {queued} waiting; it waits for its turn"),
        _ => "idle".to_owned(),
    }
}

/// A command that ended, as the model is told.
pub(super) fn ended(command: &TerminalCommand) -> Executed {
    let mut text = printed(command);
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
        (CommandState::Queued | CommandState::Running, _) => return runs_on(command),
    };
    text.push_str(&last);
    let is_error = command.state != CommandState::Done;
    let told = if is_error { failed(text) } else { said(text) };
    Executed {
        metadata: Some(facts(command)),
        ..told
    }
}

/// A command that outlives its call.
pub(super) fn runs_on(command: &TerminalCommand) -> Executed {
    let mut text = printed(command);
    text.push_str("(It still runs and goes on; the action capture shows it.)");
    Executed {
        metadata: Some(facts(command)),
        ..said(text)
    }
}

fn printed(command: &TerminalCommand) -> String {
    let mut text = command.output.clone().unwrap_or_default();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

fn facts(command: &TerminalCommand) -> Value {
    json!({
        "terminal": command.terminal, "commandId": command.id, "state": command.state,
        "exitCode": command.exit_code, "durationMs": command.duration_ms,
        "bytes": command.output_bytes,
    })
}

/// What a terminal shows.
pub(super) fn screen(screen: &Captured) -> Executed {
    let mut text = match screen.text.trim() {
        "" => "(it is empty)".to_owned(),
        _ => screen.text.clone(),
    };
    if screen.full_screen {
        text.push_str("\n(A program has the whole screen.)");
    }
    Executed {
        metadata: Some(json!({
            "terminal": screen.name, "lines": screen.lines, "fullScreen": screen.full_screen,
            "cursorRow": screen.cursor_row, "cursorColumn": screen.cursor_column,
        })),
        ..said(text)
    }
}

/// The terminals there are, one a line.
pub(super) fn list(all: &Terminals) -> Vec<String> {
    if let Some(problem) = &all.problem {
        return vec![problem.clone()];
    }
    if all.terminals.is_empty() {
        return vec!["There are no terminals; running something makes one.".to_owned()];
    }
    let lines = all.terminals.iter().map(|terminal| {
        let state = json!(terminal.state);
        let state = state.as_str().unwrap_or_default();
        let folder = terminal.folder.as_deref().unwrap_or("-");
        format!("{}\t{state}\t{folder}", terminal.name)
    });
    lines.collect()
}
