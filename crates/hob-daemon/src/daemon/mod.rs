//! `daemon.status`: what a person wants to know about the process that serves them.

use hob_bus::Room;
use hob_store::Store;
use hob_wire::rooms::daemon::{DaemonStatus, Status};
use std::sync::{Arc, OnceLock};

/// What the status tells beside the store's own.
#[derive(Clone, Debug)]
pub struct Facts {
    pub version: String,
    /// Milliseconds since 1970.
    pub started_at: u64,
    pub home: String,
    /// Each listener as `surface address`: known once the gateway is open, which is after the
    /// rooms are served.
    pub listeners: Arc<OnceLock<Vec<String>>>,
    /// What a person must know of them; known at the same time.
    pub notes: Arc<OnceLock<Vec<String>>>,
}

/// The service `daemon`.
pub fn room(facts: Facts, store: Store) -> Room {
    Room::new("daemon").method::<Status, _, _>(move |_, _| {
        let (facts, store) = (facts.clone(), store.clone());
        async move {
            // Counting reads the database; a store that cannot count still has a status.
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
