//! The terminal UI of the built binary in a real tmux.
//!
//! - `chatting`: a tool and an approval, here and elsewhere; a daemon that is killed; hostile text
//! - `terminal_state`: the terminal after quitting, suspending, signals and resizes; every byte written

mod chatting;
mod terminal_state;

use crate::support::Pane;

/// Ctrl-Q.
const LEAVE: &str = "\u{11}";
/// Alt-A: goes to the question.
const ANSWER: &str = "\u{1b}a";

/// Opens the UI and waits until it can be used.
fn open(pane: &Pane<'_>) {
    pane.run("hob");
    pane.wait_for("Write a message");
}

/// Types a message and sends it. The line break comes by itself, because one behind text at once would
/// be a paste.
fn send(pane: &Pane<'_>, text: &str) {
    pane.press(text);
    pane.wait_for(&format!("❯ {text}"));
    pane.press("\r");
}
