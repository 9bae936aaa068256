//! The findings of a start about its files: acknowledged writes are lost, may be lost, or are not.
//!
//! Three sources are compared: the mark, which names the last acknowledged commit; the write-ahead
//! log, which holds commits that are not in the database yet; and the database as SQLite reads it
//! with that log. Commits follow each other. So a database that holds the last event and the last
//! silent commit of the mark holds everything before them too, whatever happened to the log.
//!
//! Invariant: "nothing is lost" and "was not acknowledged" are said only where the mark proves it.

use crate::connection::sibling_path;
use crate::mark::{MarkClaim, MarkState};
use crate::value::number;
use crate::wal::{WalEnd, WalScan};
use rusqlite::{Connection, OptionalExtension};
use std::path::{Path, PathBuf};

/// An unusual state of the files, found at start-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StartupFinding {
    pub(crate) loss: WriteLoss,
    pub(crate) text: String,
}

/// The meaning of a finding for acknowledged writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WriteLoss {
    None,
    /// It cannot be known.
    Possible,
    Certain,
}

/// The last commit that an opened database holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DatabasePosition {
    /// The number of starts it has seen.
    pub(crate) epoch: u64,
    /// The last event number it holds or held.
    pub(crate) seq: u64,
    pub(crate) silent_commits: u64,
}

impl DatabasePosition {
    pub(crate) fn read(sql: &Connection) -> rusqlite::Result<DatabasePosition> {
        let floor = read_meta(sql, "event_floor")?.unwrap_or(0);
        Ok(DatabasePosition {
            epoch: read_meta(sql, "epoch")?.unwrap_or(0),
            seq: crate::events::log_bounds(sql, floor)?.last,
            silent_commits: read_meta(sql, "silent_commits")?.unwrap_or(0),
        })
    }
}

/// Reads a number that the database stores about itself.
pub(crate) fn read_meta(sql: &Connection, name: &str) -> rusqlite::Result<Option<u64>> {
    let select = "SELECT value FROM meta WHERE name = ?1";
    sql.query_row(select, [name], |row| number(row, 0))
        .optional()
}

/// Everything known about the files of a database.
#[derive(Debug)]
pub(crate) struct FileEvidence<'a> {
    pub(crate) database: &'a Path,
    /// True if this home had a database before, by its lock file.
    pub(crate) had_database: bool,
    pub(crate) mark: MarkState,
    pub(crate) log: &'a WalScan,
    /// None when the database cannot be read that far.
    pub(crate) held: Option<DatabasePosition>,
}

/// Assesses the files of an existing database.
pub(crate) fn assess(evidence: &FileEvidence<'_>) -> Vec<StartupFinding> {
    match (evidence.mark, evidence.held) {
        (MarkState::Whole(claim), Some(held)) => evidence.with_mark(claim, held),
        (MarkState::Whole(claim), None) => evidence.by_frames(claim),
        (MarkState::Missing | MarkState::Damaged, _) => evidence.without_mark(),
    }
    .into_iter()
    .collect()
}

