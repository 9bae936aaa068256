//! The stored rules and the mode for everything else. Pure.

use super::{ListContent, ListRow};
use crate::text::Role;
use hob_client::visible_text::visible;
use hob_wire::rooms::permission::{PermissionListResult, PermissionRule, RuleDecision, RuleTerms};

pub(super) fn content(list: &PermissionListResult) -> ListContent {
    let default = format!("Calls that no rule covers: mode {}.", list.mode.name());
    let remarks = list.notes.iter().map(|(id, note)| format!("{id}: {note}"));
    let damaged = list.damaged.len();
    let damaged = (damaged > 0).then(|| format!("{damaged} damaged rules: every call is asked."));
    let further = list
        .more
        .then(|| "More rules: hob permission list".to_owned());
    ListContent {
        heads: vec!["SAYS", "CALLS", "WHERE", "BY"],
        rows: list.rules.iter().map(row).collect(),
        notes: std::iter::once(default)
            .chain(remarks)
            .chain(damaged)
            .chain(further)
            .collect(),
        empty: "No rules are stored.",
    }
}

fn row(stored: &PermissionRule) -> ListRow {
    let role = match stored.terms.decision {
        RuleDecision::Allow => Role::Good,
        RuleDecision::Deny => Role::Bad,
        RuleDecision::Ask => Role::Warning,
    };
    let cells = vec![
        (stored.terms.decision.name().to_owned(), role),
        (calls(&stored.terms), Role::Plain),
        (place(&stored.terms), Role::Quiet),
        (visible(&stored.created_by), Role::Quiet),
    ];
    ListRow::new(stored.id.clone(), cells)
}

fn calls(terms: &RuleTerms) -> String {
    let mut words = vec![visible(&terms.tool)];
    let matches = terms.matches.iter();
    words.extend(matches.map(|(name, value)| format!("{}={}", visible(name), visible(value))));
    words.extend(
        terms
            .path
            .as_deref()
            .map(|it| format!("below {}", visible(it))),
    );
    words.extend(
        terms
            .host
            .as_deref()
            .map(|it| format!("at {}", visible(it))),
    );
    words.join(" ")
}

fn place(terms: &RuleTerms) -> String {
    let name = terms.session_key.as_deref().or(terms.folder.as_deref());
    match name {
        Some(name) => format!("{} {}", terms.scope.name(), visible(name)),
        None => terms.scope.name().to_owned(),
    }
}
