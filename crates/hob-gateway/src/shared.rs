//! What all listeners share: the bus behind them, the bound on connections, and the numbers that
//! `/metrics` shows.

use crate::book::Principal;
use crate::door::Door;
use crate::hooks::HookPlaces;
use crate::settings;
use hob_bus::{Bus, Link, Outlet, Peer};
use hob_kit::clock::Clock;
use hob_kit::dice::Dice;
use hob_kit::figures::Figures;
use hob_kit::home::Home;
use hob_kit::settings::Settings;
use hob_kit::tasks::Tasks;
use hob_store::Store;
use hob_wire::{ErrorCode, WireError};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::sync::CancellationToken;

pub(crate) struct Shared {
    pub(crate) bus: Bus,
    pub(crate) store: Store,
    /// Hob's own folders, of which no client may name a file.
    pub(crate) home: Home,
    pub(crate) clock: Clock,
    pub(crate) dice: Dice,
    pub(crate) tasks: Tasks,
    pub(crate) settings: watch::Receiver<Arc<Settings>>,
    /// Cancelled when no new connection is wanted.
    pub(crate) accepting: CancellationToken,
    pub(crate) connections_max: usize,
    pub(crate) connections: Arc<Semaphore>,
    /// Places for calls of hooks.
    pub(crate) hooks: HookPlaces,
    /// The doors that ask for a token, for `/metrics`.
    pub(crate) doors: Vec<Arc<Door>>,
    /// What rooms keep of themselves, for the same.
    pub(crate) figures: Figures,
}

/// A place among the connections; freed when its last clone is dropped.
pub(crate) type Seat = Arc<OwnedSemaphorePermit>;

impl Shared {
    /// A seat for a connection that was just accepted, if one is free.
    pub(crate) fn seat(&self) -> Option<Seat> {
        let permit = Arc::clone(&self.connections).try_acquire_owned();
        permit.ok().map(Arc::new)
    }

    pub(crate) fn connections_now(&self) -> usize {
        self.connections_max - self.connections.available_permits()
    }

    pub(crate) fn ping_interval(&self) -> Duration {
        settings::ping_interval(&self.settings.borrow())
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.accepting.is_cancelled()
    }

    /// Joins an authenticated peer to the bus.
    pub(crate) fn connect(
        &self,
        principal: &Principal,
        door: &Door,
    ) -> Result<(Link, Outlet), WireError> {
        self.connect_as(peer(principal, door.surface), principal, door)
    }

    /// Joins an authenticated peer that speaks another dialect.
    pub(crate) fn connect_as(
        &self,
        peer: Peer,
        principal: &Principal,
        door: &Door,
    ) -> Result<(Link, Outlet), WireError> {
        let joined = self.bus.connect(peer)?;
        // A token revoked after it was verified may have missed the closing of its links.
        if door.still_admits(principal) {
            return Ok(joined);
        }
        Err(WireError::new(
            ErrorCode::Unauthorized,
            "This token was revoked just now.",
        ))
    }
}

pub(crate) fn peer(principal: &Principal, surface: &'static str) -> Peer {
    Peer {
        name: principal.name.to_string(),
        surface,
        principal: principal.id.to_string(),
        scopes: principal.scopes.clone(),
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("connections_max", &self.connections_max)
            .finish_non_exhaustive()
    }
}

/// How long frames that wait on a closed link may still take to leave.
pub(crate) fn parting(closed: hob_bus::Closed) -> Duration {
    use hob_bus::Closed;
    let ms = match closed {
        // Whoever lost the right to listen waits for nothing.
        Closed::Revoked | Closed::Normal => 100,
        Closed::Replaced => 1_000,
        // The last frame says which events are missing: a slow reader is slow to come to it.
        Closed::Slow => 30_000,
        Closed::ShuttingDown => 5_000,
    };
    Duration::from_millis(ms)
}

pub(crate) fn too_many() -> WireError {
    WireError::new(ErrorCode::Overloaded, "Too many connections.").retry_after(1_000)
}

/// The bound of the codecs on a frame that comes in.
pub(crate) fn frame_bytes_max() -> usize {
    if hob_kit::failpoint::broken(31) {
        return usize::MAX;
    }
    hob_wire::limits::FRAME_BYTES_MAX
}
