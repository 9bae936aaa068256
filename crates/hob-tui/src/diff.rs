//! Unified diffs with their changed words. Pure.

use crate::text::{BreakAt, Role, Row, Span, clean, wrap};
use unicode_segmentation::UnicodeSegmentation;

/// Lines of a removed run that are compared with the added run behind it.
const PAIRS_MAX: usize = 200;

/// The rows of a diff. Lines that are no part of one are shown as they are.
pub fn rows(text: &str, columns: usize) -> Vec<Row> {
    let text = clean(text);
    let lines: Vec<&str> = text.lines().collect();
    let mut out = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let removed = run_length(&lines[at..], '-');
        let added = run_length(&lines[at + removed..], '+');
        if removed == 0 && added == 0 {
            out.extend(wrap(&[context(lines[at])], columns, BreakAt::Anywhere));
            at += 1;
            continue;
        }
        let (old, new) = (
            &lines[at..at + removed],
            &lines[at + removed..at + removed + added],
        );
        for (index, line) in old.iter().enumerate() {
            let other = new.get(index).filter(|_| index < PAIRS_MAX);
            let spans = changed_line(line, other.copied(), Role::Removed, Role::RemovedWord);
            out.extend(wrap(&spans, columns, BreakAt::Anywhere));
        }
        for (index, line) in new.iter().enumerate() {
            let other = old.get(index).filter(|_| index < PAIRS_MAX);
            let spans = changed_line(line, other.copied(), Role::Added, Role::AddedWord);
            out.extend(wrap(&spans, columns, BreakAt::Anywhere));
        }
        at += removed + added;
    }
    out
}

/// Returns true if the text holds a diff.
pub fn is_diff(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("@@"))
}

fn context(line: &str) -> Span {
    let role = if line.starts_with("@@") {
        Role::Accent
    } else if line.starts_with("--- ") || line.starts_with("+++ ") {
        Role::Heading
    } else {
        Role::Plain
    };
    Span::new(line, role)
}

fn run_length(lines: &[&str], sign: char) -> usize {
    let header = if sign == '-' { "--- " } else { "+++ " };
    let changed = lines.iter();
    changed
        .take_while(|line| line.starts_with(sign) && !line.starts_with(header))
        .count()
}

/// A line with the part marked in which it differs from its counterpart.
fn changed_line(line: &str, other: Option<&str>, whole: Role, word: Role) -> Vec<Span> {
    let Some(other) = other else {
        return vec![Span::new(line, whole)];
    };
    let (sign, line) = line.split_at(1);
    let mine: Vec<&str> = line.split_word_bounds().collect();
    let theirs: Vec<&str> = other[1..].split_word_bounds().collect();
    let same = |(a, b): &(&&str, &&str)| a == b;
    let start = mine.iter().zip(&theirs).take_while(same).count();
    let most = mine.len().min(theirs.len()) - start;
    let backward = mine.iter().rev().zip(theirs.iter().rev());
    let end = backward.take(most).take_while(same).count();
    let middle = start..mine.len() - end;
    // Lines that share nothing are not a change of words.
    if start == 0 && end == 0 {
        return vec![Span::new(format!("{sign}{line}"), whole)];
    }
    let mut spans = vec![
        Span::new(format!("{sign}{}", mine[..middle.start].concat()), whole),
        Span::new(mine[middle.clone()].concat(), word),
        Span::new(mine[middle.end..].concat(), whole),
    ];
    spans.retain(|span| !span.text.is_empty());
    spans
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
