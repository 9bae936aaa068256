//! State that all listeners share: the bus, the connection limit and the counters for `/metrics`.

use crate::authenticator::Authenticator;
use crate::dialect::DialectEntry;
use crate::hooks::HookLimits;
use crate::settings;
use crate::token_cache::Principal;
use bytes::Bytes;
use hob_bus::{Bus, BusLink, BusOutlet, PeerIdentity};
use hob_kit::clock::Clock;
use hob_kit::home::Home;
use hob_kit::mask::SecretMask;
use hob_kit::metrics::MetricRegistry;
use hob_kit::randomness::Randomness;
use hob_kit::settings::Settings;
use hob_kit::tasks::TaskGroup;
use hob_store::Store;
use hob_wire::{ErrorCode, WireError};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::sync::CancellationToken;

pub struct GatewayShared {
    pub bus: Bus,
    pub(crate) store: Store,
    /// hob's own folders. No client may name a file in them.
    pub home: Home,
    /// Masks secrets in what a dialect reads for a prompt.
    pub mask: SecretMask,
    pub clock: Clock,
    pub randomness: Randomness,
    pub tasks: TaskGroup,
    pub settings: watch::Receiver<Arc<Settings>>,
    /// Cancelled when the gateway stops accepting connections.
    pub accepting: CancellationToken,
    pub(crate) dialects: &'static [DialectEntry],
    /// The OpenAPI document, built at the first request.
    pub(crate) openapi_text: OnceLock<Bytes>,
    pub(crate) connections_max: usize,
    // A semaphore: permits are released by drop, also when a task panics.
    pub(crate) connections: Arc<Semaphore>,
    /// Limits on concurrent webhook calls.
    pub(crate) hook_limits: HookLimits,
    /// The authenticators of the listeners that need a token, for `/metrics`.
    pub(crate) authenticators: Vec<Arc<Authenticator>>,
    /// The metrics of the rooms, for `/metrics`.
    pub(crate) figures: MetricRegistry,
}

/// A permit for one connection; released when the last clone is dropped.
pub(crate) type ConnectionPermit = Arc<OwnedSemaphorePermit>;

impl GatewayShared {
    /// Takes a permit for a new connection, if one is free.
    pub(crate) fn try_acquire_connection(&self) -> Option<ConnectionPermit> {
        let permit = Arc::clone(&self.connections).try_acquire_owned();
        permit.ok().map(Arc::new)
    }

    pub(crate) fn connections_now(&self) -> usize {
        self.connections_max - self.connections.available_permits()
    }

    pub fn ping_interval(&self) -> Duration {
        settings::ping_interval(&self.settings.borrow())
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.accepting.is_cancelled()
    }

    /// Connects an authenticated peer to the bus.
    pub(crate) fn connect(
        &self,
        principal: &Principal,
        surface: &'static str,
        authenticator: &Authenticator,
    ) -> Result<(BusLink, BusOutlet), WireError> {
        let joined = self.bus.connect(peer(principal, surface))?;
        // A token revoked between its verification and this connect has already had its links
        // closed, so nothing would close this one.
        if authenticator.is_still_valid(principal) {
            return Ok(joined);
        }
        Err(WireError::new(
            ErrorCode::Unauthorized,
            "This token was revoked just now.",
        ))
    }
}

pub(crate) fn peer(principal: &Principal, surface: &'static str) -> PeerIdentity {
    PeerIdentity {
        name: principal.name.to_string(),
        surface,
        principal: principal.id.to_string(),
        scopes: principal.scopes.clone(),
    }
}

impl std::fmt::Debug for GatewayShared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GatewayShared")
            .field("connections_max", &self.connections_max)
            .finish_non_exhaustive()
    }
}

/// The time that queued frames of a closed link have to leave.
pub(crate) fn drain_timeout(closed: hob_bus::CloseReason) -> Duration {
    use hob_bus::CloseReason;
    let ms = match closed {
        // A revoked peer has lost the right to receive what is queued.
        CloseReason::Revoked | CloseReason::Normal => 100,
        CloseReason::Replaced => 1_000,
        // The last frame names the missing events; a slow reader needs long to reach it.
        CloseReason::Slow => 30_000,
        CloseReason::ShuttingDown => 5_000,
    };
    Duration::from_millis(ms)
}

pub(crate) fn too_many_connections() -> WireError {
    WireError::new(ErrorCode::Overloaded, "Too many connections.").retry_after(1_000)
}
