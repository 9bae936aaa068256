//! The loops that have an owner, and the locks for changing loops.

use super::owner::{LiveLoopState, LoopHandle};
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The number of locks. A loop's name decides which one it uses, so two loops may share one.
const CHANGE_LOCKS: usize = 64;

/// The loops that run.
#[derive(Debug)]
pub(super) struct LoopRegistry {
    // A std mutex: held to look up or change the table, never over an await.
    handles: Mutex<HashMap<String, LoopHandle>>,
    /// Allow one change of a loop at a time, so that a check before a write stays true.
    change_locks: Vec<tokio::sync::Mutex<()>>,
}

impl Default for LoopRegistry {
    fn default() -> Self {
        LoopRegistry {
            handles: Mutex::default(),
            change_locks: (0..CHANGE_LOCKS)
                .map(|_| tokio::sync::Mutex::default())
                .collect(),
        }
    }
}

impl LoopRegistry {
    /// Locks a loop for a change.
    pub(super) async fn lock_for_change(&self, name: &str) -> tokio::sync::MutexGuard<'_, ()> {
        // A hasher without random state: a name must always lead to the same lock.
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(name);
        let place = usize::try_from(hash % CHANGE_LOCKS as u64).unwrap_or(0);
        self.change_locks[place].lock().await
    }

    pub(super) fn find(&self, name: &str) -> Option<LoopHandle> {
        self.handles().get(name).cloned()
    }

    pub(super) fn live(&self, name: &str) -> Option<LiveLoopState> {
        let handle = self.find(name)?;
        let live = handle.live.borrow();
        Some(live.clone())
    }

    pub(super) fn add(&self, name: &str, handle: LoopHandle) {
        self.handles().insert(name.to_owned(), handle);
    }

    /// Removes an owner that has ended, unless a newer one has its place.
    pub(super) fn remove(&self, name: &str, ended: &LoopHandle) {
        let mut handles = self.handles();
        let is_same = |known: &LoopHandle| known.is_same(ended);
        if handles.get(name).is_some_and(is_same) {
            handles.remove(name);
        }
    }

    fn handles(&self) -> MutexGuard<'_, HashMap<String, LoopHandle>> {
        self.handles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
