//! Checks of the files before SQLite opens them. SQLite would take a missing database for a new
//! one, delete the log beside an empty one, and drop a damaged end of the log silently.
//!
//! Invariants: a home that had a database never gets a new one by itself; a copy of a damaged log
//! is made before anything is written. `findings` decides what the files mean together.

use crate::connection::sibling_path;
use crate::error::{StoreError, repair_hint};
use crate::findings::{DatabasePosition, FileEvidence, StartupFinding, assess};
use crate::mark::{CommitMark, MarkState};
use crate::wal::{self, WalScan};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// The header of a database file, its least size.
const HEADER_BYTES: usize = 100;
/// Copies of damaged logs kept beside the database.
const COPIES_MAX: usize = 8;

/// The state of the files before they are opened.
#[derive(Debug)]
pub(crate) struct FileInspection {
    /// There is no database yet, and none is missing.
    pub(crate) is_new: bool,
    pub(crate) mark: MarkState,
    pub(crate) scan: WalScan,
    had_database: bool,
}

impl FileInspection {
    /// True if the last daemon ended without closing the store.
    pub(crate) fn is_unclean(&self) -> bool {
        // Without a readable mark nothing proves that the last end was orderly.
        let open = self.mark.claim().is_none_or(|claim| !claim.closed);
        !self.is_new && (open || self.scan.bytes > 0)
    }

    /// Compares the files with the content of the opened database.
    pub(crate) fn findings(
        &self,
        database: &Path,
        held: Option<DatabasePosition>,
    ) -> Vec<StartupFinding> {
        if self.is_new {
            return Vec::new();
        }
        assess(&FileEvidence {
            database,
            had_database: self.had_database,
            mark: self.mark,
            log: &self.scan,
            held,
        })
    }
}

/// Inspects the database's files without changing them.
pub(crate) fn inspect(database: &Path, had_database: bool) -> Result<FileInspection, StoreError> {
    let wal_path = sibling_path(database, "-wal");
    let mark_path = sibling_path(database, ".mark");
    let mark = CommitMark::read(&mark_path).map_err(|error| unreadable(&mark_path, &error))?;
    let scan = wal::scan(&wal_path).map_err(|error| unreadable(&wal_path, &error))?;
    // The mark is created after the database. So there was a database, even if the mark is
    // unreadable.
    let is_expected = had_database || mark != MarkState::Missing;
    let is_new = needs_creation(database, is_expected)?;
    // SQLite deletes a log without a database. This one may hold acknowledged writes.
    if is_new && scan.bytes > 0 {
        return Err(StoreError::Damaged {
            file: database.to_owned(),
            what: format!(
                "the database is missing or empty, but its log '{}' is not. {}",
                wal_path.display(),
                repair_hint(database)
            ),
        });
    }
    Ok(FileInspection {
        is_new,
        mark,
        scan,
        had_database,
    })
}

/// Copies a damaged log aside; returns a sentence that says so, or why not.
pub(crate) fn copy_damaged_log(database: &Path, now_ms: u64) -> String {
    let wal_path = sibling_path(database, "-wal");
    let copy = sibling_path(database, &format!("-wal.damaged-{now_ms}"));
    match count_copies(database) {
        // Bounded, because a disk that damages its files fills up with copies.
        Ok(count) if count >= COPIES_MAX => {
            return format!(
                "{COPIES_MAX} copies of damaged logs are kept already, so none was made of this one."
            );
        }
        Ok(_) => {}
        Err(error) => return format!("No copy of the damaged log could be made: {error}."),
    }
    // Synced: opening the database overwrites the original soon after.
    let copied = fs::copy(&wal_path, &copy).and_then(|_| File::open(&copy)?.sync_all());
    match copied {
        Ok(()) => format!("The damaged log is kept as '{}'.", copy.display()),
        Err(error) => format!("No copy of the damaged log could be made: {error}."),
    }
}

fn count_copies(database: &Path) -> io::Result<usize> {
    let prefix = sibling_path(database, "-wal.damaged-");
    let prefix = prefix.file_name().unwrap_or_default().as_encoded_bytes();
    let folder = database.parent().unwrap_or(Path::new("."));
    let names = fs::read_dir(folder)?.filter_map(Result::ok);
    Ok(names
        .filter(|entry| entry.file_name().as_encoded_bytes().starts_with(prefix))
        .count())
}

/// Returns true if the database is yet to be created; refuses a missing or foreign file.
fn needs_creation(database: &Path, is_expected: bool) -> Result<bool, StoreError> {
    let damaged = |what: String| StoreError::Damaged {
        file: database.to_owned(),
        what,
    };
    let mut header = Vec::with_capacity(HEADER_BYTES);
    match File::open(database) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && is_expected => {
            return Err(damaged(format!(
                "the database is missing, though this home had one. {}",
                repair_hint(database)
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
        0 if is_expected => Err(damaged(format!(
            "the database is empty, though this home had one. {}",
            repair_hint(database)
        ))),
        0 => Ok(true),
        HEADER_BYTES if header.starts_with(MAGIC) => Ok(false),
        _ => Err(damaged(format!(
            "this is not a database: its first bytes are wrong. {}",
            repair_hint(database)
        ))),
    }
}

fn unreadable(path: &Path, error: &io::Error) -> StoreError {
    StoreError::Io(format!("'{}' cannot be read: {error}", path.display()))
}

#[cfg(test)]
#[path = "inspect_tests.rs"]
mod tests;
