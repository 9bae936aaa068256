//! The daemon: its version, its home, its listeners, the state of its files. Pure.

use super::{ListContent, ListRow};
use crate::text::{Role, ago};
use hob_wire::rooms::daemon::{DaemonStatus, StoreState};

pub(super) fn content(status: &DaemonStatus, wall_ms: u64) -> ListContent {
    let is_ready = status.store.state == StoreState::Ready;
    let store = if is_ready {
        ("ready".to_owned(), Role::Good)
    } else {
        let message = status.store.message.clone();
        (message.unwrap_or_else(|| "not ready".to_owned()), Role::Bad)
    };
    let plain = |text: String| (text, Role::Plain);
    let mut facts = vec![
        ("version", plain(status.version.clone())),
        ("home", plain(status.home.clone())),
        ("process", plain(status.pid.to_string())),
        (
            "started",
            plain(format!("{} ago", ago(status.started_at, wall_ms))),
        ),
        ("sessions", plain(status.sessions.to_string())),
        ("files", store),
    ];
    facts.extend(
        status
            .listeners
            .iter()
            .map(|it| ("listens", plain(it.clone()))),
    );
    let rows = facts.into_iter().enumerate().map(|(index, (name, value))| {
        let cells = vec![(name.to_owned(), Role::Quiet), value];
        ListRow::new(index.to_string(), cells)
    });
    let losses = status.store.losses.iter().chain(&status.store.findings);
    ListContent {
        heads: vec!["FACT", "VALUE"],
        rows: rows.collect(),
        notes: status.notes.iter().chain(losses).cloned().collect(),
        empty: "",
    }
}
