//! Reads tables of another program's SQLite database, such as one whose conversations are imported.
//!
//! Invariants: nothing is ever written, neither to the file nor beside it; a file whose last changes
//! are only in its log is refused, because it would be read half; SQL of the file itself (views,
//! triggers, virtual tables) is never run; rows and bytes are bounded; names of tables and columns
//! come from hob, never from the file.

use crate::connection::sibling_path;
use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use std::fmt::Write;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::time::Duration;

/// The largest file that is opened.
pub const FOREIGN_DATABASE_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// The time that a statement waits while the other program writes.
const BUSY_WAIT: Duration = Duration::from_secs(2);
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// The header's bytes up to the one that tells the kind of journal.
const HEADER_BYTES: usize = 20;
/// The value of that byte for a database with a write-ahead log.
const WITH_LOG: u8 = 2;

/// The reason why a database of another program is not read; a sentence for a person.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForeignDatabaseError {
    #[error("it is not an SQLite database")]
    NotADatabase,
    #[error("it has {bytes} bytes; at most {FOREIGN_DATABASE_BYTES_MAX} are read")]
    TooLarge { bytes: u64 },
    #[error(
        "its last changes are only in its log (-wal); start and stop the program it belongs to, which writes them into the file"
    )]
    Unfinished,
    #[error("it is damaged: {0}")]
    Damaged(String),
    #[error("its table {table} has no column {column}")]
    NoColumn { table: String, column: String },
    #[error("it cannot be read: {0}")]
    Unreadable(String),
}

/// A value of a row. Binary values are not read.
#[derive(Clone, Debug, PartialEq)]
pub enum ForeignValue {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    /// Bytes, or a text that is not UTF-8.
    Binary,
}

