//! Why the store could not do something: a kind a program can match and a sentence a person can
//! act on. Invariant: SQLite's own words never stand alone; the file and the next step do.

use crate::runs::Purse;
use hob_wire::{DamagedRow, ErrorCode, WireError};
use rusqlite::ffi;
use std::path::{Path, PathBuf};

/// How long a caller should wait before it tries again what may work soon.
const RETRY_AFTER_MS: u64 = 1_000;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    #[error(
        "The disk is full; hob stopped accepting work. Free some space and it goes on by itself."
    )]
    Full,
    /// What the request names does not exist.
    #[error("{0}")]
    NotFound(String),
    /// The request contradicts what is stored.
    #[error("{0}")]
    Conflict(String),
    /// The request is out of its bounds.
    #[error("{0}")]
    Invalid(String),
    /// A file of the store is not what it should be; nothing is written to it any more.
    #[error("{}: {what}", file.display())]
    Damaged { file: PathBuf, what: String },
    /// One row is not what was written; everything else goes on.
    #[error("{}", .0.message)]
    DamagedRow(Box<DamagedRow>),
    /// A stored value is not of the form it was written in; everything else goes on.
    #[error(
        "'{}' holds a row that cannot be read ({what}), so it is damaged. 'hob verify' names what is damaged; restore a backup to get it back.",
        file.display()
    )]
    Unreadable { file: PathBuf, what: String },
    /// The database was written by a newer hob.
    #[error(
        "'{}' has schema {found}, and this hob knows only up to {known}. Update hob; an older one cannot open it.",
        file.display()
    )]
    NewerSchema {
        file: PathBuf,
        found: u32,
        known: u32,
    },
    /// Another daemon opened this home after us.
    #[error(
        "Another hob daemon took this home over (start {theirs}; this one is start {ours}), so this one no longer writes. Stop it."
    )]
    Fenced { ours: u64, theirs: u64 },
    /// A file of the store was deleted, moved or replaced while it was open.
    #[error(
        "'{}' was deleted, moved or replaced while hob used it, so hob stopped accepting work. Put it back if you moved it, then `hob restart`.",
        file.display()
    )]
    Replaced { file: PathBuf },
    /// The disk or the system failed an operation; nothing of it was acknowledged.
    #[error("The disk failed ({0}); nothing of this was acknowledged. Try again.")]
    Io(String),
    /// A bound of the store's own queues or times is reached.
    #[error("{0}")]
    Overloaded(String),
    /// A call would go beyond a ceiling; nothing of the write was done.
    #[error(
        "The {which} budget of {} does not allow this call: {} are spent or reserved. Allow more, or raise the budget.",
        dollars(*limit), dollars(*spent)
    )]
    OverBudget {
        which: Purse,
        /// The ceiling, in millionths of a dollar.
        limit: u64,
        /// Spent or reserved already.
        spent: u64,
    },
    #[error("The store is closed: hob is shutting down.")]
    Closed,
    /// A fault of hob's own.
    #[error("The store failed: {0}")]
    Internal(String),
}

impl StoreError {
    /// Whether the failure concerns the file or the connection and not one command: the whole
    /// batch fails with it.
    pub(crate) fn is_fatal_to_batch(&self) -> bool {
        matches!(
            self,
            StoreError::Full
                | StoreError::Damaged { .. }
                | StoreError::Fenced { .. }
                | StoreError::Replaced { .. }
                | StoreError::Io(_)
        )
    }

