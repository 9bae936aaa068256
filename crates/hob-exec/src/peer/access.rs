//! Which opt-in listeners the processes of a service may connect to: a table from the shim of each
//! running service to what its description names.
//!
//! Invariant: an entry is made before the service's program starts and names its shim by pid and
//! start time, so that neither an early connection nor a reused pid is judged wrongly.

use super::process::Process;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Generations that are looked through above a process; no service starts so deep a tree.
const GENERATIONS_MAX: usize = 64;

/// The table; cheap to clone.
#[derive(Clone, Debug, Default)]
// A std mutex: held to look up or change the table, never over an await.
pub struct ListenerAccess(Arc<Mutex<BTreeMap<i32, Shim>>>);

/// A service that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListeningService {
    pub name: String,
    /// The listeners its description names.
    pub listeners: Vec<String>,
}

impl ListeningService {
    pub(super) fn may_use(&self, listener: &str) -> bool {
        self.listeners.iter().any(|name| name == listener)
    }
}

#[derive(Debug)]
struct Shim {
    started: u64,
    service: ListeningService,
}

/// An entry of the table; dropping it takes the entry away.
#[derive(Debug)]
pub(crate) struct AccessEntry {
    access: ListenerAccess,
    pid: i32,
}

impl ListenerAccess {
    /// Enters the shim of a service that is about to start.
    pub(crate) fn enter(&self, shim: i32, service: ListeningService) -> Option<AccessEntry> {
        let started = Process::open(shim)?.stat()?.started;
        self.table().insert(shim, Shim { started, service });
        Some(AccessEntry {
            access: self.clone(),
            pid: shim,
        })
    }

    /// The service that a process belongs to: the one whose shim, a child of `daemon`, is above it.
    pub(super) fn service_above(&self, process: &Process, daemon: i32) -> Option<ListeningService> {
        let mut pid = process.pid;
        let mut stat = process.stat()?;
        for _ in 0..GENERATIONS_MAX {
            if stat.parent == daemon {
                let table = self.table();
                let shim = table.get(&pid)?;
                return (shim.started == stat.started).then(|| shim.service.clone());
            }
            let parent = Process::open(stat.parent)?.stat()?;
            // A parent is older than its child; a younger one has only its number.
            if parent.started > stat.started {
                return None;
            }
            (pid, stat) = (stat.parent, parent);
        }
        None
    }

    fn table(&self) -> MutexGuard<'_, BTreeMap<i32, Shim>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for AccessEntry {
    fn drop(&mut self) {
        self.access.table().remove(&self.pid);
    }
}
