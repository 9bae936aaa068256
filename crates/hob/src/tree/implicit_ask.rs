//! Plain-language command lines without a command: `hob "what is filling my disk?"` and
//! `hob -- what is filling my disk`. Pure.

use std::ffi::OsString;

/// The implied command: a question whose only tool is the shared terminal.
const ASKED: [&str; 2] = ["ask", "--terminal"];

/// Inserts the implied command before plain language.
pub fn insert_ask(arguments: Vec<OsString>) -> Vec<OsString> {
    let is_flag = |argument: &OsString| argument == "--json";
    let mut words = arguments
        .iter()
        .skip(1)
        .filter(|argument| !is_flag(argument));
    // One argument may be a command, so it must look like a question; several need `--` first.
    let are_words = match (words.next(), words.next()) {
        (Some(only), None) => only.to_str().is_some_and(is_question),
        (Some(first), Some(_)) => first == "--",
        _ => false,
    };
    if !are_words {
        return arguments;
    }
    let mut rest = arguments.into_iter();
    let program = rest.next();
    program
        .into_iter()
        .chain(ASKED.map(OsString::from))
        .chain(rest)
        .collect()
}

/// A text is a question if it contains a space or ends with a question mark.
pub fn is_question(text: &str) -> bool {
    let text = text.trim();
    !text.starts_with('-') && (text.contains(' ') || text.ends_with('?'))
}

#[cfg(test)]
#[path = "implicit_ask_tests.rs"]
mod tests;
