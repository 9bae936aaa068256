//! What is said of terminals, in sentences a person can act on, and what may be said to them. Pure.

use hob_core::terminal::desk::{Over, Why};
use hob_wire::limits::{TERMINAL_BATCH_MAX, TERMINAL_COMMAND_CHARS_MAX};
use hob_wire::rooms::terminal::{DEFAULT_TERMINAL, ExecuteParams};
use hob_wire::{ErrorCode, WireError};

const NAME_CHARS_MAX: usize = 64;
/// Letters of a reason.
const REASON_CHARS_MAX: usize = 1_000;

/// The terminal that is meant.
pub(super) fn name(given: Option<&str>) -> Result<&str, WireError> {
    let name = given.unwrap_or(DEFAULT_TERMINAL);
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > NAME_CHARS_MAX || !name.chars().all(allowed) {
        return Err(invalid(format!(
            "A terminal's name is 1 to {NAME_CHARS_MAX} letters, digits, '-' and '_'."
        )));
    }
    Ok(name)
}

/// The commands of a request, checked.
pub(super) fn commands(params: &ExecuteParams) -> Result<Vec<String>, WireError> {
    let commands = match (&params.command, params.commands.is_empty()) {
        (Some(command), true) => vec![command.clone()],
        (None, false) => params.commands.clone(),
        _ => return Err(invalid("Give either `command` or `commands`.".to_owned())),
    };
    if commands.len() > TERMINAL_BATCH_MAX {
        return Err(invalid(format!(
            "One request has {TERMINAL_BATCH_MAX} commands at the most, not {}.",
            commands.len()
        )));
    }
    for command in &commands {
        let letters = command.chars().count();
        if command.trim().is_empty() {
            return Err(invalid("A command is not empty.".to_owned()));
        }
        if letters > TERMINAL_COMMAND_CHARS_MAX {
            return Err(invalid(format!(
                "A command has {TERMINAL_COMMAND_CHARS_MAX} letters at the most, not {letters}."
            )));
        }
        if command.contains('\0') {
            return Err(invalid("A command has no zero byte.".to_owned()));
        }
    }
    let reason = params.reason.as_ref();
    if reason.is_some_and(|reason| reason.chars().count() > REASON_CHARS_MAX) {
        let most = format!("`reason` has {REASON_CHARS_MAX} letters at the most.");
        return Err(invalid(most));
    }
    Ok(commands)
}

/// Why a command ended as it did.
pub(super) fn why(why: Why) -> String {
    let said = match why {
        Why::Dropped => "It was dropped before it began.",
        Why::Chain => "It was dropped because one before it failed.",
        Why::Incomplete => {
            "The line is not complete: the shell asked for the rest of it, so it was interrupted."
        }
        Why::LeftShell => "It left the shell, and the terminal closed.",
        Why::Closed => "The terminal was closed.",
        Why::Gone => "The terminal went away.",
        Why::Stubborn => "It could not be ended, so its terminal was given up.",
        Why::Untaken => {
            "The shell did not take it. If another shell runs in this terminal, leave that, or close the terminal."
        }
        Why::Unbegun => "The shell took it, and it did not begin.",
        Why::Unseen => {
            "It printed so much while nobody could follow that its end was missed; it may have ended well."
        }
        Why::Doubtful => "hob was away when the shell took it; it may have run.",
    };
    said.to_owned()
}

/// Why a terminal is gone.
pub(super) fn over(over: Over, shell: &str, reason: Option<&str>) -> Option<String> {
    match over {
        Over::Closed => None,
        Over::Left { status } => Some(format!("Its shell was left with status {status}.")),
        Over::Gone => Some(match reason {
            Some(reason) => format!("It went away: {reason}."),
            None => "It went away: its shell or tmux was ended.".to_owned(),
        }),
        Over::Silent => Some(format!(
            "The shell '{shell}' showed no prompt that hob understands within 10 seconds. \
             Choose another with the setting terminal.shell."
        )),
        Over::Stubborn => {
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

/// There is no such terminal.
pub(super) fn missing(name: &str) -> WireError {
    WireError::new(
        ErrorCode::NotFound,
        format!("There is no terminal '{name}'."),
    )
}

/// Nobody waits for a terminal when the daemon stops.
pub(super) fn stopping() -> WireError {
    let message = "hob is stopping. What runs in the terminal goes on.";
    WireError::new(ErrorCode::ServiceUnavailable, message)
}
