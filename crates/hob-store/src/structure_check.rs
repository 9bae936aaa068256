//! The check of the database's structure. It tells damage from a disk that fails to read.
//!
//! SQLite lists a page that it could not read beside damaged ones, and calls a database malformed
//! when a read fails in the middle of a statement. A failed read may pass, damage does not. A new
//! connection reads the header of the file before any statement, and there SQLite reports a failed
//! read as such.
//!
//! Invariants: a database is called damaged only when two checks, each on a connection of its own,
//! found damage; a database that cannot be read is checked again until it can.

use crate::connection::open_reader;
use crate::error::{StoreError, repair_hint};
use crate::health::StoreHealth;
use crate::invariants::select_problems;
use rusqlite::{Connection, ErrorCode, ffi};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// SQLite instructions between two looks at the stop flag.
const INSTRUCTIONS_PER_LOOK: i32 = 10_000;
/// The first and the longest pause before an unreadable database is checked again. A pause lasts at
/// least as long as the check, so that checks take at most half of the disk's time.
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// Checks the structure, after an unclean end.
const STRUCTURE: &str = "PRAGMA quick_check(1)";
/// Checks the structure and the indexes, after an error that reported damage.
const STRUCTURE_AND_INDEXES: &str = "PRAGMA integrity_check(1)";

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
enum StructureFinding {
    Sound,
    /// The disk failed to read a part of the file.
    Unreadable(String),
    Damaged(StoreError),
    /// Something else was in the way, such as a lock.
    Hindered(String),
    /// The check was stopped.
    Unknown,
}

/// True if a line of SQLite's check reports a page that could not be read.
pub(crate) fn is_read_failure(line: &str) -> bool {
    let code = line.rsplit_once("error code=");
    let code = code.and_then(|(_, code)| code.trim().parse::<i32>().ok());
    // The low byte is the primary code, under which SQLite groups all failed reads and writes.
    code.is_some_and(|code| code & 0xFF == ffi::SQLITE_IOERR)
}

/// Checks the structure before anything is written; returns the error if it is damaged.
pub(crate) fn find_confirmed_damage(sql: &Connection, file: &Path) -> Option<StoreError> {
    let first = check_once(sql, file, STRUCTURE);
    if first == StructureFinding::Sound {
        return None;
    }
    // A new connection: the first may have cached a page that was read wrongly.
    let second = open_reader(file).map(|sql| check_once(&sql, file, STRUCTURE));
    match second {
        Ok(StructureFinding::Damaged(error)) => Some(error),
        // An unreadable database is checked again in the background.
        _ => None,
    }
}

/// Checks the whole structure in the background: after an unclean end, and after each error that
/// reported damage. Ends when stopped.
pub(crate) fn run_background_check(
    path: &Path,
    health: &StoreHealth,
    stop: &Arc<AtomicBool>,
    unclean: bool,
) {
    health.register_checker();
    if unclean {
        check_until_known(path, health, stop, STRUCTURE);
    }
    while !stop.load(Ordering::Relaxed) {
        if health.is_suspected() {
            check_until_known(path, health, stop, STRUCTURE_AND_INDEXES);
        } else {
            // An `unpark` before this line is remembered, so a suspicion that comes now is not
            // missed.
            std::thread::park();
        }
    }
}

