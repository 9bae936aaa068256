//! Formats shared terminals: the list, their command history, and the results of requests. Pure.

use super::table::TextTable;
use super::text::{bytes, count_noun, one_line, replace_hidden, wrap};
use super::{ScreenStyle, TextTone, runs, time};
use hob_wire::CommandId;
use hob_wire::rooms::terminal::{
    CommandOrigin, CommandState, TerminalCancelResult, TerminalCaptureResult, TerminalCloseResult,
    TerminalCommand, TerminalHistoryResult, TerminalListResult, TerminalOpenResult, TerminalState,
};

/// Below this width a table shows only the most important columns.
const ROOMY: usize = 60;

fn is_narrow(screen: &ScreenStyle) -> bool {
    screen.width.is_some_and(|columns| columns < ROOMY)
}

/// The list of terminals, then the reason why none can be created.
pub fn list(found: &TerminalListResult, screen: &ScreenStyle) -> Vec<String> {
    let mut table = TextTable::new().column("NAME").column("STATE");
    if !is_narrow(screen) {
        table = table.number("ATTACHED").number("WAITING");
    }
    table = table.column("FOLDER");
    for terminal in &found.terminals {
        let number = |count: u32| match count {
            0 => String::new(),
            count => count.to_string(),
        };
        let mut row = vec![one_line(&terminal.name), state(terminal.state).to_owned()];
        if !is_narrow(screen) {
            row.extend([number(terminal.attached), number(terminal.queued)]);
        }
        row.push(match (&terminal.folder, &terminal.detail) {
            (_, Some(detail)) if !is_alive(terminal.state) => one_line(detail),
            (Some(folder), _) => one_line(folder),
            (None, _) => String::new(),
        });
        table.row(row);
    }
    let mut lines = if table.is_empty() {
        vec!["There are no terminals yet; `hob terminal attach` creates one.".to_owned()]
    } else {
        table.lines(screen)
    };
    if let Some(problem) = &found.problem {
        if table.is_empty() {
            lines.clear();
        }
        let room = screen.width.unwrap_or(usize::MAX);
        let wrapped = wrap(&one_line(problem), room);
        lines.extend(
            wrapped
                .iter()
                .map(|line| screen.paint(TextTone::Warning, line)),
        );
    }
    lines
}

fn is_alive(state: TerminalState) -> bool {
    !matches!(state, TerminalState::Lost | TerminalState::Closed)
}

fn state(state: TerminalState) -> &'static str {
    match state {
        TerminalState::Starting => "starting",
        TerminalState::Idle => "idle",
        TerminalState::Busy => "busy",
        TerminalState::Lost => "lost",
        TerminalState::Closed => "closed",
    }
}

/// The commands of one terminal, newest last, like a shell's history.
pub fn history(page: &TerminalHistoryResult, screen: &ScreenStyle) -> Vec<String> {
    commands(page, false, screen)
}

/// The commands of all terminals.
pub fn histories(page: &TerminalHistoryResult, screen: &ScreenStyle) -> Vec<String> {
    let mut names = page.commands.iter().map(|command| &command.terminal);
    let first = names.next();
    let are_several = names.any(|name| Some(name) != first);
    commands(page, are_several, screen)
}

fn commands(page: &TerminalHistoryResult, named: bool, screen: &ScreenStyle) -> Vec<String> {
    if page.commands.is_empty() {
        return vec!["Nothing was run yet; `hob terminal run uptime` does.".to_owned()];
    }
    let mut lines = if is_narrow(screen) {
        let mut table = TextTable::new()
            .column("ID")
            .column("END")
            .column("COMMAND");
        for command in page.commands.iter().rev() {
            table.row(vec![short_id(command.id), end(command), line(command)]);
        }
        table.lines(screen)
    } else {
        roomy(page, named, screen)
    };
    if page.more {
        let more = "Older ones: -n shows more of them.";
        lines.push(screen.paint(TextTone::Quiet, more));
    }
    lines
}

/// The table of commands with all columns.
fn roomy(page: &TerminalHistoryResult, named: bool, screen: &ScreenStyle) -> Vec<String> {
    let mut table = TextTable::new().column("ID").column("WHEN");
    if named {
        table = table.column("TERMINAL");
    }
    table = table
        .column("BY")
        .column("END")
        .number("TOOK")
        .column("COMMAND");
    for command in page.commands.iter().rev() {
        let at = command.started_at.unwrap_or(command.queued_at);
        let mut row = vec![short_id(command.id), time::short(at, screen)];
        if named {
            row.push(one_line(&command.terminal));
        }
        row.extend([
            by(command.by).to_owned(),
            end(command),
            command.duration_ms.map(time::span).unwrap_or_default(),
            line(command),
        ]);
        table.row(row);
    }
    table.lines(screen)
}

