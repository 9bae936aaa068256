//! What is looked at before SQLite may open the files. SQLite would take a missing database for a
//! new one, delete the log beside an empty one, and drop a damaged end of the log without a word.
//!
//! Invariants: a home that lived is never begun anew by itself; a copy of a damaged log is made
//! before anything is written. What the files mean together is judged in `findings`.

use crate::connection::beside;
use crate::error::{StoreError, mend};
use crate::findings::{Evidence, Finding, Held, judge};
use crate::mark::{Mark, MarkState};
use crate::wal::{self, Scan};
use hob_kit::failpoint;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// A database file is at least its header.
const HEADER_BYTES: usize = 100;
/// Damaged logs kept beside the database.
const COPIES_MAX: usize = 8;

/// What the files say before they are opened.
#[derive(Debug)]
pub(crate) struct Inspection {
    /// No database yet, and none is missed.
    pub(crate) fresh: bool,
    pub(crate) mark: MarkState,
    pub(crate) scan: Scan,
    lived: bool,
}

impl Inspection {
    /// Whether the former daemon ended without closing the store.
    pub(crate) fn unclean(&self) -> bool {
        let open = self.mark.claim().is_none_or(|claim| !claim.closed);
        !self.fresh && (open || self.scan.bytes > 0)
    }

    /// What the files say together with what the opened database holds.
    pub(crate) fn findings(&self, database: &Path, held: Option<Held>) -> Vec<Finding> {
        if self.fresh || failpoint::broken(4) {
            return Vec::new();
        }
        judge(&Evidence {
            database,
            lived: self.lived,
            mark: self.mark,
            log: &self.scan,
            held,
        })
    }
}

/// Looks at the database's files without changing them.
pub(crate) fn inspect(database: &Path, had_life: bool) -> Result<Inspection, StoreError> {
    let wal_path = beside(database, "-wal");
    let mark_path = beside(database, ".mark");
    let mark = Mark::read(&mark_path).map_err(|error| unreadable(&mark_path, &error))?;
    let scan = wal::scan(&wal_path).map_err(|error| unreadable(&wal_path, &error))?;
    // The mark comes after the database, so there was one even if the mark cannot be read.
    let lived = had_life || mark != MarkState::Missing;
    let fresh = match check_database(database, lived) {
        Err(_) if failpoint::broken(4) => true,
        other => other?,
    };
    if fresh && scan.bytes > 0 && !failpoint::broken(4) {
        return Err(StoreError::Damaged {
            file: database.to_owned(),
            what: format!(
                "the database is missing or empty, but its log '{}' is not. {}",
                wal_path.display(),
                mend(database)
            ),
        });
    }
    Ok(Inspection {
        fresh,
        mark,
        scan,
        lived: had_life,
    })
}

/// Copies a damaged log aside; says so, or why not.
pub(crate) fn keep_copy(database: &Path, now_ms: u64) -> String {
    let wal_path = beside(database, "-wal");
    let copy = beside(database, &format!("-wal.damaged-{now_ms}"));
    match copies(database) {
        Ok(count) if count >= COPIES_MAX => {
            return format!(
                "{COPIES_MAX} copies of damaged logs are kept already, so none was made of this one."
            );
        }
        Ok(_) => {}
        Err(error) => return format!("No copy of the damaged log could be made: {error}."),
    }
    let copied = fs::copy(&wal_path, &copy).and_then(|_| File::open(&copy)?.sync_all());
    match copied {
        Ok(()) => format!("The damaged log is kept as '{}'.", copy.display()),
        Err(error) => format!("No copy of the damaged log could be made: {error}."),
    }
}

fn copies(database: &Path) -> io::Result<usize> {
    let prefix = beside(database, "-wal.damaged-");
    let prefix = prefix.file_name().unwrap_or_default().as_encoded_bytes();
    let folder = database.parent().unwrap_or(Path::new("."));
    let names = fs::read_dir(folder)?.filter_map(Result::ok);
    Ok(names
        .filter(|entry| entry.file_name().as_encoded_bytes().starts_with(prefix))
        .count())
}

/// Whether the database is yet to be made; refuses one that is missing or not a database.
fn check_database(database: &Path, lived: bool) -> Result<bool, StoreError> {
    let damaged = |what: String| StoreError::Damaged {
        file: database.to_owned(),
        what,
    };
    let mut header = Vec::with_capacity(HEADER_BYTES);
    match File::open(database) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && lived => {
            return Err(damaged(format!(
                "the database is missing, though this home had one. {}",
                mend(database)
            )));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(unreadable(database, &error)),
        Ok(file) => file
            .take(HEADER_BYTES as u64)
            .read_to_end(&mut header)
            .map_err(|error| unreadable(database, &error))?,
    };
    match header.len() {
        0 if lived => Err(damaged(format!(
            "the database is empty, though this home had one. {}",
            mend(database)
        ))),
        0 => Ok(true),
        HEADER_BYTES if header.starts_with(MAGIC) => Ok(false),
        _ => Err(damaged(format!(
            "this is not a database: its first bytes are wrong. {}",
            mend(database)
        ))),
    }
}

fn unreadable(path: &Path, error: &io::Error) -> StoreError {
    StoreError::Io(format!("'{}' cannot be read: {error}", path.display()))
}

#[cfg(test)]
#[path = "inspect_tests.rs"]
mod tests;
