//! State that the writer's thread and the store's handles share.

use crate::blobs::BlobStore;
use crate::health::StoreHealth;
use crate::log_history::LogHistory;
use crate::opened_files::OpenedFiles;
use crate::reader_pool::ReaderPool;
use crate::writer_queue::WriterQueue;
use hob_bus::LogBounds;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug)]
pub(crate) struct StoreShared {
    pub(crate) queue: WriterQueue,
    pub(crate) health: Arc<StoreHealth>,
    pub(crate) readers: Arc<ReaderPool>,
    pub(crate) blobs: Arc<BlobStore>,
    pub(crate) files: OpenedFiles,
    pub(crate) log_history: LogHistory,
    /// A std mutex, because it is held for a few lines without await.
    bounds: Mutex<LogBounds>,
    /// Counts commits that changed rules together with a loop or a job. The permission room
    /// compares it.
    rules_version: AtomicU64,
}

/// The initial parts of [`StoreShared`].
#[derive(Debug)]
pub(crate) struct StoreSharedParts {
    pub(crate) health: Arc<StoreHealth>,
    pub(crate) readers: Arc<ReaderPool>,
    pub(crate) blobs: BlobStore,
    pub(crate) files: OpenedFiles,
    pub(crate) bounds: LogBounds,
    pub(crate) log_history: LogHistory,
}

impl StoreShared {
    pub(crate) fn new(parts: StoreSharedParts) -> Self {
        StoreShared {
            queue: WriterQueue::new(),
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

    /// Tells holders of rules in memory to read them again. Called after a commit and before its
    /// answer.
    pub(crate) fn raise_rules_version(&self) {
        self.rules_version.fetch_add(1, Ordering::AcqRel);
    }

    /// The first and last numbers of the event log, as of the last commit.
    pub(crate) fn bounds(&self) -> LogBounds {
        *self.bounds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves the bounds forward after a commit.
    pub(crate) fn advance(&self, last: u64, trimmed_to: Option<u64>) {
        let mut bounds = self.bounds.lock().unwrap_or_else(PoisonError::into_inner);
        // Never backwards: catching up after a failure reports numbers that may be known already.
        bounds.last = bounds.last.max(last);
        if let Some(trimmed_to) = trimmed_to {
            bounds.first = bounds.first.max(trimmed_to + 1);
        }
    }
}
