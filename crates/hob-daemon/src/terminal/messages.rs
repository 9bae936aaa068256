//! Checks of request parameters, and the sentences about commands and terminals. Pure.

use hob_core::terminal::command_scheduler::{CommandEndReason, TerminalEnd};
use hob_wire::limits::{TERMINAL_BATCH_MAX, TERMINAL_COMMAND_CHARS_MAX};
use hob_wire::rooms::terminal::{DEFAULT_TERMINAL, TerminalExecuteParams};
use hob_wire::{ErrorCode, WireError};

const NAME_CHARS_MAX: usize = 64;
/// The longest `reason` of a command, in characters.
const REASON_CHARS_MAX: usize = 1_000;

/// Returns the terminal's name, or the default one, if it is valid.
pub(super) fn check_name(given: Option<&str>) -> Result<&str, WireError> {
    let name = given.unwrap_or(DEFAULT_TERMINAL);
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > NAME_CHARS_MAX || !name.chars().all(allowed) {
        return Err(invalid(format!(
            "A terminal's name is 1 to {NAME_CHARS_MAX} letters, digits, '-' and '_'."
        )));
    }
    Ok(name)
}

/// Returns the commands of a request, if they are valid.
pub(super) fn check_commands(params: &TerminalExecuteParams) -> Result<Vec<String>, WireError> {
    let commands = match (&params.command, params.commands.is_empty()) {
        (Some(command), true) => vec![command.clone()],
        (None, false) => params.commands.clone(),
        _ => return Err(invalid("Give either `command` or `commands`.".to_owned())),
    };
    if commands.len() > TERMINAL_BATCH_MAX {
        return Err(invalid(format!(
            "A request has at most {TERMINAL_BATCH_MAX} commands, not {}.",
            commands.len()
        )));
    }
    for command in &commands {
        let chars = command.chars().count();
        if command.trim().is_empty() {
            return Err(invalid("A command must not be empty.".to_owned()));
        }
        if chars > TERMINAL_COMMAND_CHARS_MAX {
            return Err(invalid(format!(
                "A command has at most {TERMINAL_COMMAND_CHARS_MAX} characters, not {chars}."
            )));
        }
        // No shell can hold a zero byte in a command line.
        if command.contains('\0') {
            return Err(invalid(
                "A command must not contain a zero byte.".to_owned(),
            ));
        }
    }
    let reason = params.reason.as_ref();
    if reason.is_some_and(|reason| reason.chars().count() > REASON_CHARS_MAX) {
        let message = format!("`reason` has at most {REASON_CHARS_MAX} characters.");
        return Err(invalid(message));
    }
    Ok(commands)
}

/// Explains why a command ended as it did.
pub(super) fn describe_end(why: CommandEndReason) -> String {
    let text = match why {
        CommandEndReason::Dropped => "It was dropped before it began.",
        CommandEndReason::ChainFailed => "It was dropped because an earlier command failed.",
        CommandEndReason::Incomplete => {
            "The line is not complete: the shell asked for the rest of it, so it was interrupted."
        }
        CommandEndReason::LeftShell => "It exited the shell, so the terminal closed.",
        CommandEndReason::Closed => "The terminal was closed.",
        CommandEndReason::Gone => "The terminal went away.",
        CommandEndReason::Unkillable => "It could not be ended, so its terminal was given up.",
        CommandEndReason::Untaken => {
            "The shell did not take it. If another shell runs in this terminal, exit it or close the terminal."
        }
        CommandEndReason::NeverBegan => "The shell took it, but it did not begin.",
        CommandEndReason::EndNotRecorded => {
            "Its end was missed, because part of the recording is missing; it may have succeeded."
        }
        CommandEndReason::MayHaveRun => {
            "hob was not running when the shell took it; it may have run."
        }
    };
    text.to_owned()
}

/// Explains why a terminal is gone.
pub(super) fn describe_over(
    over: TerminalEnd,
    shell: &str,
    reason: Option<&str>,
) -> Option<String> {
    match over {
        TerminalEnd::Closed => None,
        TerminalEnd::ShellLeft { status } => {
            Some(format!("Its shell exited with status {status}."))
        }
        TerminalEnd::Gone => Some(match reason {
            Some(reason) => format!("It went away: {reason}."),
            None => "It went away: its shell or tmux was ended.".to_owned(),
        }),
        TerminalEnd::NoMarks => Some(format!(
            "The shell '{shell}' showed no prompt that hob understands within 10 seconds. \
             Choose another with the setting terminal.shell."
        )),
        TerminalEnd::Unkillable => {
            Some("A command in it could not be ended, so it was given up.".to_owned())
        }
    }
}

pub(super) fn invalid(message: String) -> WireError {
    WireError::new(ErrorCode::InvalidParams, message)
}

pub(super) fn conflict(message: impl Into<String>) -> WireError {
    WireError::new(ErrorCode::Conflict, message.into())
}

pub(super) fn not_found(name: &str) -> WireError {
    WireError::new(
        ErrorCode::NotFound,
        format!("There is no terminal '{name}'."),
    )
}

/// The answer to requests that wait while the daemon stops.
pub(super) fn stopping() -> WireError {
    let message = "hob is stopping. What runs in the terminal goes on.";
    WireError::new(ErrorCode::ServiceUnavailable, message)
}
