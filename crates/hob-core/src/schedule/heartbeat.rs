//! Whether there is anything to look after, found out without a model, and whether what it
//! answered is worth telling.

use hob_wire::schedule::HEARTBEAT_OK;

/// Whether `HEARTBEAT.md` says anything: a line that is more than a heading, a comment, a rule or
/// an empty point of a list.
pub fn has_content(text: &str) -> bool {
    without_comments(text).lines().any(says_something)
}

/// Whether an answer says that nothing was the matter, also in bold, struck or as code.
pub fn is_quiet(answer: &str) -> bool {
    let marks =
        |c: char| c.is_whitespace() || matches!(c, '*' | '_' | '`' | '~' | '.' | '"' | '\'');
    // `HEARTBEAT_OK` has an underscore of its own inside, which trimming does not reach.
    answer.trim_matches(marks) == HEARTBEAT_OK
}

fn without_comments(text: &str) -> String {
    let mut rest = text;
    let mut kept = String::with_capacity(text.len());
    while let Some((before, after)) = rest.split_once("<!--") {
        kept.push_str(before);
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
