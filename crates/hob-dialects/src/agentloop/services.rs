//! The service commands of an AgentLoop client, and services in AgentLoop's format.

use crate::agentloop::client::AgentLoopClient;
use crate::agentloop::types::{AgentLoopEvent, AgentLoopService, AgentLoopServiceStatus};
use hob_wire::WireError;
use hob_wire::rooms::service::{
    self, LastExit, ServiceListParams, ServiceLogPayload, ServiceSelector, ServiceStartParams,
    ServiceStatus,
};
use std::sync::{Arc, PoisonError};

/// Maximum service names remembered for one client.
const NAMES_MAX: usize = 64;

impl AgentLoopClient {
    pub(crate) fn start_service(self: &Arc<Self>, name: String) -> Result<(), WireError> {
        self.spawn_work(async move |client: Arc<AgentLoopClient>| {
            let params = ServiceStartParams {
                name: name.clone(),
                wait: false,
            };
            let status = client.caller.call::<service::Start>(&params).await?;
            client.send_service(&name, status).await;
            Ok(())
        })
    }

    pub(crate) fn stop_service(self: &Arc<Self>, name: String) -> Result<(), WireError> {
        self.spawn_work(async move |client: Arc<AgentLoopClient>| {
            let params = ServiceSelector { name: name.clone() };
            let status = client.caller.call::<service::Stop>(&params).await?;
            client.send_service(&name, status).await;
            Ok(())
        })
    }

    pub(crate) fn query_services(self: &Arc<Self>, name: Option<String>) -> Result<(), WireError> {
        self.spawn_work(async move |client: Arc<AgentLoopClient>| {
            let Some(name) = name else {
                return client.send_services().await;
            };
            let params = ServiceSelector { name: name.clone() };
            let status = client.caller.call::<service::Status>(&params).await?;
            client.send_service(&name, status).await;
            Ok(())
        })
    }

    /// Sends a service's status under the name that the client used, and remembers that name.
    async fn send_service(&self, used_name: &str, status: service::ServiceStatus) {
        {
            let mut names = self
                .service_names
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            // A client may invent aliases without end; beyond the limit the service's own name is
            // used.
            if names.len() < NAMES_MAX || names.contains_key(&status.name) {
                names.insert(status.name.clone(), used_name.to_owned());
            }
        }
        self.emit(&status_event(status, self)).await;
    }

    pub(crate) async fn send_services(&self) -> Result<(), WireError> {
        let all = ServiceListParams::default();
        let listed = self.caller.call::<service::List>(&all).await?;
        let shown = listed.services.into_iter().map(|service| service.status);
        for status in shown.filter(is_shown) {
            self.emit(&status_event(status, self)).await;
        }
        Ok(())
    }

    /// The name that this client uses for a service.
    pub(crate) fn service_name(&self, service: &str) -> String {
        let names = self
            .service_names
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        names
            .get(service)
            .map_or(service, String::as_str)
            .to_owned()
    }
}

/// The status of a service, under the client's name for it.
pub(crate) fn status_event(status: ServiceStatus, client: &AgentLoopClient) -> AgentLoopEvent {
    let name = client.service_name(&status.name);
    AgentLoopEvent::ServiceStatus {
        service: translate(status, name),
    }
}

pub(crate) fn log_event(printed: ServiceLogPayload, client: &AgentLoopClient) -> AgentLoopEvent {
    AgentLoopEvent::ServiceLog {
        name: client.service_name(&printed.name),
        stream: printed.line.stream,
        line: printed.line.text,
    }
}

/// Returns true if the service is part of the list for clients that name none.
pub(crate) fn is_shown(status: &ServiceStatus) -> bool {
    status.state != service::ServiceState::Stopped
}

fn translate(status: ServiceStatus, name: String) -> AgentLoopService {
    let state = match status.state {
        service::ServiceState::Stopped => AgentLoopServiceStatus::Stopped,
        // AgentLoop has no state for the pause before a restart.
        service::ServiceState::Starting | service::ServiceState::Backoff => {
            AgentLoopServiceStatus::Starting
        }
        service::ServiceState::Running => AgentLoopServiceStatus::Running,
        service::ServiceState::Stopping => AgentLoopServiceStatus::Stopping,
        service::ServiceState::Failed => AgentLoopServiceStatus::Error,
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
    AgentLoopService {
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
