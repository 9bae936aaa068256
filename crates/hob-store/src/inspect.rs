//! What is looked at before SQLite may open the files. SQLite would take a missing database for a
//! new one, delete the log beside an empty one, and drop a damaged end of the log without a word.
//!
//! Invariants: a home that lived is never begun anew by itself; whatever cannot be kept is named,
//! and a copy of the damaged log is made before anything is written.

use crate::connection::beside;
use crate::error::{StoreError, mend};
use crate::mark::{Claim, Mark};
use crate::wal::{self, End, Scan};
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
    pub(crate) claim: Option<Claim>,
    pub(crate) scan: Scan,
    pub(crate) findings: Vec<Finding>,
}

impl Inspection {
    /// Whether the former daemon ended without closing the store.
    pub(crate) fn unclean(&self) -> bool {
        let open = self.claim.is_some_and(|claim| !claim.closed);
        !self.fresh && (open || self.scan.bytes > 0)
    }

    /// Whether committed work is lost, so that what is left may not fit together.
    pub(crate) fn lost(&self) -> bool {
        self.findings.iter().any(|finding| finding.is_loss)
    }
}

/// Something unusual that start-up met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Whether committed work is, or may be, lost.
    pub(crate) is_loss: bool,
    pub(crate) text: String,
}

/// Looks at the database's files without changing them.
pub(crate) fn inspect(database: &Path, had_life: bool) -> Result<Inspection, StoreError> {
    let wal_path = beside(database, "-wal");
    let claim = Mark::read(&beside(database, ".mark"));
    let scan = wal::scan(&wal_path).map_err(|error| unreadable(&wal_path, &error))?;
    let lived = had_life || claim.is_some();
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
    let finding = judge(&wal_path, &scan, claim.filter(|claim| !claim.closed));
    Ok(Inspection {
        fresh,
        claim,
        scan,
        findings: finding.into_iter().collect(),
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

/// What the log's end means, given what its mark claims.
fn judge(wal_path: &Path, scan: &Scan, claim: Option<Claim>) -> Option<Finding> {
    if failpoint::broken(4) {
        return None;
    }
    let name = wal_path.display();
    let loss = |text: String| {
        Some(Finding {
            is_loss: true,
            text,
        })
    };
    let claimed = claim.map_or(0, |claim| claim.frames);
    if claimed > scan.kept_frames {
        let missing = claimed - scan.kept_frames;
        let place = match scan.end {
            _ if scan.bytes == 0 => "is missing or empty (as after restoring a backup)".to_owned(),
            End::NoHeader => "cannot be read from its first byte on".to_owned(),
            End::Clean => format!("ends at byte {}, too early", scan.bytes),
            End::Unfinished { offset } | End::Torn { offset } | End::Damaged { offset, .. } => {
                format!("cannot be read from byte {offset} on")
            }
        };
        return loss(format!(
            "'{name}' {place}: {missing} of {claimed} committed frames are lost, with the transactions they held. What came before is kept."
        ));
    }
    match scan.end {
        End::Clean => None,
        End::NoHeader => loss(format!(
            "'{name}' has a damaged header: all it held ({} bytes) is lost.",
            scan.bytes
        )),
        End::Damaged {
            offset,
            frames,
            transactions,
        } => loss(format!(
            "'{name}' is damaged at byte {offset}: {frames} frames from there on, with at least {transactions} transactions, are lost. What came before is kept."
        )),
        // The mark is written before a commit is acknowledged, so it settles what was.
        End::Torn { offset } if claim.is_none() => loss(format!(
            "'{name}' is not whole at byte {offset}: its last transaction was either cut off by a power cut, and then never acknowledged, or damaged, and then lost. What came before is kept."
        )),
        End::Unfinished { offset } | End::Torn { offset } => Some(Finding {
            is_loss: false,
            text: format!(
                "'{name}' ends in a write that a crash cut off at byte {offset}; it was never acknowledged and is left out."
            ),
        }),
    }
}

fn unreadable(path: &Path, error: &io::Error) -> StoreError {
    StoreError::Io(format!("'{}' cannot be read: {error}", path.display()))
}

#[cfg(test)]
#[path = "inspect_tests.rs"]
mod tests;
