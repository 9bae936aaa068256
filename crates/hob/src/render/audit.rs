//! The record of decisions as a person reads it. Pure.

use super::table::Table;
use super::words::{grouped, one_line};
use super::{Screen, Tone, damaged, moment, rules};
use crate::mind::lines;
use hob_wire::content::ToolCall;
use hob_wire::rooms::audit::{AuditEntry, Entries, Verified};
use hob_wire::rooms::permission::Terms;
use serde::Deserialize;

pub fn list(page: &Entries, screen: &Screen) -> Vec<String> {
    if page.entries.is_empty() && page.damaged.is_empty() {
        return vec!["Nothing was decided yet, or nothing that fits.".to_owned()];
    }
    let mut table = Table::new()
        .number("SEQ")
        .column("AT")
        .column("WHAT")
        .column("BY")
        .column("CALL OR RULE");
    for entry in &page.entries {
        table.row(vec![
            entry.seq.to_string(),
            moment::short(entry.at, screen),
            one_line(&entry.act),
            one_line(&entry.by),
            call(entry),
        ]);
    }
    let mut out = table.lines(screen);
    out.extend(damaged::lines(&page.damaged, screen));
    if page.more
        && let Some(last) = page.entries.last()
    {
        let more = format!("More: hob audit list --before {}", last.seq);
        out.push(screen.paint(Tone::Quiet, &more));
    }
    out
}

/// What was decided about, in a few words.
fn call(entry: &AuditEntry) -> String {
    let Some(tool) = &entry.tool else {
        return String::new();
    };
    if let Ok(terms) = Terms::deserialize(&entry.matter["terms"]) {
        let says = terms.decision.name();
        return format!("{says} {}, {}", rules::calls(&terms), rules::reach(&terms));
    }
    let args = entry.matter.get("args").cloned().unwrap_or_default();
    lines::call_words(&ToolCall {
        id: String::new(),
        name: tool.clone(),
        args,
    })
}

/// What checking the record found.
pub fn verified(found: &Verified, screen: &Screen) -> Vec<String> {
    if let Some(problem) = &found.problem {
        let line = format!("The record is not whole: {}", lines::sentence(problem));
        return vec![screen.paint(Tone::Bad, &line)];
    }
    let entries = match found.entries {
        0 => "Nothing is recorded yet.".to_owned(),
        1 => "1 entry, whole and in order.".to_owned(),
        many => format!("{} entries, whole and in order.", grouped(many)),
    };
    let head = format!("head {}", one_line(&found.head));
    vec![
        screen.paint(Tone::Good, &entries),
        screen.paint(Tone::Quiet, &head),
    ]
}

#[cfg(test)]
#[path = "audit_tests.rs"]
mod tests;
