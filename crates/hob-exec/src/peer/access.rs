//! The opt-in listeners that the processes of a service may connect to: a table from the shim of
//! each running service to the listeners of its description.
//!
//! Invariant: an entry is added before the service's program starts and identifies the shim by pid
//! and start time. Neither an early connection nor a reused pid can be mistaken.

use super::process::ProcessHandle;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Generations that are searched above a process; no service has such a deep tree.
const GENERATIONS_MAX: usize = 64;

/// The table; cheap to clone.
#[derive(Clone, Debug, Default)]
// A std mutex: held to look up or change the table, never over an await.
pub struct ListenerAccess(Arc<Mutex<BTreeMap<i32, ShimEntry>>>);

/// A running service and the listeners it may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListeningService {
    pub name: String,
    /// The listeners that its description names.
    pub listeners: Vec<String>,
}

impl ListeningService {
    pub(super) fn may_use(&self, listener: &str) -> bool {
        self.listeners.iter().any(|name| name == listener)
    }
}

#[derive(Debug)]
struct ShimEntry {
    started: u64,
    service: ListeningService,
}

/// A guard of a table entry; dropping it removes the entry.
#[derive(Debug)]
pub(crate) struct AccessEntry {
    access: ListenerAccess,
    pid: i32,
}

impl ListenerAccess {
    /// Adds the shim of a service that is about to start.
    pub(crate) fn register(&self, shim: i32, service: ListeningService) -> Option<AccessEntry> {
        let started = ProcessHandle::open(shim)?.stat()?.started;
        self.table().insert(shim, ShimEntry { started, service });
        Some(AccessEntry {
            access: self.clone(),
            pid: shim,
        })
    }

    /// Returns the service of a process: the one whose shim, a child of `daemon`, is its ancestor.
    pub(super) fn service_above(
        &self,
        process: &ProcessHandle,
        daemon: i32,
    ) -> Option<ListeningService> {
        let mut pid = process.pid;
        let mut stat = process.stat()?;
        for _ in 0..GENERATIONS_MAX {
            if stat.parent == daemon {
                let table = self.table();
                let shim = table.get(&pid)?;
                return (shim.started == stat.started).then(|| shim.service.clone());
            }
            let parent = ProcessHandle::open(stat.parent)?.stat()?;
            // A parent is older than its child. A younger process has only reused the parent's pid.
            if parent.started > stat.started {
                return None;
            }
            (pid, stat) = (stat.parent, parent);
        }
        None
    }

    fn table(&self) -> MutexGuard<'_, BTreeMap<i32, ShimEntry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for AccessEntry {
    fn drop(&mut self) {
        self.access.table().remove(&self.pid);
    }
}
