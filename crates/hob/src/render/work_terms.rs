//! What binds a loop or a job, in words: grants, limits, and pairs to show them in. Pure.

use super::words::{self, one_line};
use super::{Screen, Tone, moment};
use crate::tree::text::quoted;
use hob_wire::schedule::{GrantView, NotifyView};
use hob_wire::work::BudgetView;

/// A grant in words: `exec command='cargo test *'`.
pub fn grant_words(grant: &GrantView) -> String {
    let mut out = vec![one_line(&grant.tool)];
    out.extend(
        grant
            .matches
            .iter()
            .map(|(name, pattern)| format!("{}={}", one_line(name), quoted(&one_line(pattern)))),
    );
    out.extend(
        grant
            .path
            .as_deref()
            .map(|it| format!("below {}", one_line(it))),
    );
    out.extend(
        grant
            .host
            .as_deref()
            .map(|it| format!("at {}", one_line(it))),
    );
    out.join(" ")
}

/// Limits in words: `20 model calls, $0.50`.
pub fn budget_words(budget: &BudgetView) -> String {
    let parts = [
        budget
            .steps
            .map(|steps| words::count(u64::from(steps), "model call")),
        budget
            .tokens
            .map(|it| format!("{} tokens", words::grouped(it))),
        budget.micro_dollars.map(words::dollars),
        budget.wall_ms.map(moment::span),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Aligned pairs; a value that is too long goes on below itself, an empty one is left out.
pub fn pairs(rows: &[(&str, String)], screen: &Screen) -> Vec<String> {
    let shown = || rows.iter().filter(|(_, value)| !value.is_empty());
    let columns = shown().map(|(name, _)| words::width(name)).max();
    let columns = columns.unwrap_or(0);
    let room = screen
        .width
        .map_or(usize::MAX, |it| it.saturating_sub(columns + 2).max(20));
    let mut out = Vec::new();
    for (name, value) in shown() {
        for (index, line) in words::wrap(value, room).into_iter().enumerate() {
            let name = if index == 0 { name } else { "" };
            let name = screen.paint(Tone::Quiet, &words::pad(name, columns));
            out.push(format!("{name}  {line}").trim_end().to_owned());
        }
    }
    out
}

/// Who is told: `chat:main (failures only)`.
pub fn notify_words(notify: &NotifyView) -> String {
    let session = one_line(&notify.session_key);
    if notify.failures_only {
        return format!("{session} (failures only)");
    }
    session
}

/// A heading with indented lines below it, after an empty line; nothing when there are none.
pub fn section(heading: &str, body: &str, screen: &Screen) -> Vec<String> {
    if body.trim().is_empty() {
        return Vec::new();
    }
    let room = screen
        .width
        .map_or(usize::MAX, |it| it.saturating_sub(2).max(20));
    let mut out = vec![String::new(), screen.paint(Tone::Heading, heading)];
    let lines = words::many_lines(body.trim_end().trim_start_matches('\n'));
    let lines = lines.iter().flat_map(|line| words::wrap(line, room));
    out.extend(lines.map(|line| format!("  {line}").trim_end().to_owned()));
    out
}

/// The first line of a text that says something, on one line.
pub fn first_line(text: &str) -> String {
    let mut lines = text.lines().map(str::trim);
    let found = lines.find(|line| !line.is_empty());
    words::prose_line(found.unwrap_or_default())
}