impl FileEvidence<'_> {
    fn with_mark(&self, claim: MarkClaim, held: DatabasePosition) -> Option<StartupFinding> {
        // Saturating: a crash between a commit and its mark leaves a mark that claims less than
        // there is.
        let silent_lost = claim
            .silent_commits
            .map_or(0, |claimed| claimed.saturating_sub(held.silent_commits));
        // Events are the strongest proof: their numbers have no gaps, so the lost ones can be
        // named.
        if held.seq < claim.seq {
            return certain(format!(
                "'{}' holds events up to {} only, and event {} was acknowledged: the writes of \
                 events {} to {} are lost. {}",
                self.database.display(),
                held.seq,
                claim.seq,
                held.seq + 1,
                claim.seq,
                self.log_state()
            ));
        }
        if silent_lost > 0 {
            return certain(format!(
                "'{}' holds every event that was acknowledged, up to {}, but the last {silent_lost} \
                 acknowledged writes, which had no event, are lost. {}",
                self.database.display(),
                claim.seq,
                self.log_state()
            ));
        }
        // After an orderly end the log is gone, so its length says nothing.
        let is_short = !claim.closed && claim.frames > self.log.kept_frames;
        if is_short && claim.silent_commits.is_some() && self.log.bytes == 0 {
            return harmless(format!(
                "'{}' is missing or empty: another program brought it into the database. Nothing \
                 is lost: the database holds everything that was acknowledged, up to event {}.",
                self.log_path().display(),
                claim.seq
            ));
        }
        if is_short {
            let held = format!(
                "The database holds every event that was acknowledged, up to {}",
                claim.seq
            );
            // Marks of older versions do not count writes without an event.
            return match claim.silent_commits {
                Some(_) => harmless(format!("{} {held}; nothing is lost.", self.log_state())),
                None => possible(format!(
                    "{} {held}; writes without an event that came after it may be lost.",
                    self.log_state()
                )),
            };
        }
        self.odd_log_end(claim)
    }

    /// Reports an unusual end of a log that lacks nothing, as far as the mark knows.
    fn odd_log_end(&self, claim: MarkClaim) -> Option<StartupFinding> {
        let log = self.log_path();
        let name = log.display();
        let known = self.held.map_or_else(String::new, |_| {
            format!(
                " The database holds everything that '{}' knows of, up to event {}.",
                self.mark_path().display(),
                claim.seq
            )
        });
        match self.log.end {
            WalEnd::Clean => None,
            // Everything that the mark claims is there, so the write that was cut off was never
            // acknowledged.
            WalEnd::Unfinished { offset } | WalEnd::Torn { offset } => harmless(format!(
                "'{name}' ends in a write that was cut off at byte {offset} and is left out. \
                 '{}' knows of no acknowledged write in it.",
                self.mark_path().display()
            )),
            WalEnd::NoHeader => possible(format!(
                "'{name}' has a damaged header: nothing of its {} bytes can be read.{known}",
                self.log.bytes
            )),
            WalEnd::Damaged { .. } => {
                let what = self.damaged_log();
                certain(format!("{what}{known}"))
            }
        }
    }

    /// Compares log lengths only, because the database cannot be read.
    fn by_frames(&self, claim: MarkClaim) -> Option<StartupFinding> {
        let missing = claim.frames.saturating_sub(self.log.kept_frames);
        if claim.closed || missing == 0 {
            return self.odd_log_end(claim);
        }
        certain(format!(
            "{} {missing} of {} committed frames are lost, with the transactions they held.",
            self.log_state(),
            claim.frames
        ))
    }

    fn without_mark(&self) -> Option<StartupFinding> {
        // A second start or an event proves that there was a mark once.
        let is_expected =
            self.had_database || self.held.is_none_or(|held| held.epoch > 1 || held.seq > 0);
        // The first start was interrupted before it wrote a mark, so nothing was acknowledged yet.
        if !is_expected {
            return None;
        }
        let state = match self.mark {
            MarkState::Damaged => "is damaged",
            _ => "is missing, though this home had one",
        };
        let mark = format!("'{}' {state}", self.mark_path().display());
        let log = self.log_path();
        let log = log.display();
        let held = self.held.map_or_else(String::new, |held| {
            format!(" The database holds everything up to event {}.", held.seq)
        });
        let unknown = "whether it was acknowledged cannot be known";
        match self.log.end {
            _ if self.log.bytes == 0 => possible(format!(
                "{mark}, and '{log}' is missing or empty. After an orderly stop nothing is lost; \
                 after a crash acknowledged writes may be, and nothing is left that could tell.{held}"
            )),
            WalEnd::Clean => possible(format!(
                "{mark}, so a missing end of '{log}' could not be noticed.{held}"
            )),
            WalEnd::Unfinished { offset } | WalEnd::Torn { offset } => possible(format!(
                "{mark}, and '{log}' is not whole at byte {offset}. What it held from there on is \
                 left out; {unknown}.{held}"
            )),
            WalEnd::NoHeader | WalEnd::Damaged { .. } => {
                certain(format!("{mark}. {}{held}", self.damaged_log()))
            }
        }
    }

    /// Describes the state of the log in a sentence.
    fn log_state(&self) -> String {
        let log = self.log_path();
        let name = log.display();
        match self.log.end {
            _ if self.log.bytes == 0 => {
                format!("'{name}' is missing or empty (as after restoring an older copy).")
            }
            WalEnd::NoHeader => format!("'{name}' cannot be read from its first byte on."),
            WalEnd::Clean => format!("'{name}' ends at byte {}.", self.log.bytes),
            WalEnd::Unfinished { offset }
            | WalEnd::Torn { offset }
            | WalEnd::Damaged { offset, .. } => {
                format!("'{name}' cannot be read from byte {offset} on.")
            }
        }
    }

    /// Describes the certain loss of a damaged log in a sentence.
    fn damaged_log(&self) -> String {
        let log = self.log_path();
        let name = log.display();
        match self.log.end {
            WalEnd::Damaged {
                offset,
                frames,
                transactions,
            } => format!(
                "'{name}' is damaged at byte {offset}: {frames} frames from there on, with at \
                 least {transactions} transactions, are lost. What came before is kept."
            ),
            _ => format!(
                "'{name}' has a damaged header: all it held ({} bytes) is lost.",
                self.log.bytes
            ),
        }
    }

    fn log_path(&self) -> PathBuf {
        sibling_path(self.database, "-wal")
    }

    fn mark_path(&self) -> PathBuf {
        sibling_path(self.database, ".mark")
    }
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "each branch of an assessment ends in one"
)]
fn finding(loss: WriteLoss, text: String) -> Option<StartupFinding> {
    Some(StartupFinding { loss, text })
}

fn certain(text: String) -> Option<StartupFinding> {
    finding(WriteLoss::Certain, text)
}

fn possible(text: String) -> Option<StartupFinding> {
    finding(WriteLoss::Possible, text)
}

fn harmless(text: String) -> Option<StartupFinding> {
    finding(WriteLoss::None, text)
}

#[cfg(test)]
#[path = "findings_tests.rs"]
mod tests;
