//! How a keeper is reached, and what others see of its service.

use super::logbook::LogBook;
use hob_kit::secret::Secret;
use hob_services::{Found, Shelved};
use hob_wire::rooms::service::{ServiceState, ServiceStatus};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{mpsc, oneshot, watch};

/// What a keeper is told. Each is answered once its effect is in the view.
#[derive(Debug)]
pub(super) enum Command {
    Start {
        /// What a moment ago was there to start.
        found: Option<Found>,
        done: oneshot::Sender<()>,
    },
    Stop {
        done: oneshot::Sender<()>,
    },
    /// End what stops at once.
    Kill,
    /// It is in use.
    Used,
}

/// What others see of a service.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub(super) status: ServiceStatus,
    pub(super) adopted: bool,
    /// What was found running, for people; none where hob started it.
    pub(super) server: Option<String>,
    pub(super) url: Option<String>,
    pub(super) password: Option<Secret>,
}

/// How a keeper is reached.
#[derive(Clone, Debug)]
pub(super) struct Handle {
    pub(super) commands: mpsc::Sender<Command>,
    pub(super) view: watch::Receiver<View>,
    pub(super) log: Arc<LogBook>,
    pub(super) slot: Slot,
}

/// The service as it is described now; the next start goes by it.
#[derive(Clone, Debug)]
pub(super) struct Slot(Arc<Mutex<Arc<Shelved>>>);

impl Slot {
    pub(super) fn new(shelved: Arc<Shelved>) -> Slot {
        Slot(Arc::new(Mutex::new(shelved)))
    }

    pub(super) fn get(&self) -> Arc<Shelved> {
        // A std mutex, held to copy or set one value.
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn set(&self, shelved: Arc<Shelved>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = shelved;
    }
}

impl View {
    /// A service that rests.
    pub(super) fn stopped(name: &str) -> View {
        View {
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

    /// Whether nothing of it lives and nothing is about to start.
    pub(super) fn rests(&self) -> bool {
        let state = self.status.state;
        matches!(state, ServiceState::Stopped | ServiceState::Failed)
    }
}

impl Handle {
    pub(super) fn state(&self) -> ServiceState {
        self.view.borrow().status.state
    }

    /// Whether nothing of it lives and nothing is about to start.
    pub(super) fn rests(&self) -> bool {
        self.view.borrow().rests()
    }

    /// Tells the keeper and waits until it has taken it up.
    pub(super) async fn tell(&self, command: impl FnOnce(oneshot::Sender<()>) -> Command) {
        let (done, taken) = oneshot::channel();
        if self.commands.send(command(done)).await.is_ok() {
            // A keeper that is gone has stopped its service.
            let _ = taken.await;
        }
    }
}
