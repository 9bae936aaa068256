//! The form of the file `chat_history`, which `hob chat` writes too: a first line `#V2`, then one
//! message on each line, with `\n` and `\\` for line breaks and backslashes. Pure.

use super::history::MESSAGES_MAX;
use std::fmt::Write;

const HEADER: &str = "#V2";

/// Reads the messages of a file; lines of an older form are messages as they are.
pub fn read_history(text: &str) -> Vec<String> {
    let mut lines = text.lines().peekable();
    let is_escaped = lines.next_if_eq(&HEADER).is_some();
    let messages = lines.filter(|line| !line.is_empty());
    let messages: Vec<String> = messages
        .map(|line| {
            if is_escaped {
                unescaped(line)
            } else {
                line.to_owned()
            }
        })
        .collect();
    let skipped = messages.len().saturating_sub(MESSAGES_MAX);
    messages.into_iter().skip(skipped).collect()
}

/// Writes the messages as a file.
pub fn write_history(messages: &[String]) -> String {
    let mut out = format!("{HEADER}\n");
    for message in messages {
        let line = message.replace('\\', "\\\\").replace('\n', "\\n");
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{line}");
    }
    out
}

fn unescaped(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('n') => out.push('\n'),
                Some('\\') | None => out.push('\\'),
                Some(other) => out.extend(['\\', other]),
            },
            plain => out.push(plain),
        }
    }
    out
}
