//! The sessions, most recently used first, children below their parents. Pure.

use super::{ListContent, ListRow, RowAction};
use crate::text::{Role, ago};
use hob_wire::rooms::session::{Session, SessionListResult};
use std::collections::{BTreeMap, BTreeSet};

/// The deepest child that is indented further.
const DEPTH_MAX: usize = 4;

pub(super) fn content(list: &SessionListResult, wall_ms: u64) -> ListContent {
    let known: BTreeSet<String> = list.sessions.iter().map(|it| it.id.to_string()).collect();
    let mut children: BTreeMap<String, Vec<&Session>> = BTreeMap::new();
    let mut roots = Vec::new();
    for session in &list.sessions {
        let parent = session.parent.map(|parent| parent.to_string());
        match parent.filter(|parent| known.contains(parent)) {
            Some(parent) => children.entry(parent).or_default().push(session),
            None => roots.push(session),
        }
    }
    let mut rows = Vec::new();
    let mut left: Vec<(usize, &Session)> = roots.into_iter().rev().map(|it| (0, it)).collect();
    while let Some((depth, session)) = left.pop() {
        rows.push(row(session, depth, wall_ms));
        let below = children.remove(&session.id.to_string()).unwrap_or_default();
        left.extend(below.into_iter().rev().map(|it| (depth + 1, it)));
    }
    let notes = list
        .next
        .as_ref()
        .map(|_| "Older sessions: hob session list".to_owned());
    ListContent {
        heads: vec!["SESSION", "TITLE", "KIND", "MESSAGES", "USED"],
        rows,
        notes: notes.into_iter().collect(),
        empty: "There are no sessions yet.",
    }
}

fn row(session: &Session, depth: usize, wall_ms: u64) -> ListRow {
    let indent = "  ".repeat(depth.min(DEPTH_MAX));
    let mark = if depth > 0 { "└ " } else { "" };
    let title = session.label.as_deref().or(session.title.as_deref());
    let cells = vec![
        (
            format!("{indent}{mark}{}", session.session_key),
            Role::Plain,
        ),
        (title.unwrap_or_default().to_owned(), Role::Plain),
        (session.kind.clone(), Role::Quiet),
        (session.messages.to_string(), Role::Quiet),
        (ago(session.updated_at, wall_ms), Role::Quiet),
    ];
    let key = session.session_key.clone();
    ListRow::new(session.id.to_string(), cells).doing(RowAction::OpenSession(key))
}
