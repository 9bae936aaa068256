//! Slash commands of a chat. Pure.

use crate::tree::help_text;

/// All commands: name, argument, description.
pub const COMMANDS: [(&str, &str, &str); 6] = [
    ("help", "", "shows this"),
    ("new", "[KEY]", "starts another session"),
    (
        "model",
        "[MODEL]",
        "shows or picks the model: provider/model or an alias",
    ),
    ("stop", "", "stops running and waiting runs of this session"),
    ("cost", "", "shows the cost of this session"),
    ("quit", "", "leaves, as Ctrl-D and a second Ctrl-C do"),
];

/// The parsed input line of a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChatInput {
    /// A message for the model.
    Words(String),
    Nothing,
    Help,
    New(Option<String>),
    Model(Option<String>),
    Stop,
    Cost,
    Quit,
    /// An unknown command, and the closest known one.
    Unknown(String, Option<&'static str>),
}

pub fn parse(line: &str) -> ChatInput {
    let line = line.trim();
    // A path or a comment is not a command: a command is one lowercase word after the slash.
    let Some(rest) = line.strip_prefix('/').filter(|rest| is_command(rest)) else {
        return match line {
            "" => ChatInput::Nothing,
            words => ChatInput::Words(words.to_owned()),
        };
    };
    let (word, value) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let value = Some(value.trim()).filter(|value| !value.is_empty());
    let value = value.map(str::to_owned);
    match word {
        "help" | "h" | "?" => ChatInput::Help,
        "new" => ChatInput::New(value),
        "model" => ChatInput::Model(value),
        "stop" => ChatInput::Stop,
        "cost" => ChatInput::Cost,
        "quit" | "exit" | "q" => ChatInput::Quit,
        unknown => {
            let known = COMMANDS.iter().map(|(word, _, _)| *word);
            ChatInput::Unknown(unknown.to_owned(), help_text::nearest(unknown, known))
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

/// The lines of `/help`.
pub fn help() -> Vec<String> {
    let lines = COMMANDS.iter().map(|(word, takes, what)| {
        let left = format!("/{word} {takes}");
        format!("  {left:<16} {what}")
    });
    let more = [
        String::new(),
        "  A line that ends with \\ continues on the next; a pasted text stays together."
            .to_owned(),
        "  Ctrl-C stops the run and shows the calls so far.".to_owned(),
    ];
    lines.chain(more).collect()
}

#[cfg(test)]
#[path = "slash_command_tests.rs"]
mod tests;
