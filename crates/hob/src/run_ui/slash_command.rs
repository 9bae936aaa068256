//! Lines of a chat that are commands to hob, not words for the model. Pure.

use crate::tree::text;

/// Every command: its word, what it takes, what it does.
pub const COMMANDS: [(&str, &str, &str); 6] = [
    ("help", "", "shows this"),
    ("new", "[KEY]", "begins another session"),
    (
        "model",
        "[MODEL]",
        "shows or picks the model: provider/model or an alias",
    ),
    ("stop", "", "stops what still runs or waits in this session"),
    ("cost", "", "what this session has cost"),
    ("quit", "", "leaves; so do Ctrl-D and a second Ctrl-C"),
];

/// What a line means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Typed {
    /// Words for the model.
    Words(String),
    Nothing,
    Help,
    New(Option<String>),
    Model(Option<String>),
    Stop,
    Cost,
    Quit,
    /// A command that does not exist, and the one that was probably meant.
    Unknown(String, Option<&'static str>),
}

pub fn read(line: &str) -> Typed {
    let line = line.trim();
    // A path or a comment is no command: only a word of letters right after the slash is.
    let Some(rest) = line.strip_prefix('/').filter(|rest| is_command(rest)) else {
        return match line {
            "" => Typed::Nothing,
            words => Typed::Words(words.to_owned()),
        };
    };
    let (word, value) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let value = Some(value.trim()).filter(|value| !value.is_empty());
    let value = value.map(str::to_owned);
    match word {
        "help" | "h" | "?" => Typed::Help,
        "new" => Typed::New(value),
        "model" => Typed::Model(value),
        "stop" => Typed::Stop,
        "cost" => Typed::Cost,
        "quit" | "exit" | "q" => Typed::Quit,
        unknown => {
            let known = COMMANDS.iter().map(|(word, _, _)| *word);
            Typed::Unknown(unknown.to_owned(), text::nearest(unknown, known))
        }
    }
}

fn is_command(rest: &str) -> bool {
    let word = rest.split_whitespace().next().unwrap_or_default();
    let is_word = word
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte == b'?');
    !rest.contains('\n') && !word.is_empty() && is_word
}

/// The page of `/help`.
pub fn help() -> Vec<String> {
    let lines = COMMANDS.iter().map(|(word, takes, what)| {
        let left = format!("/{word} {takes}");
        format!("  {left:<16} {what}")
    });
    let more = [
        String::new(),
        "  A line that ends with \\ goes on in the next; a paste stays together.".to_owned(),
        "  Ctrl-C stops the run, and what had happened is said.".to_owned(),
    ];
    lines.chain(more).collect()
}

#[cfg(test)]
#[path = "slash_tests.rs"]
mod tests;
