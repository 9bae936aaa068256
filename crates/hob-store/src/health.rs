//! Whether the store takes writes now, and what start-up found. One place that writer, readers and
//! checks report to, and that `daemon.status` reads.
//!
//! SQLite calls a database malformed when a read of it fails, also if only once. So an error that
//! speaks of damage stops writes, and the check decides whether it is so.
//!
//! Invariants: a damaged, fenced or replaced store never becomes ready again; one whose disk is full
//! or fails does, as soon as the disk works; only the check calls a store damaged.

use crate::error::StoreError;
use hob_wire::DamagedRow;
use hob_wire::rooms::daemon::StoreState;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;

/// Findings kept; a file that rots in a thousand places is described well enough by these.
const FINDINGS_MAX: usize = 64;
/// Why writes are refused until the check has looked.
const SUSPICION: &str = "a part of it could not be read, and hob checks whether it is damaged";

#[derive(Debug, Default)]
pub(crate) struct Health {
    /// A std mutex, because it is held for a few lines without await.
    inner: Mutex<Inner>,
    /// The thread of the check, to be woken.
    checker: OnceLock<Thread>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Why writes are refused; none when they are taken.
    refusal: Option<StoreError>,
    /// Why the database cannot be read whole, while that lasts.
    unreadable: Option<String>,
    /// Whether an error spoke of damage since the check began its last look.
    suspected: bool,
    findings: Vec<String>,
    losses: Vec<String>,
    damaged: Vec<DamagedRow>,
}

/// What the store says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) state: StoreState,
    /// What to do when it is not ready.
    pub(crate) message: Option<String>,
    pub(crate) findings: Vec<String>,
    /// Those findings that tell of acknowledged writes that are, or may be, lost.
    pub(crate) losses: Vec<String>,
}

impl Health {
    /// Why a write cannot be taken now.
    pub(crate) fn refusal(&self) -> Option<StoreError> {
        let inner = self.inner();
        let unreadable = || inner.unreadable.clone().map(StoreError::Io);
        inner.refusal.clone().or_else(unreadable)
    }

    /// Whether writes are refused until the disk takes them again, which is tried now and then.
    pub(crate) fn awaits_disk(&self) -> bool {
        self.inner().refusal.as_ref().is_some_and(may_pass)
    }

    /// Whether writes are refused until the check has read the database whole.
    pub(crate) fn awaits_check(&self) -> bool {
        self.inner().unreadable.is_some()
    }

    /// Takes note of an error, if it says something about the store as a whole.
    pub(crate) fn note(&self, error: &StoreError) {
        match error {
            StoreError::Damaged { .. } => self.suspect(),
            _ => self.refuse(error),
        }
    }

    /// The check found damage, and found it again.
    pub(crate) fn confirm_damage(&self, error: &StoreError) {
        self.refuse(error);
    }

    /// What to tell a caller about an error: damage only once it is confirmed.
    pub(crate) fn as_known(&self, error: StoreError) -> StoreError {
        let confirmed = matches!(self.inner().refusal, Some(StoreError::Damaged { .. }));
        match error {
            StoreError::Damaged { .. } if !confirmed => StoreError::Io(SUSPICION.to_owned()),
            other => other,
        }
    }

    /// Stops writes and wakes the check.
    fn suspect(&self) {
        let mut inner = self.inner();
        if inner.refusal.as_ref().is_some_and(|now| !may_pass(now)) {
            return;
        }
        inner.suspected = true;
        // While it cannot be read the check looks again by itself.
        if inner.unreadable.is_none() {
            tracing::warn!("an error spoke of damage: {SUSPICION}");
            inner.unreadable = Some(SUSPICION.to_owned());
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
            None => is_lasting || may_pass(error),
            Some(now) if may_pass(now) => is_lasting || may_pass(error) && !is_like(now, error),
            Some(_) => false,
        };
        if changes {
            if *error != StoreError::Closed {
                tracing::error!("{error}");
            }
            inner.refusal = Some(error.clone());
        }
    }

    /// The disk takes writes again.
    pub(crate) fn recovered(&self) {
        let mut inner = self.inner();
        match inner.refusal.take_if(|refusal| may_pass(refusal)) {
            Some(StoreError::Full) => {
                tracing::info!("there is room on the disk again; hob accepts work");
            }
            Some(_) => tracing::info!("the disk works again; hob accepts work"),
            None => {}
        }
    }

    /// The database cannot be read whole, because the disk fails.
    pub(crate) fn unreadable(&self, why: &str) {
        let mut inner = self.inner();
        if inner.unreadable.is_none() {
            tracing::error!("the database cannot be read: {why}");
        }
        inner.unreadable = Some(why.to_owned());
    }

    /// The present thread is the check: it is unparked when there is something to look at.
    pub(crate) fn register_checker(&self) {
        // A store has one check, so nobody was here before.
        let _ = self.checker.set(std::thread::current());
    }

    /// Whether there is something to look at.
    pub(crate) fn is_suspected(&self) -> bool {
        self.inner().suspected
    }

    /// A look begins: it answers every suspicion so far.
    pub(crate) fn look_begins(&self) {
        self.inner().suspected = false;
    }

    /// The database was read whole and is sound.
    pub(crate) fn readable_again(&self) {
        let mut inner = self.inner();
        // Something failed since the look began: the next one decides.
        if inner.suspected {
            return;
        }
        if inner.unreadable.take().is_some() {
            tracing::info!("the database can be read again and is sound; hob accepts work");
        }
    }

    /// Keeps what start-up found.
    pub(crate) fn found(&self, finding: String, may_be_lost: bool) {
        let mut inner = self.inner();
        if inner.findings.len() < FINDINGS_MAX {
            if may_be_lost {
                inner.losses.push(finding.clone());
            }
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

    pub(crate) fn report(&self) -> Report {
        let inner = self.inner();
        let (state, message) = match (&inner.refusal, &inner.unreadable) {
            (None | Some(StoreError::Closed), None) => (StoreState::Ready, None),
            (None | Some(StoreError::Closed), Some(why)) => (
                StoreState::Failing,
                Some(format!(
                    "The disk fails to read the database ({why}). hob takes no writes, looks again \
                     now and then and goes on by itself when it can be read."
                )),
            ),
            (Some(StoreError::Io(why)), _) => (
                StoreState::Failing,
                Some(format!(
                    "The disk fails ({why}). hob takes no writes, tries again every second and \
                     goes on by itself when the disk works."
                )),
            ),
            (Some(refusal), _) => (state_of(refusal), Some(refusal.to_string())),
        };
        Report {
            state,
            message,
            findings: inner.findings.clone(),
            losses: inner.losses.clone(),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
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

/// Whether writes may work again by themselves after this.
fn may_pass(error: &StoreError) -> bool {
    matches!(error, StoreError::Full | StoreError::Io(_))
}

fn is_like(one: &StoreError, other: &StoreError) -> bool {
    std::mem::discriminant(one) == std::mem::discriminant(other)
}

#[cfg(test)]
#[path = "health_tests.rs"]
mod tests;
