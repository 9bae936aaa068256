//! Whether the store takes writes now, and what start-up found. One place that writer, readers and
//! checks report to, and that `daemon.status` reads.
//!
//! Invariant: a damaged, fenced or replaced store never becomes ready again; a full one does.

use crate::error::StoreError;
use hob_wire::DamagedRow;
use hob_wire::rooms::daemon::StoreState;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Findings kept; a file that rots in a thousand places is described well enough by these.
const FINDINGS_MAX: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Health {
    /// A std mutex, because it is held for a few lines without await.
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Why writes are refused; none when they are taken.
    refusal: Option<StoreError>,
    findings: Vec<String>,
    damaged: Vec<DamagedRow>,
}

impl Health {
    /// Why a write cannot be taken now.
    pub(crate) fn refusal(&self) -> Option<StoreError> {
        self.inner().refusal.clone()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.inner().refusal == Some(StoreError::Full)
    }

    /// Takes note of an error, if it says something about the store as a whole.
    pub(crate) fn note(&self, error: &StoreError) {
        let is_lasting = matches!(
            error,
            StoreError::Damaged { .. }
                | StoreError::Fenced { .. }
                | StoreError::Replaced { .. }
                | StoreError::Closed
        );
        let is_full = *error == StoreError::Full;
        let mut inner = self.inner();
        let changes = match &inner.refusal {
            None => is_lasting || is_full,
            Some(StoreError::Full) => is_lasting,
            Some(_) => false,
        };
        if changes {
            if *error != StoreError::Closed {
                tracing::error!("{error}");
            }
            inner.refusal = Some(error.clone());
        }
    }

    /// There is room again.
    pub(crate) fn recovered(&self) {
        let mut inner = self.inner();
        if inner.refusal == Some(StoreError::Full) {
            inner.refusal = None;
            tracing::info!("there is room on the disk again; hob accepts work");
        }
    }

    pub(crate) fn found(&self, finding: String) {
        let mut inner = self.inner();
        if inner.findings.len() < FINDINGS_MAX {
            inner.findings.push(finding);
        }
    }

    /// Takes note of a damaged row, once.
    pub(crate) fn found_damaged(&self, row: &DamagedRow) {
        let mut inner = self.inner();
        if inner.damaged.len() < FINDINGS_MAX && !inner.damaged.contains(row) {
            tracing::error!("{}", row.message);
            inner.damaged.push(row.clone());
        }
    }

    /// Forgets damaged rows that are gone.
    pub(crate) fn forget_damaged(&self, is_gone: impl Fn(&DamagedRow) -> bool) {
        self.inner().damaged.retain(|row| !is_gone(row));
    }

    /// Damaged rows met since the start.
    pub(crate) fn damaged(&self) -> Vec<DamagedRow> {
        self.inner().damaged.clone()
    }

    /// State, what to do about it, findings.
    pub(crate) fn report(&self) -> (StoreState, Option<String>, Vec<String>) {
        let inner = self.inner();
        let state = match &inner.refusal {
            None | Some(StoreError::Closed) => StoreState::Ready,
            Some(StoreError::Full) => StoreState::Full,
            Some(StoreError::Fenced { .. }) => StoreState::Fenced,
            Some(StoreError::Replaced { .. }) => StoreState::Replaced,
            Some(_) => StoreState::Damaged,
        };
        let message = inner.refusal.as_ref().map(ToString::to_string);
        (state, message, inner.findings.clone())
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
