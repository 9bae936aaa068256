//! Which loops have an owner, and whose turn it is to change one.

use super::owner::{Handle, Live};
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Loops that are changed at once, at the most.
const PENS: usize = 64;

/// The loops that run.
#[derive(Debug)]
pub(super) struct Roll {
    // A std mutex: held to look up or change the table, never over an await.
    handles: Mutex<HashMap<String, Handle>>,
    /// One change of a loop at a time: what is read before it is still so.
    pens: Vec<tokio::sync::Mutex<()>>,
}

impl Default for Roll {
    fn default() -> Self {
        Roll {
            handles: Mutex::default(),
            pens: (0..PENS).map(|_| tokio::sync::Mutex::default()).collect(),
        }
    }
}

impl Roll {
    /// The turn to change this loop.
    pub(super) async fn pen(&self, name: &str) -> tokio::sync::MutexGuard<'_, ()> {
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(name);
        let place = usize::try_from(hash % PENS as u64).unwrap_or(0);
        self.pens[place].lock().await
    }

    pub(super) fn find(&self, name: &str) -> Option<Handle> {
        self.handles().get(name).cloned()
    }

    pub(super) fn live(&self, name: &str) -> Option<Live> {
        let handle = self.find(name)?;
        let live = handle.live.borrow();
        Some(live.clone())
    }

    pub(super) fn add(&self, name: &str, handle: Handle) {
        self.handles().insert(name.to_owned(), handle);
    }

    /// Takes an owner off the roll that has ended; a newer one stays.
    pub(super) fn remove(&self, name: &str, ended: &Handle) {
        let mut handles = self.handles();
        let is_same = |known: &Handle| known.is_same(ended);
        if handles.get(name).is_some_and(is_same) {
            handles.remove(name);
        }
    }

    fn handles(&self) -> MutexGuard<'_, HashMap<String, Handle>> {
        self.handles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
