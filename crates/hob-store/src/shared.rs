//! What the writer's thread and the handles of the store share.

use crate::blobs::Blobs;
use crate::health::Health;
use crate::lanes::Lanes;
use crate::log_history::LogHistory;
use crate::opened_files::OpenedFiles;
use crate::readers::Readers;
use hob_bus::LogBounds;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) lanes: Lanes,
    pub(crate) health: Arc<Health>,
    pub(crate) readers: Arc<Readers>,
    pub(crate) blobs: Arc<Blobs>,
    pub(crate) files: OpenedFiles,
    pub(crate) log_history: LogHistory,
    /// A std mutex, because it is held for a few lines without await.
    bounds: Mutex<LogBounds>,
    /// Rises with each commit that changed rules beside the room that holds them in memory.
    rules_version: AtomicU64,
}

/// What they share from the start.
#[derive(Debug)]
pub(crate) struct SharedParts {
    pub(crate) health: Arc<Health>,
    pub(crate) readers: Arc<Readers>,
    pub(crate) blobs: Blobs,
    pub(crate) files: OpenedFiles,
    pub(crate) bounds: LogBounds,
    pub(crate) log_history: LogHistory,
}

impl Shared {
    pub(crate) fn new(parts: SharedParts) -> Self {
        Shared {
            lanes: Lanes::new(),
            health: parts.health,
            readers: parts.readers,
            blobs: Arc::new(parts.blobs),
            files: parts.files,
            bounds: Mutex::new(parts.bounds),
            log_history: parts.log_history,
            rules_version: AtomicU64::new(0),
        }
    }

    pub(crate) fn rules_version(&self) -> u64 {
        self.rules_version.load(Ordering::Acquire)
    }

    /// Called after a commit and before it is answered.
    pub(crate) fn raise_rules_version(&self) {
        self.rules_version.fetch_add(1, Ordering::AcqRel);
    }

    /// The ends of the event log, as of the last commit.
    pub(crate) fn bounds(&self) -> LogBounds {
        *self.bounds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves the ends forward after a commit.
    pub(crate) fn advance(&self, last: u64, trimmed_to: Option<u64>) {
        let mut bounds = self.bounds.lock().unwrap_or_else(PoisonError::into_inner);
        bounds.last = bounds.last.max(last);
        if let Some(trimmed_to) = trimmed_to {
            bounds.first = bounds.first.max(trimmed_to + 1);
        }
    }
}
