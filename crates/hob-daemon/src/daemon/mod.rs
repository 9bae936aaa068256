//! `daemon.*`: status of the daemon, and verification of its store.

use hob_bus::{EventEmitter, Room};
use hob_store::Store;
use hob_wire::rooms::daemon::{
    DaemonStatus, DaemonVerifyResult, DaemonVerifyingPayload, Status, Verify, Verifying,
};
use hob_wire::{ErrorCode, WireError};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// Interval between progress events of a check.
const PROGRESS_EVERY: Duration = Duration::from_millis(500);

/// Facts for the status besides those of the store.
#[derive(Clone, Debug)]
pub struct DaemonFacts {
    pub version: String,
    /// Milliseconds since 1970.
    pub started_at: u64,
    pub home: String,
    /// Each listener as `surface address`. Set when the gateway is open, which is after the rooms
    /// are served.
    pub listeners: Arc<OnceLock<Vec<String>>>,
    /// Notes about the listeners for the person; set at the same time.
    pub notes: Arc<OnceLock<Vec<String>>>,
}

/// The service `daemon`.
pub fn room(facts: DaemonFacts, store: Store, emitter: EventEmitter) -> Room {
    // One check at a time: it reads the whole store, and several would slow each other down.
    let checks = Arc::new(Semaphore::new(1));
    let verified = store.clone();
    let room = Room::new("daemon").event::<Verifying>();
    let room = room.method::<Verify, _, _>(move |_, _| {
        let (store, emitter) = (verified.clone(), emitter.clone());
        let checks = Arc::clone(&checks);
        async move {
            let Ok(_turn) = checks.try_acquire() else {
                let message = "The store is being checked already. Try again when that is done.";
                return Err(WireError::new(ErrorCode::Overloaded, message));
            };
            verify(store, emitter).await
        }
    });
    room.method::<Status, _, _>(move |_, _| {
        let (facts, store) = (facts.clone(), store.clone());
        async move {
            // A failed count must not hide the status.
            let sessions = store.session_count().await.unwrap_or_default();
            Ok(DaemonStatus {
                version: facts.version,
                protocol: hob_wire::PROTOCOL_VERSION,
                pid: std::process::id(),
                epoch: store.epoch(),
                started_at: facts.started_at,
                home: facts.home,
                listeners: facts.listeners.get().cloned().unwrap_or_default(),
                notes: facts.notes.get().cloned().unwrap_or_default(),
                store: store.status(),
                sessions,
                seq: store.event_log().bounds().last,
            })
        }
    })
}

/// Verifies the whole store on a blocking thread.
async fn verify(store: Store, emitter: EventEmitter) -> Result<DaemonVerifyResult, WireError> {
    let checked = tokio::task::spawn_blocking(move || {
        let mut told_at = Instant::now();
        store.verify_in_use(&mut |part, checked| {
            if told_at.elapsed() >= PROGRESS_EVERY {
                told_at = Instant::now();
                let part = part.to_owned();
                emitter.emit::<Verifying>(None, &DaemonVerifyingPayload { part, checked });
            }
        })
    });
    let failed = |error: tokio::task::JoinError| {
        WireError::new(ErrorCode::Internal, format!("The check failed: {error}."))
    };
    Ok(checked.await.map_err(failed)??)
}
