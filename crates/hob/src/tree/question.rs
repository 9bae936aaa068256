//! `hob "what is filling my disk?"`: a single argument that is a question, not a command. Pure.

use std::ffi::OsString;

/// The command line with `ask` put before a question that stands alone.
pub fn with_ask(arguments: Vec<OsString>) -> Vec<OsString> {
    let is_flag = |argument: &OsString| argument == "--json";
    let mut words = arguments
        .iter()
        .skip(1)
        .filter(|argument| !is_flag(argument));
    let is_question = match (words.next(), words.next()) {
        (Some(only), None) => only.to_str().is_some_and(is_question),
        _ => false,
    };
    if !is_question {
        return arguments;
    }
    let mut rest = arguments.into_iter();
    let program = rest.next();
    program
        .into_iter()
        .chain([OsString::from("ask")])
        .chain(rest)
        .collect()
}

/// A text is a question if it contains a space or ends with a question mark.
pub fn is_question(text: &str) -> bool {
    let text = text.trim();
    !text.starts_with('-') && (text.contains(' ') || text.ends_with('?'))
}

#[cfg(test)]
#[path = "question_tests.rs"]
mod tests;
