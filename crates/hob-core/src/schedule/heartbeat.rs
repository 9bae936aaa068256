//! Decides without a model whether the heartbeat has anything to do, and whether an answer is worth
//! reporting.

use hob_wire::schedule::HEARTBEAT_OK;

/// Returns true if `HEARTBEAT.md` has content: a line that is more than a heading, a comment, a
/// rule or an empty list item.
pub fn has_content(text: &str) -> bool {
    without_comments(text).lines().any(says_something)
}

/// Returns true if an answer says that nothing is wrong, also in bold, struck through or as code.
pub fn is_quiet(answer: &str) -> bool {
    let marks =
        |c: char| c.is_whitespace() || matches!(c, '*' | '_' | '`' | '~' | '.' | '"' | '\'');
    // Trimming `_` stops at letters, so the underscore inside `HEARTBEAT_OK` stays.
    answer.trim_matches(marks) == HEARTBEAT_OK
}

fn without_comments(text: &str) -> String {
    let mut rest = text;
    let mut kept = String::with_capacity(text.len());
    while let Some((before, after)) = rest.split_once("<!--") {
        kept.push_str(before);
        // An unclosed comment hides the rest of the file, as Markdown renders it.
        rest = after.split_once("-->").map_or("", |(_, after)| after);
    }
    kept.push_str(rest);
    kept
}

fn says_something(line: &str) -> bool {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') || line.starts_with("```") {
        return false;
    }
    let point = line
        .trim_start_matches(['-', '*', '+', '_', '=', '>'])
        .trim();
    let point = ["[ ]", "[x]", "[X]"]
        .iter()
        .find_map(|mark| point.strip_prefix(mark))
        .unwrap_or(point);
    let numbered = point.trim_start_matches(|c: char| c.is_ascii_digit());
    let point = match numbered.strip_prefix(['.', ')']) {
        Some(rest) if numbered.len() < point.len() => rest,
        _ => point,
    };
    !point.trim().is_empty()
}

#[cfg(test)]
#[path = "heartbeat_tests.rs"]
mod tests;
