//! The health of the store: whether it accepts writes, and the findings of start-up. Writer,
//! readers and checks report to it, and `daemon.status` reads it.
//!
//! SQLite calls a database malformed when a read fails, even if it fails only once. So an error
//! that reports damage stops writes, and the check decides whether the damage is real.
//!
//! Invariants: a damaged, fenced or replaced store never becomes ready again; a full or failing one
//! does, as soon as the disk works; only the check calls a store damaged.

use crate::error::StoreError;
use hob_wire::DamagedRow;
use hob_wire::rooms::daemon::StoreState;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;

/// Findings that are kept. More would not help a reader.
const FINDINGS_MAX: usize = 64;
/// The reason for refusing writes until the check has ended.
const SUSPICION: &str = "a part of it could not be read, and hob checks whether it is damaged";

/// The state of the store as its threads report it.
#[derive(Debug, Default)]
pub(crate) struct StoreHealth {
    /// A std mutex, because it is held for a few lines without await.
    inner: Mutex<HealthState>,
    /// The thread of the check, to be woken.
    checker: OnceLock<Thread>,
}

#[derive(Debug, Default)]
struct HealthState {
    /// The reason for refusing writes; none when they are accepted.
    refusal: Option<StoreError>,
    /// The reason why the database cannot be read completely, while that lasts.
    unreadable: Option<String>,
    /// Set when an error reported damage after the last check began.
    suspected: bool,
    findings: Vec<String>,
    losses: Vec<String>,
    damaged: Vec<DamagedRow>,
}

/// The store's status as `daemon.status` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HealthReport {
    pub(crate) state: StoreState,
    /// Advice when the store is not ready.
    pub(crate) message: Option<String>,
    pub(crate) findings: Vec<String>,
    /// The findings about acknowledged writes that are, or may be, lost.
    pub(crate) losses: Vec<String>,
}

impl StoreHealth {
    /// Returns the error for a write that cannot be accepted now.
    pub(crate) fn refusal(&self) -> Option<StoreError> {
        let inner = self.inner();
        let unreadable = || inner.unreadable.clone().map(StoreError::Io);
        // The refusal comes first: it may be final, while an unreadable database may become
        // readable.
        inner.refusal.clone().or_else(unreadable)
    }

    /// True if writes are refused until a probe finds that the disk works again.
    pub(crate) fn is_waiting_for_disk(&self) -> bool {
        self.inner().refusal.as_ref().is_some_and(is_temporary)
    }

    /// True if writes are refused until the check has read the whole database.
    pub(crate) fn is_waiting_for_check(&self) -> bool {
        self.inner().unreadable.is_some()
    }

    /// Records an error, if it concerns the store as a whole.
    pub(crate) fn note_error(&self, error: &StoreError) {
        match error {
            StoreError::Damaged { .. } => self.suspect(),
            _ => self.refuse(error),
        }
    }

    /// Records damage that the check found twice.
    pub(crate) fn confirm_damage(&self, error: &StoreError) {
        self.refuse(error);
    }

    /// Replaces an error about damage, unless the damage is confirmed.
    pub(crate) fn hide_unconfirmed_damage(&self, error: StoreError) -> StoreError {
        let confirmed = matches!(self.inner().refusal, Some(StoreError::Damaged { .. }));
        match error {
            StoreError::Damaged { .. } if !confirmed => StoreError::Io(SUSPICION.to_owned()),
            other => other,
        }
    }

    /// Stops writes and wakes the check.
    fn suspect(&self) {
        let mut inner = self.inner();
        // After a final refusal nothing is written any more, so there is nothing to check for.
        if inner.refusal.as_ref().is_some_and(|now| !is_temporary(now)) {
            return;
        }
        inner.suspected = true;
        // A check that could not read the database repeats itself, so it needs no wake-up.
        if inner.unreadable.is_none() {
            tracing::warn!("an error spoke of damage: {SUSPICION}");
            inner.unreadable = Some(SUSPICION.to_owned());
            // Before the check has started there is nobody to wake; it looks at the flag first.
            if let Some(checker) = self.checker.get() {
                checker.unpark();
            }
        }
    }

    fn refuse(&self, error: &StoreError) {
        let is_lasting = matches!(
            error,
            StoreError::Damaged { .. }
                | StoreError::Fenced { .. }
                | StoreError::Replaced { .. }
                | StoreError::Closed
        );
        let mut inner = self.inner();
        let changes = match &inner.refusal {
            None => is_lasting || is_temporary(error),
            // A lasting refusal replaces a temporary one and is never replaced.
            Some(now) if is_temporary(now) => {
                // The same trouble again would only repeat the line in the log.
                is_lasting || is_temporary(error) && !is_same_kind(now, error)
            }
            Some(_) => false,
        };
        if changes {
            if *error != StoreError::Closed {
                tracing::error!("{error}");
            }
            inner.refusal = Some(error.clone());
        }
    }

