//! Converts clap's usage errors into hob's failures.

use super::help_text;
use crate::failure::CommandFailure;
use crate::render::text::sentence_case;
use clap::error::{ContextKind, ContextValue, ErrorKind};

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
