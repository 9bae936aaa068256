//! Errors of the store: a kind that a program can match and a sentence that a person can act on.
//! Invariant: SQLite's message never stands alone; the file and the next step are named too.

use crate::runs::BudgetScope;
use hob_wire::{DamagedRow, ErrorCode, WireError};
use rusqlite::ffi;
use std::path::{Path, PathBuf};

/// The time after which a caller may retry.
const RETRY_AFTER_MS: u64 = 1_000;

/// An error of the store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    #[error(
        "The disk is full; hob stopped accepting work. Free some space and it goes on by itself."
    )]
    Full,
    /// The request names something that does not exist.
    #[error("{0}")]
    NotFound(String),
    /// The request contradicts stored data.
    #[error("{0}")]
    Conflict(String),
    /// The request is out of bounds.
    #[error("{0}")]
    Invalid(String),
    /// A file of the store is damaged or foreign; nothing is written to it any more.
    #[error("{}: {what}", file.display())]
    Damaged { file: PathBuf, what: String },
    /// One row does not match its checksum; everything else works.
    #[error("{}", .0.message)]
    DamagedRow(Box<DamagedRow>),
    /// A stored value has a wrong type or form; everything else works.
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
    /// Another daemon opened this home after this one.
    #[error(
        "Another hob daemon took over this home (start {theirs}; this one is start {ours}), so this one no longer writes. Stop it."
    )]
    Fenced { ours: u64, theirs: u64 },
    /// A file of the store was deleted, moved or replaced while it was open.
    #[error(
        "'{}' was deleted, moved or replaced while hob used it, so hob stopped accepting work. Put it back if you moved it, then `hob restart`.",
        file.display()
    )]
    Replaced { file: PathBuf },
    /// The disk or the system failed an operation, which was not acknowledged.
    #[error("The disk failed ({0}); nothing of this was acknowledged. Try again.")]
    Io(String),
    /// A bound of the store's queues or times is reached.
    #[error("{0}")]
    Overloaded(String),
    /// A call would exceed a ceiling; nothing of the write was done.
    #[error(
        "The {scope} budget of {} does not allow this call: {} are spent or reserved. Allow more, or raise the budget.",
        format_dollars(*limit), format_dollars(*spent)
    )]
    OverBudget {
        scope: BudgetScope,
        /// The ceiling, in millionths of a dollar.
        limit: u64,
        /// The amount already spent or reserved.
        spent: u64,
    },
    #[error("The store is closed: hob is shutting down.")]
    Closed,
    /// A bug in hob.
    #[error("The store failed: {0}")]
    Internal(String),
}

impl StoreError {
    /// True if the error concerns the file or the connection, not one command: the whole batch
    /// fails with it.
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

    /// Converts an error of SQLite about `file`.
    pub(crate) fn from_sqlite(error: &rusqlite::Error, file: &Path) -> Self {
        let Some(code) = error.sqlite_error() else {
            return match describe_unreadable_value(error) {
                Some(what) => StoreError::Unreadable {
                    file: file.to_owned(),
                    what,
                },
                None => StoreError::Internal(error.to_string()),
            };
        };
        // The low byte is the primary code. The rest only says where SQLite met the error.
        match code.extended_code & 0xFF {
            ffi::SQLITE_FULL => StoreError::Full,
            ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB => StoreError::Damaged {
                file: file.to_owned(),
                what: format!("the database is damaged ({error}). {}", repair_hint(file)),
            },
            // The system may remount a failing disk read-only.
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

/// Names the value of a row that cannot be read, if that is what failed.
fn describe_unreadable_value(error: &rusqlite::Error) -> Option<String> {
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

/// Returns advice about a database that cannot be used.
pub(crate) fn repair_hint(database: &Path) -> String {
    let folder = database.parent().unwrap_or(database).display();
    let name = database.file_name().unwrap_or_default().display();
    format!(
        "Restore it from a backup; or, to start with an empty database, move every file whose name begins with '{name}' out of '{folder}'."
    )
}

/// Formats millionths of a dollar as people write money.
fn format_dollars(micro_dollars: u64) -> String {
    let (whole, rest) = (micro_dollars / 1_000_000, micro_dollars % 1_000_000);
    let digits = format!("{rest:06}");
    // Always two digits for cents, more only where they are not zero.
    let fine = digits.trim_end_matches('0');
    format!("${whole}.{fine:0<2}")
}

/// The error of a query or command: from SQLite, or a refusal of the store.
#[derive(Debug)]
pub(crate) enum QueryError {
    Sqlite(rusqlite::Error),
    Refused(StoreError),
}

impl QueryError {
    pub(crate) fn into_store_error(self, file: &Path) -> StoreError {
        match self {
            QueryError::Sqlite(error) => StoreError::from_sqlite(&error, file),
            QueryError::Refused(error) => error,
        }
    }
}

impl From<rusqlite::Error> for QueryError {
    fn from(error: rusqlite::Error) -> Self {
        QueryError::Sqlite(error)
    }
}

impl From<StoreError> for QueryError {
    fn from(error: StoreError) -> Self {
        QueryError::Refused(error)
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
            // One row is affected, not the service: other requests are answered.
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
