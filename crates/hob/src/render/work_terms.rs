//! Formats the terms of loops and jobs: grants, limits, notifications. Pure.

use super::text::{self, one_line};
use super::{ScreenStyle, TextTone, time};
use crate::tree::help_text::quoted;
use hob_wire::schedule::{NotifyTargetView, ToolGrantView};
use hob_wire::work::BudgetView;

/// A grant on one line: `exec command='cargo test *'`.
pub fn grant_words(grant: &ToolGrantView) -> String {
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

/// Limits on one line: `20 model calls, $0.50`.
pub fn budget_words(budget: &BudgetView) -> String {
    let parts = [
        budget
            .steps
            .map(|steps| text::count_noun(u64::from(steps), "model call")),
        budget
            .tokens
            .map(|it| format!("{} tokens", text::group_thousands(it))),
        budget.micro_dollars.map(text::dollars),
        budget.wall_ms.map(time::span),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Aligned pairs. Long values are wrapped, empty ones left out.
pub fn pairs(rows: &[(&str, String)], screen: &ScreenStyle) -> Vec<String> {
    let shown = || rows.iter().filter(|(_, value)| !value.is_empty());
    let columns = shown().map(|(name, _)| text::width(name)).max();
    let columns = columns.unwrap_or(0);
    let room = screen
        .width
        .map_or(usize::MAX, |it| it.saturating_sub(columns + 2).max(20));
    let mut out = Vec::new();
    for (name, value) in shown() {
        for (index, line) in text::wrap(value, room).into_iter().enumerate() {
            let name = if index == 0 { name } else { "" };
            let name = screen.paint(TextTone::Quiet, &text::pad(name, columns));
            out.push(format!("{name}  {line}").trim_end().to_owned());
        }
    }
    out
}

/// The notification target: `chat:main (failures only)`.
pub fn notify_words(notify: &NotifyTargetView) -> String {
    let session = one_line(&notify.session_key);
    if notify.failures_only {
        return format!("{session} (failures only)");
    }
    session
}

/// A heading with indented lines below it, after an empty line; nothing for an empty body.
pub fn section(heading: &str, body: &str, screen: &ScreenStyle) -> Vec<String> {
    if body.trim().is_empty() {
        return Vec::new();
    }
    let room = screen
        .width
        .map_or(usize::MAX, |it| it.saturating_sub(2).max(20));
    let mut out = vec![String::new(), screen.paint(TextTone::Heading, heading)];
    let lines = text::safe_lines(body.trim_end().trim_start_matches('\n'));
    let lines = lines.iter().flat_map(|line| text::wrap(line, room));
    out.extend(lines.map(|line| format!("  {line}").trim_end().to_owned()));
    out
}

/// The first line of a text that is not blank.
pub fn first_line(text: &str) -> String {
    let mut lines = text.lines().map(str::trim);
    let found = lines.find(|line| !line.is_empty());
    text::prose_line(found.unwrap_or_default())
}
