//! Services in AgentLoop's words. Pure but for the names a client uses.

use crate::agentloop::client::Client;
use hob_wire::agentloop::{Event, Service, ServiceState};
use hob_wire::rooms::service::{self, LastExit, ServiceLogPayload, ServiceStatus};

/// What a service is doing, under the name this client knows it by.
pub(crate) fn status(status: ServiceStatus, client: &Client) -> Event {
    let name = client.name_of(&status.name);
    Event::ServiceStatus {
        service: translate(status, name),
    }
}

pub(crate) fn line(printed: ServiceLogPayload, client: &Client) -> Event {
    Event::ServiceLog {
        name: client.name_of(&printed.name),
        stream: printed.line.stream,
        line: printed.line.text,
    }
}

/// Whether a client that names no service is told of this one.
pub(crate) fn is_shown(status: &ServiceStatus) -> bool {
    status.state != service::ServiceState::Stopped
}

fn translate(status: ServiceStatus, name: String) -> Service {
    let state = match status.state {
        service::ServiceState::Stopped => ServiceState::Stopped,
        service::ServiceState::Starting | service::ServiceState::Backoff => ServiceState::Starting,
        service::ServiceState::Running => ServiceState::Running,
        service::ServiceState::Stopping => ServiceState::Stopping,
        service::ServiceState::Failed => ServiceState::Error,
    };
    let (last_exit_code, killed) = match status.last_exit {
        Some(LastExit::Code(code)) => (Some(code), None),
        Some(LastExit::Signal(signal)) => (None, Some(format!("It was ended by {signal}."))),
        None => (None, None),
    };
    let failed = matches!(
        status.state,
        service::ServiceState::Failed | service::ServiceState::Backoff
    );
    let last_error = failed.then(|| status.detail.clone().or(killed)).flatten();
    Service {
        name,
        status: state,
        pid: status.pid,
        detail: status.detail,
        last_exit_code,
        last_error,
    }
}

#[cfg(test)]
#[path = "services_tests.rs"]
mod tests;