impl ForeignValue {
    pub fn text(&self) -> Option<&str> {
        match self {
            ForeignValue::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// The bounds of reading one table.
#[derive(Clone, Copy, Debug)]
pub struct ForeignReadLimits {
    pub rows_max: usize,
    /// The most bytes of all texts together.
    pub bytes_max: usize,
}

/// The rows of a table, in the order in which they were added.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ForeignRows {
    /// Each has the values of the requested columns, in their order.
    pub rows: Vec<Vec<ForeignValue>>,
    /// True if a bound was reached and more rows exist.
    pub is_cut: bool,
}

/// A database of another program, open for reading.
#[derive(Debug)]
pub struct ForeignDatabase {
    sql: Connection,
}

impl ForeignDatabase {
    /// Opens and checks the file. The path must contain no link. Blocks.
    pub fn open(path: &Path) -> Result<ForeignDatabase, ForeignDatabaseError> {
        let found = fs::symlink_metadata(path).map_err(|error| unreadable(&error))?;
        if !found.is_file() {
            return Err(ForeignDatabaseError::NotADatabase);
        }
        if found.len() > FOREIGN_DATABASE_BYTES_MAX {
            return Err(ForeignDatabaseError::TooLarge { bytes: found.len() });
        }
        let has_log = has_log(path)?;
        if has_log && fs::metadata(sibling_path(path, "-wal")).is_ok_and(|log| log.len() > 0) {
            return Err(ForeignDatabaseError::Unfinished);
        }
        let sql = open_read_only(path, has_log).map_err(|error| failed(&error))?;
        let database = ForeignDatabase { sql };
        database.check()?;
        Ok(database)
    }

    fn check(&self) -> Result<(), ForeignDatabaseError> {
        let checked = self
            .sql
            .query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
        match checked {
            Ok(answer) if answer == "ok" => Ok(()),
            Ok(answer) => Err(ForeignDatabaseError::Damaged(answer)),
            Err(error) => Err(failed(&error)),
        }
    }

    /// Reads columns of a table; `None` if there is no such table. Blocks.
    pub fn read_table(
        &self,
        table: &str,
        columns: &[&str],
        limits: ForeignReadLimits,
    ) -> Result<Option<ForeignRows>, ForeignDatabaseError> {
        if !self.has_table(table)? {
            return Ok(None);
        }
        self.check_columns(table, columns)?;
        let names: Vec<String> = columns.iter().map(|name| quoted(name)).collect();
        let select = format!(
            "SELECT {} FROM {} ORDER BY rowid LIMIT {}",
            names.join(", "),
            quoted(table),
            limits.rows_max.saturating_add(1)
        );
        let mut select = self.sql.prepare(&select).map_err(|error| failed(&error))?;
        let mut rows = select.query([]).map_err(|error| failed(&error))?;
        let (mut read, mut bytes) = (ForeignRows::default(), 0);
        while let Some(row) = rows.next().map_err(|error| failed(&error))? {
            let mut values = Vec::with_capacity(columns.len());
            for index in 0..columns.len() {
                let value = row.get_ref(index).map_err(|error| failed(&error))?;
                let value = owned(value);
                bytes += value.text().map_or(0, str::len);
                values.push(value);
            }
            if read.rows.len() >= limits.rows_max || bytes > limits.bytes_max {
                read.is_cut = true;
                break;
            }
            read.rows.push(values);
        }
        Ok(Some(read))
    }

    /// True for an ordinary table. A view or a virtual table would run code of the file.
    fn has_table(&self, table: &str) -> Result<bool, ForeignDatabaseError> {
        let found = self
            .sql
            .query_row(
                "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 AND name = ?1",
                [table],
                |_| Ok(()),
            )
            .optional();
        Ok(found.map_err(|error| failed(&error))?.is_some())
    }

    /// Refuses a column that the table does not store: SQLite would take its quoted name for a text,
    /// and a computed column would run code of the file.
    fn check_columns(&self, table: &str, columns: &[&str]) -> Result<(), ForeignDatabaseError> {
        let mut select = self
            .sql
            .prepare("SELECT 1 FROM pragma_table_xinfo(?1) WHERE name = ?2 AND hidden = 0")
            .map_err(|error| failed(&error))?;
        for column in columns {
            if !select
                .exists((table, column))
                .map_err(|error| failed(&error))?
            {
                return Err(ForeignDatabaseError::NoColumn {
                    table: table.to_owned(),
                    column: (*column).to_owned(),
                });
            }
        }
        Ok(())
    }
}

/// True if the header names a write-ahead log.
fn has_log(path: &Path) -> Result<bool, ForeignDatabaseError> {
    let mut header = Vec::with_capacity(HEADER_BYTES);
    let file = File::open(path).map_err(|error| unreadable(&error))?;
    file.take(HEADER_BYTES as u64)
        .read_to_end(&mut header)
        .map_err(|error| unreadable(&error))?;
    if header.len() < HEADER_BYTES || !header.starts_with(MAGIC) {
        return Err(ForeignDatabaseError::NotADatabase);
    }
    Ok(header[HEADER_BYTES - 1] == WITH_LOG)
}

#[expect(clippy::disallowed_methods, reason = "this is the one room with SQL")]
fn open_read_only(path: &Path, has_log: bool) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | OpenFlags::SQLITE_OPEN_URI;
    // Reading a database with a log would create its shared memory beside it. Its log is empty, so
    // the file is whole by itself and is read as one that nobody changes.
    let query = if has_log {
        "mode=ro&immutable=1"
    } else {
        "mode=ro"
    };
    let sql = Connection::open_with_flags(format!("file:{}?{query}", uri_path(path)), flags)?;
    sql.busy_timeout(BUSY_WAIT)?;
    sql.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    sql.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    sql.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    sql.execute_batch(
        "PRAGMA query_only = ON; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;
         PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0;",
    )?;
    Ok(sql)
}

/// The path for a URI: everything but plain letters is escaped.
fn uri_path(path: &Path) -> String {
    let mut escaped = String::new();
    for byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.".contains(byte) {
            escaped.push(char::from(*byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn owned(value: ValueRef<'_>) -> ForeignValue {
    match value {
        ValueRef::Null => ForeignValue::Null,
        ValueRef::Integer(number) => ForeignValue::Integer(number),
        ValueRef::Real(number) => ForeignValue::Real(number),
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => ForeignValue::Text(text.to_owned()),
            Err(_) => ForeignValue::Binary,
        },
        ValueRef::Blob(_) => ForeignValue::Binary,
    }
}

fn unreadable(error: &std::io::Error) -> ForeignDatabaseError {
    ForeignDatabaseError::Unreadable(error.to_string())
}

fn failed(error: &rusqlite::Error) -> ForeignDatabaseError {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase) => ForeignDatabaseError::NotADatabase,
        Some(rusqlite::ErrorCode::DatabaseCorrupt) => {
            ForeignDatabaseError::Damaged(error.to_string())
        }
        _ => ForeignDatabaseError::Unreadable(error.to_string()),
    }
}

#[cfg(test)]
#[path = "foreign_database_tests.rs"]
mod tests;
