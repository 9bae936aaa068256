//! The handle to a service's owner task, its commands, and the view it publishes.

use super::log_buffer::ServiceLogBuffer;
use hob_kit::secret::Secret;
use hob_services::{CatalogService, FoundService};
use hob_wire::rooms::service::{ServiceState, ServiceStatus};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{mpsc, oneshot, watch};

/// A command to the owner of a service. `done` is answered once the view shows its effect.
#[derive(Debug)]
pub(super) enum ServiceCommand {
    Start {
        /// A fresh search result, so that the owner need not search again.
        found: Option<FoundService>,
        done: oneshot::Sender<()>,
    },
    Stop {
        done: oneshot::Sender<()>,
    },
    /// Kills a child that is stopping.
    Kill,
    /// Notes that the service is in use, which restarts its idle time.
    Used,
}

/// The published state of a service.
#[derive(Clone, Debug)]
pub(super) struct ServiceView {
    pub(super) status: ServiceStatus,
    pub(super) adopted: bool,
    /// The name of a server that was found running; none where hob started it.
    pub(super) server: Option<String>,
    pub(super) url: Option<String>,
    pub(super) password: Option<Secret>,
}

/// The handle to a service's owner task. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct ServiceOwnerHandle {
    pub(super) commands: mpsc::Sender<ServiceCommand>,
    pub(super) view: watch::Receiver<ServiceView>,
    pub(super) log: Arc<ServiceLogBuffer>,
    pub(super) definition: DefinitionCell,
}

/// The current definition of a service. The next start uses it.
#[derive(Clone, Debug)]
pub(super) struct DefinitionCell(Arc<Mutex<Arc<CatalogService>>>);

impl DefinitionCell {
    pub(super) fn new(service: Arc<CatalogService>) -> DefinitionCell {
        DefinitionCell(Arc::new(Mutex::new(service)))
    }

    pub(super) fn get(&self) -> Arc<CatalogService> {
        // A std mutex: held to copy or set one value.
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn set(&self, service: Arc<CatalogService>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = service;
    }
}

impl ServiceView {
    /// Returns the view of a stopped service.
    pub(super) fn stopped(name: &str) -> ServiceView {
        ServiceView {
            status: ServiceStatus {
                name: name.to_owned(),
                state: ServiceState::Stopped,
                pid: None,
                port: None,
                detail: None,
                last_exit: None,
                restarts: 0,
            },
            adopted: false,
            server: None,
            url: None,
            password: None,
        }
    }

    /// Returns true if nothing of the service lives and nothing is about to start.
    pub(super) fn is_at_rest(&self) -> bool {
        let state = self.status.state;
        matches!(state, ServiceState::Stopped | ServiceState::Failed)
    }
}

impl ServiceOwnerHandle {
    pub(super) fn state(&self) -> ServiceState {
        self.view.borrow().status.state
    }

    /// Returns true if nothing of the service lives and nothing is about to start.
    pub(super) fn is_at_rest(&self) -> bool {
        self.view.borrow().is_at_rest()
    }

    /// Sends a command and waits until the view shows its effect.
    pub(super) async fn send(&self, command: impl FnOnce(oneshot::Sender<()>) -> ServiceCommand) {
        let (done, taken) = oneshot::channel();
        if self.commands.send(command(done)).await.is_ok() {
            // An owner that has ended has stopped its service.
            let _ = taken.await;
        }
    }
}
