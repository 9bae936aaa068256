//! The lines and keys of choosing a model. Pure.

use crate::render::text::{bytes, one_line, wrap};
use crate::render::{ScreenStyle, TextTone};
use hob_wire::rooms::onboard::{OnboardKind, OnboardOption, OnboardOptionsResult};

/// The models of a server that are named.
const MODELS_SHOWN: usize = 4;

/// The list of options, each with what it needs and can do.
pub fn list(
    found: &OnboardOptionsResult,
    options: &[OnboardOption],
    screen: &ScreenStyle,
) -> Vec<String> {
    let room = screen.width.unwrap_or(80);
    let heading = match &found.model {
        Some(model) if found.offer => {
            format!("No model is configured yet. Without a choice hob uses {model}.")
        }
        Some(model) => format!("hob uses {model}."),
        None => "No model is configured yet.".to_owned(),
    };
    let mut lines = wrap(&one_line(&heading), room);
    lines.push(String::new());
    for (index, option) in options.iter().enumerate() {
        let number = screen.paint(TextTone::Command, &(index + 1).to_string());
        let title = one_line(&option.title);
        for (row, piece) in wrap(&title, room.saturating_sub(5)).iter().enumerate() {
            let lead = if row == 0 { number.as_str() } else { " " };
            lines.push(format!("  {lead}  {piece}"));
        }
        for piece in wrap(&details(option), room.saturating_sub(5)) {
            lines.push(screen.paint(TextTone::Quiet, &format!("     {piece}")));
        }
    }
    for note in &found.notes {
        lines.push(String::new());
        lines.extend(wrap(&one_line(note), room));
    }
    lines
}

/// What an option needs and can do, on one line.
pub fn details(option: &OnboardOption) -> String {
    let mut parts = Vec::new();
    let models: Vec<String> = option.models.iter().map(|model| one_line(model)).collect();
    if option.kind != OnboardKind::Pull && !models.is_empty() {
        let shown = models[..models.len().min(MODELS_SHOWN)].join(", ");
        parts.push(match models.len().saturating_sub(MODELS_SHOWN) {
            0 => shown,
            more => format!("{shown} and {more} more"),
        });
    }
    if !option.providers.is_empty() {
        parts.push(option.providers.join(", "));
    }
    if let Some(download) = option.download_bytes.filter(|it| *it > 0) {
        parts.push(format!("{} to download", bytes(download)));
    }
    if let Some(memory) = option.memory_bytes {
        parts.push(format!("{} of memory", bytes(memory)));
    }
    match option.tools {
        Some(true) => parts.push("uses tools".to_owned()),
        Some(false) => parts.push("uses no tools".to_owned()),
        None => {}
    }
    if option.kind == OnboardKind::Demo {
        parts.push("knows little".to_owned());
    }
    parts.extend(option.licence.as_deref().map(one_line));
    parts.join(" · ")
}

/// The lines of the providers whose key can be pasted.
pub fn providers(names: &[String]) -> Vec<String> {
    let numbered = names.iter().enumerate();
    let lines = numbered.map(|(index, name)| format!("  {}  {}", index + 1, one_line(name)));
    lines.collect()
}

/// The keys that answer a list of that length: digits, Enter for the first, n for none.
pub fn keys(count: usize) -> Vec<char> {
    let digits = ('1'..='9').take(count);
    digits.chain(['n', '\n', '\r']).collect()
}

pub fn prompt(count: usize, screen: &ScreenStyle) -> String {
    let keys = screen.paint(TextTone::Command, &range(count));
    let none = screen.paint(TextTone::Command, "n");
    format!("\nWhich one? [{keys}, Enter for 1, {none} for none] ")
}

pub fn provider_prompt(count: usize, screen: &ScreenStyle) -> String {
    let keys = screen.paint(TextTone::Command, &range(count));
    let back = screen.paint(TextTone::Command, "n");
    format!("  Whose key? [{keys}, Enter for 1, {back} to go back] ")
}

fn range(count: usize) -> String {
    match count {
        0 | 1 => "1".to_owned(),
        count => format!("1-{count}"),
    }
}

/// The position that a key chose; `None` for none.
pub fn index_of(key: char, count: usize) -> Option<usize> {
    match key {
        '\n' | '\r' => Some(0),
        digit => {
            let number = usize::try_from(digit.to_digit(10)?).ok()?;
            (1..=count).contains(&number).then(|| number - 1)
        }
    }
}

/// The option that a key chose.
pub fn option_of(key: char, options: &[OnboardOption]) -> Option<&OnboardOption> {
    options.get(index_of(key, options.len())?)
}

/// The number of an option, as the echo of a key.
pub fn number_of(option: &OnboardOption, options: &[OnboardOption]) -> String {
    let at = options.iter().position(|one| one.id == option.id);
    at.map_or(String::new(), |at| (at + 1).to_string())
}

#[cfg(test)]
#[path = "model_choice_lines_tests.rs"]
mod tests;
