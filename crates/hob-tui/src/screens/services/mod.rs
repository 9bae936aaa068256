//! The managed services and their states. Pure.

use super::{ListContent, ListRow, RowAction};
use crate::text::Role;
use hob_wire::rooms::service::{ManagedService, ServiceListResult, ServiceState};

pub(super) fn content(list: &ServiceListResult) -> ListContent {
    let broken = list.broken.iter();
    let broken = broken.map(|it| format!("{}: {}", it.name, it.problem));
    ListContent {
        heads: vec!["SERVICE", "STATE", "PORT", "ABOUT"],
        rows: list.services.iter().map(row).collect(),
        notes: list.problems.iter().cloned().chain(broken).collect(),
        empty: "There are no services.",
    }
}

fn row(service: &ManagedService) -> ListRow {
    let status = &service.status;
    let (state, role) = match status.state {
        _ if !service.installed && service.installable => ("not installed", Role::Quiet),
        _ if !service.installed => ("not here", Role::Quiet),
        ServiceState::Running => ("running", Role::Good),
        ServiceState::Starting | ServiceState::Stopping => (status.state.name(), Role::Accent),
        ServiceState::Backoff => ("backoff", Role::Warning),
        ServiceState::Failed => ("failed", Role::Bad),
        ServiceState::Stopped => ("stopped", Role::Quiet),
    };
    let detail = status.detail.as_ref().or(service.missing.as_ref());
    let cells = vec![
        (status.name.clone(), Role::Plain),
        (state.to_owned(), role),
        (
            status
                .port
                .map_or_else(String::new, |port| port.to_string()),
            Role::Quiet,
        ),
        (detail.unwrap_or(&service.about).clone(), Role::Quiet),
    ];
    let row = ListRow::new(status.name.clone(), cells);
    if !service.installed || service.adopted {
        return row;
    }
    row.doing(RowAction::Service {
        name: status.name.clone(),
        is_running: !matches!(status.state, ServiceState::Stopped | ServiceState::Failed),
    })
}
