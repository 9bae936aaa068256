//! What all clients of the listener share: the number of the last event, and which surface wrote
//! last in a session.
//!
//! Invariants: event numbers only increase. The table of surfaces is bounded; a forgotten session
//! has no surface until a client writes in it again.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum sessions whose surface is remembered.
const SESSIONS_MAX: usize = 1_024;

#[derive(Debug, Default)]
pub(crate) struct PryxShared {
    version: AtomicU64,
    /// A std mutex: held for a few lines, never over an await.
    surfaces: Mutex<SessionSurfaces>,
}

#[derive(Debug, Default)]
struct SessionSurfaces {
    by_session: HashMap<String, Arc<str>>,
    /// The sessions in the order they were added.
    order: VecDeque<String>,
}

impl PryxShared {
    /// Returns the number of the next event.
    pub(crate) fn next_version(&self) -> u64 {
        self.version.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Notes that a client of this surface wrote in a session.
    pub(crate) fn note_surface(&self, session: &str, surface: &str) {
        let mut surfaces = self.surfaces.lock().unwrap_or_else(PoisonError::into_inner);
        let previous = surfaces
            .by_session
            .insert(session.to_owned(), surface.into());
        if previous.is_some() {
            return;
        }
        surfaces.order.push_back(session.to_owned());
        if surfaces.order.len() > SESSIONS_MAX
            && let Some(oldest) = surfaces.order.pop_front()
        {
            surfaces.by_session.remove(&oldest);
        }
    }

    /// Forgets the surface of a session: somebody without one wrote in it.
    pub(crate) fn forget_surface(&self, session: &str) {
        let mut surfaces = self.surfaces.lock().unwrap_or_else(PoisonError::into_inner);
        if surfaces.by_session.remove(session).is_some() {
            surfaces.order.retain(|known| known != session);
        }
    }

    /// The surface of the client that wrote last in a session.
    pub(crate) fn surface_of(&self, session: &str) -> Option<Arc<str>> {
        let surfaces = self.surfaces.lock().unwrap_or_else(PoisonError::into_inner);
        surfaces.by_session.get(session).cloned()
    }
}