/// Checks until the database is known to be sound or damaged, or until stopped.
///
/// This is the one reader that holds its snapshot longer than a second: a check in parts could not
/// tell a page that moved from a lost one. The write-ahead log grows meanwhile.
fn check_until_known(path: &Path, health: &StoreHealth, stop: &Arc<AtomicBool>, how: &str) {
    let mut history = CheckHistory::default();
    let mut pause = PAUSE_MIN;
    let mut logged = StructureFinding::Sound;
    while !stop.load(Ordering::Relaxed) {
        // Before the check reads: an error that comes during it must lead to another check.
        health.begin_check();
        let began = Instant::now();
        let found = check_on_new_connection(path, stop, how);
        if !matches!(found, StructureFinding::Sound | StructureFinding::Unknown) && found != logged
        {
            tracing::warn!("a check of the database failed: {found:?}");
            logged = found.clone();
        }
        match history.assess(found) {
            CheckVerdict::Sound => return health.mark_sound(),
            CheckVerdict::Unknown => return,
            CheckVerdict::Damaged(error) => return health.confirm_damage(&error),
            // Without a pause: until the second result nobody knows whether the database may be
            // written.
            CheckVerdict::CheckAgain => continue,
            CheckVerdict::Unreadable(why) => health.mark_unreadable(&why),
            CheckVerdict::CheckLater => {}
        }
        // The store unparks this thread when it closes.
        std::thread::park_timeout(pause.max(began.elapsed()));
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// The results of the checks so far.
#[derive(Debug, Default)]
struct CheckHistory {
    /// True if the last check found damage.
    damaged: bool,
    /// True if the last check could not read.
    unreadable: bool,
}

/// The consequence of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CheckVerdict {
    Sound,
    Unknown,
    Damaged(StoreError),
    /// A first bad result, which may pass.
    CheckAgain,
    /// The result says nothing about the file.
    CheckLater,
    Unreadable(String),
}

impl CheckHistory {
    /// Adds a result: a single bad one only leads to another check.
    fn assess(&mut self, found: StructureFinding) -> CheckVerdict {
        let before = std::mem::take(self);
        match found {
            StructureFinding::Sound => CheckVerdict::Sound,
            StructureFinding::Unknown => CheckVerdict::Unknown,
            StructureFinding::Hindered(_) => {
                // A lock says nothing about the file, so the result before it still counts.
                *self = before;
                CheckVerdict::CheckLater
            }
            StructureFinding::Damaged(error) if before.damaged => CheckVerdict::Damaged(error),
            StructureFinding::Damaged(_) => {
                self.damaged = true;
                CheckVerdict::CheckAgain
            }
            StructureFinding::Unreadable(why) => {
                self.unreadable = true;
                if before.unreadable {
                    CheckVerdict::Unreadable(why)
                } else {
                    CheckVerdict::CheckAgain
                }
            }
        }
    }
}

/// Checks on a new connection, so that nothing comes from a cache.
fn check_on_new_connection(path: &Path, stop: &Arc<AtomicBool>, how: &str) -> StructureFinding {
    let opened = open_reader(path).and_then(|mut sql| {
        let stop = Arc::clone(stop);
        let stopped = move || stop.load(Ordering::Relaxed);
        sql.progress_handler(INSTRUCTIONS_PER_LOOK, Some(stopped))?;
        Ok(sql)
    });
    match opened {
        Ok(sql) => check_once(&sql, path, how),
        Err(error) => classify_error(&error, path),
    }
}

fn check_once(sql: &Connection, file: &Path, how: &str) -> StructureFinding {
    match select_problems(sql, how) {
        Ok(rows) => classify_rows(&rows, file),
        Err(error) => classify_error(&error, file),
    }
}

fn classify_rows(rows: &[String], file: &Path) -> StructureFinding {
    if rows == ["ok"] {
        return StructureFinding::Sound;
    }
    let what = rows.join("; ");
    if rows.iter().any(|row| is_read_failure(row)) {
        return StructureFinding::Unreadable(what);
    }
    StructureFinding::Damaged(StoreError::Damaged {
        file: file.to_owned(),
        what: format!("the database is damaged ({what}). {}", repair_hint(file)),
    })
}

fn classify_error(error: &rusqlite::Error, file: &Path) -> StructureFinding {
    // A stopped check says nothing about the file.
    if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) {
        return StructureFinding::Unknown;
    }
    match StoreError::from_sqlite(error, file) {
        error @ StoreError::Damaged { .. } => StructureFinding::Damaged(error),
        StoreError::Io(why) => StructureFinding::Unreadable(why),
        other => StructureFinding::Hindered(other.to_string()),
    }
}

#[cfg(test)]
#[path = "structure_check_tests.rs"]
mod tests;
