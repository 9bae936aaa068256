//! Converts clap's usage errors into hob's failures.

use super::help_text;
use crate::failure::CommandFailure;
use crate::render::text::{one_line, sentence_case};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;

/// From this many words on, a line whose first word is nearly a command is a question all the same.
const QUESTION_WORDS_MIN: usize = 3;

/// The failure of a command line. Words without quotes get the line that asks a model with them.
pub fn failure_of(error: &clap::Error, arguments: &[OsString]) -> CommandFailure {
    let mut failure = failure(error);
    if error.kind() == ErrorKind::InvalidSubcommand
        && let Some(question) = unquoted_question(arguments, suggestion(error).is_some())
    {
        let next = failure.next.take().unwrap_or_default();
        failure.next = Some(format!(
            "To ask a model, quote the words: hob {question}\n  {next}"
        ));
    }
    failure
}

/// Returns the words of the command line in quotes, if they look like a question and not like a
/// misspelt command.
fn unquoted_question(arguments: &[OsString], is_near_a_command: bool) -> Option<String> {
    let words = arguments.iter().skip(1).map(|word| word.to_str());
    let words: Vec<&str> = words.collect::<Option<_>>()?;
    let words_min = if is_near_a_command {
        QUESTION_WORDS_MIN
    } else {
        2
    };
    if words.len() < words_min || words.iter().any(|word| word.starts_with('-')) {
        return None;
    }
    let question = words.join(" ");
    let is_special =
        |letter: char| matches!(letter, '"' | '$' | '`' | '\\' | '!') || letter.is_control();
    Some(if question.contains(is_special) {
        help_text::quoted(&one_line(&question))
    } else {
        format!("\"{question}\"")
    })
}

/// The failure with a sentence, a suggestion and the help page to read.
pub fn failure(error: &clap::Error) -> CommandFailure {
    let rendered = error.render().to_string();
    let mut lines = rendered
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let mut sentence = sentence_case(first.strip_prefix("error: ").unwrap_or(first));
    let mut next = Vec::new();
    for line in lines {
        if let Some(usage) = line.strip_prefix("Usage: ") {
            next.push(line.to_owned());
            next.push(format!("See {} --help", command_path(usage)));
        } else if line.starts_with("[possible values") || line.starts_with(['<', '-']) {
            // clap puts possible values and missing arguments on lines of their own.
            sentence = format!("{sentence} {line}");
        }
    }
    if let Some(near) = suggestion(error) {
        next.insert(0, format!("Did you mean '{near}'?"));
    }
    if !sentence.ends_with(['.', ']', '>']) {
        sentence.push('.');
    }
    if next.is_empty() {
        next.push("Add --help to see the usage.".to_owned());
    }
    CommandFailure::usage(sentence).next(next.join("\n  "))
}

/// The closest of clap's suggestions.
fn suggestion(error: &clap::Error) -> Option<String> {
    let pairs = [
        (
            ContextKind::InvalidSubcommand,
            ContextKind::SuggestedSubcommand,
        ),
        (ContextKind::InvalidArg, ContextKind::SuggestedArg),
        (ContextKind::InvalidValue, ContextKind::SuggestedValue),
    ];
    let texts = |kind: ContextKind| match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    };
    for (wrong, suggested) in pairs {
        let known = texts(suggested);
        if let Some(wrong) = texts(wrong).first()
            && let Some(near) = help_text::nearest(wrong, known.iter().map(String::as_str))
        {
            return Some(near.to_owned());
        }
    }
    None
}

/// The command of a usage line: the words before the first argument.
fn command_path(usage: &str) -> String {
    let words = usage.split(' ');
    let path = words.take_while(|word| !word.starts_with(['<', '[', '-']));
    path.collect::<Vec<_>>().join(" ")
}

/// Returns true when the "error" is a requested help or version page.
pub fn is_help_page(error: &clap::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    )
}
