//! The small text formats that other systems keep their settings in: lines of an environment file,
//! YAML with one value per line, and Markdown with such values in front. Pure.
//!
//! Invariant: a line that is not understood is reported, never guessed at.

use std::collections::BTreeMap;

/// The settings of a file, and the lines that were not understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FlatSettings {
    pub(crate) values: BTreeMap<String, String>,
    /// Numbers of lines, from 1.
    pub(crate) unread_lines: Vec<usize>,
}

impl FlatSettings {
    /// A value that is set and not empty.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let value = self.values.get(name)?.trim();
        (!value.is_empty()).then_some(value)
    }

    /// The numbers of the lines that were not understood: `3, 4`.
    pub(crate) fn unread(&self) -> Option<String> {
        let numbers: Vec<String> = self.unread_lines.iter().map(usize::to_string).collect();
        (!numbers.is_empty()).then(|| numbers.join(", "))
    }
}

/// Parses lines `NAME=VALUE`, with `export` or quotes if they are there.
pub(crate) fn parse_env_lines(text: &str) -> FlatSettings {
    let mut settings = FlatSettings::default();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let pair = line.split_once('=').and_then(|(name, value)| {
            let name = name.trim();
            let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            let sound = !name.is_empty() && name.chars().all(is_name);
            sound.then(|| Some((name, unquote(value.trim())?)))?
        });
        match pair {
            Some((name, value)) => {
                settings.values.insert(name.to_owned(), value);
            }
            None => settings.unread_lines.push(index + 1),
        }
    }
    settings
}

/// Parses lines `name: value`. Nested values, lists and blocks are not understood.
pub(crate) fn parse_flat_yaml(text: &str) -> FlatSettings {
    let mut settings = FlatSettings::default();
    for (index, line) in text.lines().enumerate() {
        let is_marker = matches!(line.trim(), "---" | "...");
        if line.trim().is_empty() || line.trim_start().starts_with('#') || is_marker {
            continue;
        }
        let is_nested = line.starts_with([' ', '\t', '-']);
        let pair = line.split_once(':').and_then(|(name, value)| {
            let separated = value.is_empty() || value.starts_with([' ', '\t']);
            let name = name.trim();
            let sound = !is_nested && separated && !name.is_empty() && !name.contains(['"', '\'']);
            sound.then(|| Some((name, yaml_value(value)?)))?
        });
        match pair {
            Some((name, value)) => {
                settings.values.insert(name.to_owned(), value);
            }
            None => settings.unread_lines.push(index + 1),
        }
    }
    settings
}

/// Splits a Markdown file into the settings in front, between lines of `---`, and its text. `None` if
/// it has no such part.
pub(crate) fn split_front_matter(text: &str) -> Option<(FlatSettings, &str)> {
    let rest = text.trim_start_matches('\u{feff}');
    let rest = rest.strip_prefix("---")?;
    let rest = rest
        .strip_prefix("\r\n")
        .or_else(|| rest.strip_prefix('\n'))?;
    let mut offset = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            let body = &rest[offset + line.len()..];
            return Some((parse_flat_yaml(&rest[..offset]), body.trim()));
        }
        offset += line.len();
    }
    None
}

/// A scalar of YAML without its comment; `None` for other values. A list on the line stays as it is
/// written.
fn yaml_value(text: &str) -> Option<String> {
    let text = text.trim();
    if text.starts_with(['"', '\'']) {
        let end = closing_quote(text)?;
        let rest = text[end..].trim_start();
        return (rest.is_empty() || rest.starts_with('#')).then(|| unquote(&text[..end]))?;
    }
    if text.starts_with(['|', '>', '{', '&', '*', '!']) {
        return None;
    }
    let plain = match text.find(" #") {
        Some(comment) => &text[..comment],
        None if text.starts_with('#') => "",
        None => text,
    };
    Some(plain.trim().to_owned())
}

/// The position after the closing quote of a text that begins with one.
fn closing_quote(text: &str) -> Option<usize> {
    let quote = text.chars().next()?;
    let mut letters = text.char_indices().skip(1);
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' if quote == '"' => {
                letters.next()?;
            }
            letter if letter == quote => {
                // A doubled single quote is one.
                let doubled = quote == '\'' && text[at + 1..].starts_with('\'');
                if !doubled {
                    return Some(at + 1);
                }
                letters.next()?;
            }
            _ => {}
        }
    }
    None
}

/// The text without its quotes; `None` if they do not match or an escape is unknown.
fn unquote(text: &str) -> Option<String> {
    let Some(quote) = text.chars().next().filter(|it| matches!(it, '"' | '\'')) else {
        return Some(text.to_owned());
    };
    if closing_quote(text)? != text.len() {
        return None;
    }
    let inner = &text[1..text.len() - 1];
    if quote == '\'' {
        return Some(inner.replace("''", "'"));
    }
    let mut plain = String::with_capacity(inner.len());
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        plain.push(match letter {
            '\\' => match letters.next()? {
                'n' => '\n',
                't' => '\t',
                same @ ('"' | '\\' | '/' | '$') => same,
                _ => return None,
            },
            letter => letter,
        });
    }
    Some(plain)
}

#[cfg(test)]
#[path = "import_formats_tests.rs"]
mod tests;