    /// Records that the disk takes writes again.
    pub(crate) fn mark_recovered(&self) {
        let mut inner = self.inner();
        match inner.refusal.take_if(|refusal| is_temporary(refusal)) {
            Some(StoreError::Full) => {
                tracing::info!("there is room on the disk again; hob accepts work");
            }
            Some(_) => tracing::info!("the disk works again; hob accepts work"),
            // A lasting refusal stays, whatever a probe says.
            None => {}
        }
    }

    /// Records that the disk fails to read the database.
    pub(crate) fn mark_unreadable(&self, why: &str) {
        let mut inner = self.inner();
        if inner.unreadable.is_none() {
            tracing::error!("the database cannot be read: {why}");
        }
        inner.unreadable = Some(why.to_owned());
    }

    /// Registers the present thread as the check, which is unparked when there is work for it.
    pub(crate) fn register_checker(&self) {
        // A store has one check, so the cell is empty.
        let _ = self.checker.set(std::thread::current());
    }

    /// True if there is something to check.
    pub(crate) fn is_suspected(&self) -> bool {
        self.inner().suspected
    }

    /// Notes that a check begins, which covers every error reported so far.
    pub(crate) fn begin_check(&self) {
        self.inner().suspected = false;
    }

    /// Records that the database was read completely and is sound.
    pub(crate) fn mark_sound(&self) {
        let mut inner = self.inner();
        // An error was reported after this check began: the next check decides.
        if inner.suspected {
            return;
        }
        if inner.unreadable.take().is_some() {
            tracing::info!("the database can be read again and is sound; hob accepts work");
        }
    }

    /// Stores a finding of start-up.
    pub(crate) fn add_finding(&self, finding: String, may_be_lost: bool) {
        let mut inner = self.inner();
        if inner.findings.len() < FINDINGS_MAX {
            if may_be_lost {
                inner.losses.push(finding.clone());
            }
            inner.findings.push(finding);
        }
    }

    /// Stores a damaged row, once.
    pub(crate) fn add_damaged_row(&self, row: &DamagedRow) {
        let mut inner = self.inner();
        if inner.damaged.len() < FINDINGS_MAX && !inner.damaged.contains(row) {
            tracing::error!("{}", row.message);
            inner.damaged.push(row.clone());
        }
    }

    /// Removes damaged rows that no longer exist.
    pub(crate) fn forget_damaged_rows(&self, is_gone: impl Fn(&DamagedRow) -> bool) {
        self.inner().damaged.retain(|row| !is_gone(row));
    }

    /// The damaged rows that were met since the start.
    pub(crate) fn damaged_rows(&self) -> Vec<DamagedRow> {
        self.inner().damaged.clone()
    }

    pub(crate) fn report(&self) -> HealthReport {
        let inner = self.inner();
        let (state, message) = match (&inner.refusal, &inner.unreadable) {
            // An orderly end is no fault, so the store counts as ready.
            (None | Some(StoreError::Closed), None) => (StoreState::Ready, None),
            (None | Some(StoreError::Closed), Some(why)) => (
                StoreState::Failing,
                Some(format!(
                    "The disk fails to read the database ({why}). hob accepts no writes, checks \
                     again every few seconds and continues when the database can be read."
                )),
            ),
            (Some(StoreError::Io(why)), _) => (
                StoreState::Failing,
                Some(format!(
                    "The disk fails ({why}). hob accepts no writes, tries again every second and \
                     continues when the disk works."
                )),
            ),
            (Some(refusal), _) => (state_of(refusal), Some(refusal.to_string())),
        };
        HealthReport {
            state,
            message,
            findings: inner.findings.clone(),
            losses: inner.losses.clone(),
        }
    }

    fn inner(&self) -> MutexGuard<'_, HealthState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn state_of(refusal: &StoreError) -> StoreState {
    match refusal {
        StoreError::Full => StoreState::Full,
        StoreError::Fenced { .. } => StoreState::Fenced,
        StoreError::Replaced { .. } => StoreState::Replaced,
        _ => StoreState::Damaged,
    }
}

/// True if writes may work again without a restart after this error.
fn is_temporary(error: &StoreError) -> bool {
    matches!(error, StoreError::Full | StoreError::Io(_))
}

fn is_same_kind(one: &StoreError, other: &StoreError) -> bool {
    std::mem::discriminant(one) == std::mem::discriminant(other)
}

#[cfg(test)]
#[path = "health_tests.rs"]
mod tests;
