//! A command line that cannot be understood: clap finds what is wrong, this says it in our voice.

use super::text;
use crate::failure::Failure;
use crate::render::words::sentence_case;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The sentence, then what was probably meant and where to read more.
pub fn failure(error: &clap::Error) -> Failure {
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
            next.push(format!("See {} --help", path_of(usage)));
        } else if line.starts_with("[possible values") || line.starts_with(['<', '-']) {
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
        next.push("Add --help to see what it takes.".to_owned());
    }
    Failure::usage(sentence).next(next.join("\n  "))
}

/// The one likeliest of clap's suggestions.
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
            && let Some(near) = text::nearest(wrong, known.iter().map(String::as_str))
        {
            return Some(near.to_owned());
        }
    }
    None
}

/// The command of a usage line: its words up to the first argument.
fn path_of(usage: &str) -> String {
    let words = usage.split(' ');
    let path = words.take_while(|word| !word.starts_with(['<', '[', '-']));
    path.collect::<Vec<_>>().join(" ")
}

/// Whether clap was asked for a page rather than failed.
pub fn is_page(error: &clap::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    )
}
