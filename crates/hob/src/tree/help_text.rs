//! Texts and layout of the help pages, 80 columns wide.

use super::schema::{ParamField, ParamKind};
use crate::failure::ExitStatus;
use crate::render::text::{kebab, screaming_snake, wrap};
use hob_wire::MethodSpec;
use std::fmt::Write;

/// The widest line of a help page.
pub const COLUMNS: usize = 80;

/// The clap template of a help page; `details` come below the first line.
pub fn template(details: Option<&str>) -> String {
    let mut text = String::from("{about-with-newline}\n");
    for paragraph in details
        .into_iter()
        .flat_map(|details| details.split("\n\n"))
    {
        let paragraph = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        for line in wrap(&paragraph, COLUMNS) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{line}");
        }
        text.push('\n');
    }
    text.push_str("{usage-heading} {usage}\n\n{all-args}{after-help}");
    text
}

/// Descriptions of rooms. A room that is not listed is described by its verbs.
const ROOMS: &[(&str, &str)] = &[
    (
        "gateway",
        "Shows the bus: services, methods, counters, traces",
    ),
    ("tool", "Shows the tools that a model may use"),
    (
        "model",
        "Fetches, adds, lists and tests models and their providers",
    ),
    ("session", "Creates, reads and writes conversations"),
];

pub fn room_about(room: &str, specs: &[&MethodSpec]) -> String {
    let listed = ROOMS.iter().find(|(name, _)| *name == room);
    if let Some((_, about)) = listed {
        return (*about).to_owned();
    }
    let verbs = specs.iter().filter_map(|spec| spec.name.split_once('.'));
    let verbs: Vec<String> = verbs.map(|(_, verb)| kebab(verb)).collect();
    format!("Commands of the {room} room: {}", verbs.join(", "))
}

/// Removes the full stop of a single sentence, as clap's lists have it.
pub fn sentence(text: &str) -> String {
    let text = text.trim();
    match text.strip_suffix('.') {
        // Several sentences keep their full stops.
        Some(only) if !only.contains(". ") => only.to_owned(),
        _ => text.to_owned(),
    }
}

/// The EXAMPLES section of a help page.
pub fn examples<L: AsRef<str>>(lines: &[L]) -> String {
    let mut text = String::from("EXAMPLES");
    for line in lines {
        // A long line continues after a backslash, as a shell allows; never inside quotes.
        let pieces = wrap(&bind_quoted(line.as_ref()), COLUMNS - 8);
        let lines = pieces.join(" \\\n      ").replace(NO_BREAK_SPACE, " ");
        let _ = write!(text, "\n  {lines}");
    }
    text
}

/// The placeholder of a space at which a line must not be broken.
const NO_BREAK_SPACE: char = '\u{a0}';

/// Replaces spaces inside quotes by [`NO_BREAK_SPACE`].
fn bind_quoted(line: &str) -> String {
    let mut quote = None;
    let letters = line.chars().map(|letter| {
        match (letter, quote) {
            ('"' | '\'', None) => quote = Some(letter),
            (letter, Some(open)) if letter == open => quote = None,
            (' ', Some(_)) => return NO_BREAK_SPACE,
            _ => {}
        }
        letter
    });
    letters.collect()
}

/// An example value for a param, by its name or else by its kind.
pub fn sample(field: &ParamField) -> String {
    let known = [
        ("sessionKey", "chat:main"),
        ("content", "\"Good morning\""),
        ("label", "\"Holiday plans\""),
        ("method", "session.send"),
        ("source", "qwen3-4b"),
        ("trace", "4f1c2a9be07d6635"),
    ];
    let found = known.iter().find(|(known, _)| *known == field.name);
    if let Some((_, value)) = found {
        return (*value).to_owned();
    }
    match &field.kind {
        ParamKind::Integer | ParamKind::Number => "1".to_owned(),
        ParamKind::Bool => "true".to_owned(),
        ParamKind::Choice(words) => words.first().cloned().unwrap_or_default(),
        ParamKind::Json => "'{}'".to_owned(),
        ParamKind::Text | ParamKind::Prose | ParamKind::Texts => screaming_snake(&field.name),
    }
}

/// Quotes a value for a shell where necessary.
pub fn quoted(value: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.:/,=@".contains(letter);
    if !value.is_empty() && value.chars().all(plain) {
        value.to_owned()
    } else {
        format!("'{}'", value.replace('\'', r"'\''"))
    }
}

/// The text of `hob help exit-codes`.
pub fn exit_codes() -> String {
    let mut text = String::from("Every command ends with one of these codes:\n");
    for (exit, meaning) in ExitStatus::ALL {
        let _ = write!(text, "\n  {:>3}  {meaning}", exit.code());
    }
    text.push_str(
        "\n\n`hob terminal run` ends with the code of the command it ran.\n\nResults go to stdout and nothing else does. An error is one sentence on stderr,\n\
         and what to do next; with --json it is one JSON object, the last line of stderr:\n\n  \
         {\"error\": {\"code\", \"message\", \"exit\", \"next\"?, \"details\"?}}\n\n\
         A reader that closes the pipe early (hob ... | head) is no error.",
    );
    text
}

/// The text of `hob help environment`.
pub const ENVIRONMENT: &str = "\
hob reads these variables:

  HOB_HOME       the directory hob lives in, instead of the XDG directories
  HOB_AUTOSTART  0: no command starts the daemon by itself
  HOB_TOKEN      the token to present, instead of the owner's
  HOB_URL        a daemon elsewhere, such as ws://127.0.0.1:7717/ws through
                 `ssh -L 7717:127.0.0.1:7717 HOST`; needs HOB_TOKEN
  NO_COLOR       any value: no colours

Each setting also has a variable that beats the config file: `hob config show`
lists the settings, and log.level is HOB_LOG_LEVEL.";

/// The known word closest to a misspelt one.
pub fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    const LIKENESS_MIN: f64 = 0.7;
    known
        .map(|known| (strsim::normalized_damerau_levenshtein(known, word), known))
        .filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, known)| known)
}