    /// Reads an error of SQLite about `file`.
    pub(crate) fn of_sqlite(error: &rusqlite::Error, file: &Path) -> Self {
        let Some(code) = error.sqlite_error() else {
            return match unreadable_value(error) {
                Some(what) => StoreError::Unreadable {
                    file: file.to_owned(),
                    what,
                },
                None => StoreError::Internal(error.to_string()),
            };
        };
        match code.extended_code & 0xFF {
            ffi::SQLITE_FULL => StoreError::Full,
            ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB => StoreError::Damaged {
                file: file.to_owned(),
                what: format!("the database is damaged ({error}). {}", mend(file)),
            },
            ffi::SQLITE_IOERR | ffi::SQLITE_CANTOPEN | ffi::SQLITE_READONLY => {
                StoreError::Io(error.to_string())
            }
            ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => {
                StoreError::Overloaded(format!("The database is busy ({error}). Try again."))
            }
            ffi::SQLITE_INTERRUPT => StoreError::Overloaded(
                "Reading took longer than a second and was stopped. Ask for less at once."
                    .to_owned(),
            ),
            _ => StoreError::Internal(error.to_string()),
        }
    }
}

/// Says which value of a row cannot be read, if that is what failed.
fn unreadable_value(error: &rusqlite::Error) -> Option<String> {
    match error {
        rusqlite::Error::InvalidColumnType(_, column, found) => Some(format!(
            "the column '{column}' holds a value of the type {}",
            found.to_string().to_lowercase()
        )),
        rusqlite::Error::FromSqlConversionFailure(_, _, why) => {
            Some(format!("a value has a wrong form: {why}"))
        }
        rusqlite::Error::IntegralValueOutOfRange(_, number) => {
            Some(format!("a number is out of its range: {number}"))
        }
        rusqlite::Error::Utf8Error(..) => Some("a text is not UTF-8".to_owned()),
        _ => None,
    }
}

/// What to do about a database that cannot be used.
pub(crate) fn mend(database: &Path) -> String {
    let folder = database.parent().unwrap_or(database).display();
    let name = database.file_name().unwrap_or_default().display();
    format!(
        "Restore it from a backup; or, to begin anew without what it held, move every file whose name begins with '{name}' out of '{folder}'."
    )
}

/// Millionths of a dollar as people write money.
fn dollars(micro_dollars: u64) -> String {
    let (whole, rest) = (micro_dollars / 1_000_000, micro_dollars % 1_000_000);
    let digits = format!("{rest:06}");
    // Cents always, finer digits only where there are any.
    let fine = digits.trim_end_matches('0');
    format!("${whole}.{fine:0<2}")
}

/// What stops a piece of SQL: SQLite, or a rule of ours.
#[derive(Debug)]
pub(crate) enum Trouble {
    Sqlite(rusqlite::Error),
    Rule(StoreError),
}

impl Trouble {
    pub(crate) fn about(self, file: &Path) -> StoreError {
        match self {
            Trouble::Sqlite(error) => StoreError::of_sqlite(&error, file),
            Trouble::Rule(error) => error,
        }
    }
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Trouble::Sqlite(error)
    }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Trouble::Rule(error)
    }
}

impl From<StoreError> for WireError {
    fn from(error: StoreError) -> Self {
        let (code, retryable) = match &error {
            StoreError::Full | StoreError::Overloaded(_) => (ErrorCode::Overloaded, true),
            StoreError::NotFound(_) => (ErrorCode::NotFound, false),
            StoreError::Conflict(_) | StoreError::OverBudget { .. } => (ErrorCode::Conflict, false),
            StoreError::Invalid(_) => (ErrorCode::InvalidParams, false),
            StoreError::Io(_) | StoreError::Closed => (ErrorCode::ServiceUnavailable, true),
            StoreError::Damaged { .. }
            | StoreError::NewerSchema { .. }
            | StoreError::Fenced { .. }
            | StoreError::Replaced { .. } => (ErrorCode::ServiceUnavailable, false),
            // One row, not the service: what else is asked is answered.
            StoreError::Unreadable { .. } | StoreError::DamagedRow(_) => {
                (ErrorCode::MethodError, false)
            }
            StoreError::Internal(_) => (ErrorCode::Internal, false),
        };
        let mut wire = WireError::new(code, error.to_string());
        if let StoreError::DamagedRow(row) = &error {
            wire = wire.with_details(serde_json::json!({ "damaged": row }));
        }
        if retryable {
            wire.retry_after(RETRY_AFTER_MS)
        } else {
            wire
        }
    }
}
