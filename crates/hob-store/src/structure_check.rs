//! Whether the structure of a database is sound, and telling damage from a disk that fails to read.
//!
//! SQLite reports a page that it could not read in the same list as one that is damaged, and calls a
//! database malformed when a read fails in the middle of a statement. The first may pass, the second
//! does not. A new connection reads the head of the file before any statement, and there SQLite tells
//! a failed read from damage.
//!
//! Invariants: a database is called damaged only when two looks, each on a connection of its own,
//! found damage; while it cannot be read it is looked at again until it can.

use crate::check::problems;
use crate::connection::open_reader;
use crate::error::{StoreError, mend};
use crate::health::Health;
use rusqlite::{Connection, ErrorCode, ffi};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// SQLite instructions between two looks at whether to stop.
const INSTRUCTIONS_PER_LOOK: i32 = 10_000;
/// The first and the longest pause before a database that could not be read is looked at again. It
/// lasts at least as long as the look, so that looking takes half of the disk's time at most.
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// The structure, after an unclean end.
const STRUCTURE: &str = "PRAGMA quick_check(1)";
/// The structure and whether indexes fit their tables, after an error that spoke of damage.
const STRUCTURE_AND_INDEXES: &str = "PRAGMA integrity_check(1)";

/// What a look found.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Structure {
    Sound,
    /// The disk failed to read a part of it.
    Unreadable(String),
    Damaged(StoreError),
    /// Something else stood in the way, such as a lock.
    Hindered(String),
    /// Told to stop.
    Unknown,
}

/// Whether a line of SQLite's checks says that a page could not be read.
pub(crate) fn is_read_failure(line: &str) -> bool {
    let code = line.rsplit_once("error code=");
    let code = code.and_then(|(_, code)| code.trim().parse::<i32>().ok());
    code.is_some_and(|code| code & 0xFF == ffi::SQLITE_IOERR)
}

/// Looks at the structure before anything is written; what to tell if it is damaged.
pub(crate) fn confirmed_damage(sql: &Connection, file: &Path) -> Option<StoreError> {
    let first = look(sql, file, STRUCTURE);
    if first == Structure::Sound {
        return None;
    }
    let second = open_reader(file).map(|sql| look(&sql, file, STRUCTURE));
    match second {
        Ok(Structure::Damaged(error)) => Some(error),
        // What cannot be read now is looked at again beside normal work.
        _ => None,
    }
}

/// Looks at the whole structure beside normal work: after an unclean end, and whenever an error spoke
/// of damage. Ends when told to stop.
pub(crate) fn check_beside(path: &Path, health: &Health, stop: &Arc<AtomicBool>, unclean: bool) {
    health.register_checker();
    if unclean {
        look_until_known(path, health, stop, STRUCTURE);
    }
    while !stop.load(Ordering::Relaxed) {
        if health.is_suspected() {
            look_until_known(path, health, stop, STRUCTURE_AND_INDEXES);
        } else {
            std::thread::park();
        }
    }
}

/// Looks until the database is known to be sound or damaged, or told to stop.
///
/// This is the one reader that keeps its snapshot longer than a second: a check of parts could
/// not tell a page that moved from one that is lost. The write-ahead log grows meanwhile.
fn look_until_known(path: &Path, health: &Health, stop: &Arc<AtomicBool>, how: &str) {
    let mut looks = Looks::default();
    let mut pause = PAUSE_MIN;
    let mut told = Structure::Sound;
    while !stop.load(Ordering::Relaxed) {
        health.look_begins();
        let began = Instant::now();
        let found = look_anew(path, stop, how);
        if !matches!(found, Structure::Sound | Structure::Unknown) && found != told {
            tracing::warn!("a check of the database failed: {found:?}");
            told = found.clone();
        }
        match looks.judge(found) {
            Judged::Sound => return health.readable_again(),
            Judged::Unknown => return,
            Judged::Damaged(error) => return health.confirm_damage(&error),
            Judged::LookAgain => continue,
            Judged::Unreadable(why) => health.unreadable(&why),
            Judged::LookLater => {}
        }
        // Woken when the store closes.
        std::thread::park_timeout(pause.max(began.elapsed()));
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// What the looks so far came to.
#[derive(Debug, Default)]
struct Looks {
    /// Whether the last look found damage.
    damaged: bool,
    /// Whether the last look could not read.
    unreadable: bool,
}

/// What follows from a look.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Judged {
    Sound,
    Unknown,
    Damaged(StoreError),
    /// Seen once: it may pass.
    LookAgain,
    /// It says nothing about the file.
    LookLater,
    Unreadable(String),
}

impl Looks {
    /// What to do about one more look: a single bad one only asks for another.
    fn judge(&mut self, found: Structure) -> Judged {
        let before = std::mem::take(self);
        match found {
            Structure::Sound => Judged::Sound,
            Structure::Unknown => Judged::Unknown,
            Structure::Hindered(_) => {
                *self = before;
                Judged::LookLater
            }
            Structure::Damaged(error) if before.damaged => Judged::Damaged(error),
            Structure::Damaged(_) => {
                self.damaged = true;
                Judged::LookAgain
            }
            Structure::Unreadable(why) => {
                self.unreadable = true;
                if before.unreadable {
                    Judged::Unreadable(why)
                } else {
                    Judged::LookAgain
                }
            }
        }
    }
}

/// Looks on a connection of its own, so that nothing comes from a cache.
fn look_anew(path: &Path, stop: &Arc<AtomicBool>, how: &str) -> Structure {
    let opened = open_reader(path).and_then(|mut sql| {
        let stop = Arc::clone(stop);
        let stopped = move || stop.load(Ordering::Relaxed);
        sql.progress_handler(INSTRUCTIONS_PER_LOOK, Some(stopped))?;
        Ok(sql)
    });
    match opened {
        Ok(sql) => look(&sql, path, how),
        Err(error) => judge(&error, path),
    }
}

fn look(sql: &Connection, file: &Path, how: &str) -> Structure {
    match problems(sql, how) {
        Ok(rows) => judge_rows(&rows, file),
        Err(error) => judge(&error, file),
    }
}

fn judge_rows(rows: &[String], file: &Path) -> Structure {
    if rows == ["ok"] {
        return Structure::Sound;
    }
    let what = rows.join("; ");
    if rows.iter().any(|row| is_read_failure(row)) {
        return Structure::Unreadable(what);
    }
    Structure::Damaged(StoreError::Damaged {
        file: file.to_owned(),
        what: format!("the database is damaged ({what}). {}", mend(file)),
    })
}

fn judge(error: &rusqlite::Error, file: &Path) -> Structure {
    // Being told to stop says nothing about the file.
    if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) {
        return Structure::Unknown;
    }
    match StoreError::of_sqlite(error, file) {
        error @ StoreError::Damaged { .. } => Structure::Damaged(error),
        StoreError::Io(why) => Structure::Unreadable(why),
        other => Structure::Hindered(other.to_string()),
    }
}

#[cfg(test)]
#[path = "structure_check_tests.rs"]
mod tests;
