//! Formats the timeline of a run as a table.

use super::table::TextTable;
use super::text::{dollars, group_thousands, one_line};
use super::{ScreenStyle, TextTone, damaged_rows, time};
use hob_wire::rooms::timeline::{
    RunTimeline, TimelineApproval, TimelineKind, TimelineRow, TimelineState,
};
use hob_wire::work::RunEndCause;

pub fn lines(page: &RunTimeline, screen: &ScreenStyle) -> Vec<String> {
    let mut table = TextTable::new()
        .number("#")
        .lesser()
        .column("TIME")
        .number("TOOK")
        .column("WHAT")
        .column("STATE")
        .number("TOKENS")
        .lesser()
        .number("COST")
        .lesser()
        .column("DETAIL");
    for row in &page.rows {
        table.row(vec![
            row.number.to_string(),
            time::clock(row.at, screen),
            took(row, screen),
            what(row),
            state(row).to_owned(),
            tokens(row),
            row.micro_dollars.map(dollars).unwrap_or_default(),
            detail(row),
        ]);
    }
    let mut lines = table.lines(screen);
    lines.extend(damaged_rows::lines(&page.damaged, screen));
    if let Some(next) = page.next {
        let more = format!("More: hob run timeline {} --after {next}", page.run_id);
        lines.push(screen.paint(TextTone::Quiet, &more));
    }
    lines
}

fn took(row: &TimelineRow, screen: &ScreenStyle) -> String {
    match row.ended_at {
        None => format!("{}…", time::span(screen.now_ms.saturating_sub(row.at))),
        Some(ended) if ended > row.at => time::span(ended - row.at),
        Some(_) => String::new(),
    }
}

fn what(row: &TimelineRow) -> String {
    let name = |name: &Option<String>, other: &str| one_line(name.as_deref().unwrap_or(other));
    match row.kind {
        TimelineKind::Queue => "queue".to_owned(),
        TimelineKind::Model => name(&row.model, "model"),
        TimelineKind::Call => name(&row.tool, "tool"),
        TimelineKind::Doubt => "question: did it happen?".to_owned(),
        TimelineKind::Budget => "question: more money?".to_owned(),
        TimelineKind::Steer => "added text".to_owned(),
        TimelineKind::Children => "sub-agents".to_owned(),
        TimelineKind::Restart => "hob restarted".to_owned(),
        TimelineKind::Note => "note".to_owned(),
        TimelineKind::End => "end".to_owned(),
    }
}

fn state(row: &TimelineRow) -> &'static str {
    if row.kind == TimelineKind::End {
        return if row.cause == Some(RunEndCause::Answered) {
            "answered"
        } else {
            "stopped"
        };
    }
    match row.state {
        TimelineState::Open => "open",
        TimelineState::Done => "done",
        TimelineState::Failed => "failed",
        TimelineState::Denied => "denied",
        TimelineState::Cancelled => "cancelled",
        TimelineState::Lost => "lost",
        TimelineState::Unsent => "not sent",
    }
}

fn tokens(row: &TimelineRow) -> String {
    row.usage.as_ref().map_or_else(String::new, |usage| {
        group_thousands(usage.input_tokens + usage.output_tokens)
    })
}

fn detail(row: &TimelineRow) -> String {
    let mut parts: Vec<String> = Vec::new();
    if let Some(attempt) = row.attempt.filter(|attempt| *attempt > 1) {
        parts.push(format!("attempt {attempt}"));
    }
    parts.extend(row.approval.as_ref().and_then(approval));
    parts.extend(row.denial.as_ref().map(|denial| one_line(&denial.reason)));
    parts.extend(row.text.as_deref().map(one_line));
    if let Some(result) = &row.result {
        parts.push(format!("→ {}", one_line(result)));
    }
    parts.join("; ")
}

/// The wait for a person's permission; rules decide at once.
fn approval(approval: &TimelineApproval) -> Option<String> {
    if !approval.person {
        return None;
    }
    let Some(decided) = approval.decided_at else {
        return Some("waits for permission".to_owned());
    };
    let waited = time::span(decided.saturating_sub(approval.asked_at));
    Some(match &approval.by {
        Some(by) => format!("{} answered after {waited}", one_line(by)),
        None => format!("answered after {waited}"),
    })
}
