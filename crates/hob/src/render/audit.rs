//! Formats the audit log. Pure.

use super::table::TextTable;
use super::text::{group_thousands, one_line};
use super::{ScreenStyle, TextTone, damaged_rows, rules, time};
use crate::run_ui::lines;
use hob_wire::content::ToolCall;
use hob_wire::rooms::audit::{AuditEntry, AuditListResult, AuditVerifyResult};
use hob_wire::rooms::permission::RuleTerms;
use serde::Deserialize;

pub fn list(page: &AuditListResult, screen: &ScreenStyle) -> Vec<String> {
    if page.entries.is_empty() && page.damaged.is_empty() {
        return vec!["No matching decisions.".to_owned()];
    }
    let mut table = TextTable::new()
        .number("SEQ")
        .column("AT")
        .lesser()
        .column("WHAT")
        .column("BY")
        .lesser()
        .column("CALL OR RULE");
    for entry in &page.entries {
        table.row(vec![
            entry.seq.to_string(),
            time::short(entry.at, screen),
            one_line(&entry.act),
            one_line(&entry.by),
            call(entry),
        ]);
    }
    let mut out = table.lines(screen);
    out.extend(damaged_rows::lines(&page.damaged, screen));
    if page.more
        && let Some(last) = page.entries.last()
    {
        let more = format!("More: hob audit list --before {}", last.seq);
        out.push(screen.paint(TextTone::Quiet, &more));
    }
    out
}

/// The subject of a decision, in a few words.
fn call(entry: &AuditEntry) -> String {
    let Some(tool) = &entry.tool else {
        return String::new();
    };
    if let Ok(terms) = RuleTerms::deserialize(&entry.matter["terms"]) {
        let says = terms.decision.name();
        return format!("{says} {}, {}", rules::calls(&terms), rules::reach(&terms));
    }
    let args = entry.matter.get("args").cloned().unwrap_or_default();
    lines::describe_call(&ToolCall {
        id: String::new(),
        name: tool.clone(),
        args,
    })
}

/// The result of verifying the audit log.
pub fn verified(found: &AuditVerifyResult, screen: &ScreenStyle) -> Vec<String> {
    if let Some(problem) = &found.problem {
        let line = format!("The record is not whole: {}", lines::sentence(problem));
        return vec![screen.paint(TextTone::Bad, &line)];
    }
    let entries = match found.entries {
        0 => "Nothing is recorded yet.".to_owned(),
        1 => "1 entry, whole and in order.".to_owned(),
        many => format!("{} entries, whole and in order.", group_thousands(many)),
    };
    let head = format!("head {}", one_line(&found.head));
    vec![
        screen.paint(TextTone::Good, &entries),
        screen.paint(TextTone::Quiet, &head),
    ]
}

#[cfg(test)]
#[path = "audit_tests.rs"]
mod tests;
