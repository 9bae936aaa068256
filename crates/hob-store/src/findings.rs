//! What a start says about its files: whether acknowledged writes are lost, may be, or are not.
//!
//! Three witnesses are compared: the mark, which names the last acknowledged commit; the
//! write-ahead log, which holds what is not yet in the database; and the database as SQLite reads
//! it with that log. Commits follow each other, so a database that holds the last event and the
//! last silent commit of the mark holds everything before them too, whatever became of the log.
//!
//! Invariant: "nothing is lost" and "was not acknowledged" are said only where the mark says so.

use crate::connection::beside;
use crate::mark::{Claim, MarkState};
use crate::value::number;
use crate::wal::{End, Scan};
use rusqlite::{Connection, OptionalExtension};
use std::path::{Path, PathBuf};

/// Something unusual that start-up met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) loss: Loss,
    pub(crate) text: String,
}

/// What a finding means for acknowledged writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Loss {
    None,
    /// Nobody can tell.
    Possible,
    Certain,
}

/// How far an opened database goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    /// Starts it has seen.
    pub(crate) epoch: u64,
    /// The last event it holds, or once held.
    pub(crate) seq: u64,
    pub(crate) silent_commits: u64,
}

impl Held {
    pub(crate) fn read(sql: &Connection) -> rusqlite::Result<Held> {
        let floor = fact(sql, "event_floor")?.unwrap_or(0);
        Ok(Held {
            epoch: fact(sql, "epoch")?.unwrap_or(0),
            seq: crate::events::bounds(sql, floor)?.last,
            silent_commits: fact(sql, "silent_commits")?.unwrap_or(0),
        })
    }
}

/// A number that the database keeps about itself.
pub(crate) fn fact(sql: &Connection, name: &str) -> rusqlite::Result<Option<u64>> {
    let select = "SELECT value FROM meta WHERE name = ?1";
    sql.query_row(select, [name], |row| number(row, 0))
        .optional()
}

/// Everything known about the files of a database.
#[derive(Debug)]
pub(crate) struct Evidence<'a> {
    pub(crate) database: &'a Path,
    /// Whether this home had a database before, as its lock file says.
    pub(crate) lived: bool,
    pub(crate) mark: MarkState,
    pub(crate) log: &'a Scan,
    /// None when the database cannot be read so far.
    pub(crate) held: Option<Held>,
}

/// Judges the files of a database that exists.
pub(crate) fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    match (evidence.mark, evidence.held) {
        (MarkState::Whole(claim), Some(held)) => evidence.with_mark(claim, held),
        (MarkState::Whole(claim), None) => evidence.by_frames(claim),
        (MarkState::Missing | MarkState::Damaged, _) => evidence.without_mark(),
    }
    .into_iter()
    .collect()
}

impl Evidence<'_> {
    fn with_mark(&self, claim: Claim, held: Held) -> Option<Finding> {
        let silent_lost = claim
            .silent_commits
            .map_or(0, |claimed| claimed.saturating_sub(held.silent_commits));
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

    /// An unusual end of a log from which nothing is missing, as far as the mark knows.
    fn odd_log_end(&self, claim: Claim) -> Option<Finding> {
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
            End::Clean => None,
            End::Unfinished { offset } | End::Torn { offset } => harmless(format!(
                "'{name}' ends in a write that was cut off at byte {offset} and is left out. \
                 '{}' knows of no acknowledged write in it.",
                self.mark_path().display()
            )),
            End::NoHeader => possible(format!(
                "'{name}' has a damaged header: nothing of its {} bytes can be read.{known}",
                self.log.bytes
            )),
            End::Damaged { .. } => {
                let what = self.damaged_log();
                certain(format!("{what}{known}"))
            }
        }
    }

    /// The database cannot be read, so only the lengths of the log can be compared.
    fn by_frames(&self, claim: Claim) -> Option<Finding> {
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

    fn without_mark(&self) -> Option<Finding> {
        let is_expected = self.lived || self.held.is_none_or(|held| held.epoch > 1 || held.seq > 0);
        // The first start was cut off before its mark was written: nothing was acknowledged yet.
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
            End::Clean => possible(format!(
                "{mark}, so a missing end of '{log}' could not be noticed.{held}"
            )),
            End::Unfinished { offset } | End::Torn { offset } => possible(format!(
                "{mark}, and '{log}' is not whole at byte {offset}. What it held from there on is \
                 left out; {unknown}.{held}"
            )),
            End::NoHeader | End::Damaged { .. } => {
                certain(format!("{mark}. {}{held}", self.damaged_log()))
            }
        }
    }

    /// How the log lies there, as a sentence.
    fn log_state(&self) -> String {
        let log = self.log_path();
        let name = log.display();
        match self.log.end {
            _ if self.log.bytes == 0 => {
                format!("'{name}' is missing or empty (as after restoring an older copy).")
            }
            End::NoHeader => format!("'{name}' cannot be read from its first byte on."),
            End::Clean => format!("'{name}' ends at byte {}.", self.log.bytes),
            End::Unfinished { offset } | End::Torn { offset } | End::Damaged { offset, .. } => {
                format!("'{name}' cannot be read from byte {offset} on.")
            }
        }
    }

    /// What a damaged log has lost for certain, as a sentence.
    fn damaged_log(&self) -> String {
        let log = self.log_path();
        let name = log.display();
        match self.log.end {
            End::Damaged {
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
        beside(self.database, "-wal")
    }

    fn mark_path(&self) -> PathBuf {
        beside(self.database, ".mark")
    }
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "each branch of a judgement ends in one"
)]
fn finding(loss: Loss, text: String) -> Option<Finding> {
    Some(Finding { loss, text })
}

fn certain(text: String) -> Option<Finding> {
    finding(Loss::Certain, text)
}

fn possible(text: String) -> Option<Finding> {
    finding(Loss::Possible, text)
}

fn harmless(text: String) -> Option<Finding> {
    finding(Loss::None, text)
}

#[cfg(test)]
#[path = "findings_tests.rs"]
mod tests;
