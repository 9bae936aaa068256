//! Refuses command lines that would end the shared terminal, or nest tmux in it. Pure.
//!
//! This protects against mistakes; it is no security boundary, because a shell has more ways to
//! exit than are listed here. The person who is asked judges the rest of the line.

use crate::workspace_path::ToolRefusal;
use hob_core::command_line::{ShellCommand, ShellCommands, ShellWord};

/// Commands that end a shell.
const LEAVING: &[&str] = &["exit", "logout"];
/// tmux commands that end, nest or replace the terminal; tmux also accepts unique prefixes of them.
const TMUX_REFUSED: &[&str] = &[
    "kill-server",
    "kill-session",
    "kill-window",
    "kill-pane",
    "attach-session",
    "detach-client",
    "new-session",
    "switch-client",
    "respawn-pane",
    "respawn-window",
    "link-window",
    "unlink-window",
    "pipe-pane",
];
/// Short names of tmux for these commands.
const TMUX_SHORT: &[&str] = &["a", "at", "att", "new", "detach"];
/// Options of tmux that take a value.
const TMUX_VALUED: &[&str] = &["-c", "-f", "-L", "-S", "-T"];

/// Refuses a line that would end or nest the terminal.
pub(super) fn check(line: &str) -> Result<(), ToolRefusal> {
    let line = ShellCommands::parse(line, 0);
    // A command in a subshell or a substitution can only end that.
    let mut own = line.commands.iter().filter(|command| command.depth == 0);
    own.try_for_each(check_command)
}

fn check_command(command: &ShellCommand) -> Result<(), ToolRefusal> {
    for at in command.programs().at {
        let program = command.words[at].file_name();
        let rest: Vec<&str> = command.words[at + 1..]
            .iter()
            .map(ShellWord::text)
            .collect();
        if LEAVING.contains(&program) {
            return Err(ToolRefusal(format!(
                "'{program}' would end the terminal that the person shares; it is not run. To end with a code, use a subshell: (exit 3)."
            )));
        }
        if program == "exec" && !rest.is_empty() {
            let reason = "'exec' would replace the shell of the shared terminal; run the program without it.";
            return Err(ToolRefusal(reason.to_owned()));
        }
        if program == "tmux" && ends_or_nests(&rest) {
            let reason = "This tmux command would end or nest the shared terminal; it is not run.";
            return Err(ToolRefusal(reason.to_owned()));
        }
    }
    Ok(())
}

fn ends_or_nests(rest: &[&str]) -> bool {
    let mut words = rest.iter();
    let mut asks_only = false;
    while let Some(word) = words.next() {
        if TMUX_VALUED.contains(word) {
            words.next();
        } else if word.starts_with('-') {
            asks_only |= *word == "-V" || *word == "-h";
        } else {
            let is_one = |full: &&str| full.starts_with(word) && word.len() >= 5;
            return TMUX_SHORT.contains(word) || TMUX_REFUSED.iter().any(is_one);
        }
    }
    // `tmux` without a command opens a nested terminal.
    !asks_only
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