/// The end of a command's id, where ids differ.
pub fn short_id(id: CommandId) -> String {
    let id = id.0.simple().to_string();
    id[id.len() - runs::SHORT_ID_LETTERS..].to_owned()
}

fn by(by: CommandOrigin) -> &'static str {
    match by {
        CommandOrigin::Person => "you",
        CommandOrigin::Client => "client",
        CommandOrigin::Model => "model",
    }
}

/// The exit code or the state of a command.
fn end(command: &TerminalCommand) -> String {
    match (command.state, command.exit_code) {
        (CommandState::Queued, _) => "waits".to_owned(),
        (CommandState::Running, _) => "runs".to_owned(),
        (CommandState::Done, Some(0)) => "ok".to_owned(),
        (CommandState::Done, Some(code)) => format!("exit {code}"),
        (CommandState::Done, None) => "ended".to_owned(),
        (CommandState::Cancelled, _) => "cancelled".to_owned(),
        (CommandState::Timeout, _) => "timeout".to_owned(),
        (CommandState::Lost, _) => "lost".to_owned(),
    }
}

fn line(command: &TerminalCommand) -> String {
    match &command.command {
        Some(line) => one_line(line),
        None => "(kept out of the history)".to_owned(),
    }
}

/// One command with its output.
pub fn command(command: &TerminalCommand, screen: &ScreenStyle) -> Vec<String> {
    let at = command.started_at.unwrap_or(command.queued_at);
    let mut about = vec![
        format!("by {}", by(command.by)),
        format!("in {}", one_line(&command.terminal)),
        time::local(at, screen),
        end(command),
    ];
    about.extend(command.duration_ms.map(time::span));
    about.push(bytes(command.output_bytes));
    let room = screen.width.unwrap_or(usize::MAX);
    let mut lines = vec![screen.paint(TextTone::Heading, &format!("$ {}", line(command)))];
    let quiet = |lines: &mut Vec<String>, words: &str| {
        let wrapped = wrap(words, room);
        lines.extend(wrapped.iter().map(|it| screen.paint(TextTone::Quiet, it)));
    };
    quiet(&mut lines, &about.join(" · "));
    for words in [&command.reason, &command.detail].into_iter().flatten() {
        quiet(&mut lines, &one_line(words));
    }
    let output = replace_hidden(command.output.as_deref().unwrap_or_default());
    if !output.is_empty() {
        lines.push(String::new());
        lines.extend(output.lines().map(str::to_owned));
    }
    lines
}

/// The confirmation of a command that continues in the background.
pub fn queued(command: &TerminalCommand, screen: &ScreenStyle) -> Vec<String> {
    let id = short_id(command.id);
    let name = one_line(&command.terminal);
    let words = format!("{name} has it; how it ended: hob terminal history --id {id}");
    wrap(&words, screen.width.unwrap_or(usize::MAX))
}

/// The content of a terminal, unchanged.
pub fn captured(captured: &TerminalCaptureResult, _: &ScreenStyle) -> Vec<String> {
    replace_hidden(&captured.text)
        .lines()
        .map(str::to_owned)
        .collect()
}

pub fn cancelled(cancelled: &TerminalCancelResult, _: &ScreenStyle) -> Vec<String> {
    let name = one_line(&cancelled.name);
    let ended = cancelled.ended.len() as u64;
    vec![match ended {
        0 => format!("Nothing of hob's runs or waits in {name}."),
        ended => format!("Ended {} in {name}.", count_noun(ended, "command")),
    }]
}

pub fn opened(opened: &TerminalOpenResult, _: &ScreenStyle) -> Vec<String> {
    let name = one_line(&opened.name);
    let program = one_line(&opened.program);
    vec![if opened.opened {
        format!("{name} is open in a window of {program}.")
    } else {
        format!("{name} is open in a window of {program} already; --another opens one more.")
    }]
}

pub fn closed(closed: &TerminalCloseResult, _: &ScreenStyle) -> Vec<String> {
    let name = one_line(&closed.name);
    let windows = match closed.windows {
        0 => String::new(),
        windows => format!(" and {}", count_noun(u64::from(windows), "window")),
    };
    vec![match (closed.terminal, closed.windows) {
        (true, _) => format!("Closed {name}{windows}."),
        (false, 0) => format!("hob has no window open on {name}."),
        (false, windows) => format!(
            "Closed {} on {name}; the terminal stays.",
            count_noun(u64::from(windows), "window")
        ),
    }]
}

#[cfg(test)]
#[path = "terminals_tests.rs"]
mod tests;
