//! The description of a damaged row: its table, session and number, and the consequence.

use super::tables::CoveredTable;
use crate::error::{QueryError, StoreError};
use hob_wire::DamagedRow;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Params, Row};
use uuid::Uuid;

/// Rows that were read, and the damaged rows that were left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WithDamage<T> {
    pub rows: T,
    pub damaged: Vec<DamagedRow>,
}

/// Rows of a scan, and the key of the last row read, if there was one.
pub(crate) type ScanPage<T> = (Vec<T>, Option<i64>);

/// The parts of a row's name, as far as they can be read.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowName {
    pub(crate) session: Option<String>,
    pub(crate) number: Option<u64>,
    pub(crate) id: Option<String>,
}

impl CoveredTable {
    /// Describes the damaged row with this key.
    pub(crate) fn damaged_at(
        &self,
        sql: &Connection,
        key: impl Params,
    ) -> rusqlite::Result<DamagedRow> {
        let select = format!(
            "SELECT {} FROM {} t WHERE {}",
            self.named_by.join(", "),
            self.name,
            self.key_condition("t.")
        );
        let mut select = sql.prepare_cached(&select)?;
        let name = select.query_row(key, |row| RowName::from_row(row, 0));
        // Parts of the name may be damaged too. They become question marks.
        Ok(self.damaged(&name.optional()?.unwrap_or_default()))
    }

    /// Refuses the row with this key if it is damaged: it must not get a new checksum.
    pub(crate) fn refuse_damaged(
        &self,
        sql: &Connection,
        key: impl Params + Copy,
        numbers: (i64, i64),
    ) -> Result<(), QueryError> {
        let select = format!(
            "SELECT {} FROM {} t WHERE {}",
            self.checksum_state_sql("t"),
            self.name,
            self.key_condition("t.")
        );
        let mut select = sql.prepare_cached(&select)?;
        let is_whole = select.query_row(key, |row| self.is_whole(sql, row, 0, numbers));
        // A missing row is not damaged; the change that follows finds nothing to do.
        if is_whole.optional()? == Some(false) {
            return Err(damaged_row_error(self.damaged_at(sql, key)?));
        }
        Ok(())
    }

    /// Runs a change that may touch damaged rows. A value that changed on disk no longer matches
    /// its index entry, and SQLite refuses to delete the entry. The indexes are then rebuilt from
    /// the rows.
    pub(crate) fn retry_after_reindex<T>(
        &self,
        sql: &Connection,
        change: impl Fn() -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        match change() {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
                // Inside the same transaction, so a failure after it undoes it.
                sql.execute_batch(&format!("REINDEX {}", self.name))?;
                change()
            }
            done => done,
        }
    }

    pub(crate) fn damaged(&self, name: &RowName) -> DamagedRow {
        self.describe(name, "is damaged: it does not match its checksum.")
    }

    pub(crate) fn missing(&self, name: &RowName) -> DamagedRow {
        self.describe(name, "is missing, though later ones exist.")
    }

    fn describe(&self, name: &RowName, what: &str) -> DamagedRow {
        let fill = |text: &str| {
            let number = name.number.map(|number| number.to_string());
            text.replace("{session}", name.session.as_deref().unwrap_or("?"))
                .replace("{number}", number.as_deref().unwrap_or("?"))
                .replace("{id}", name.id.as_deref().unwrap_or("?"))
        };
        let message = format!("{} {what} {}", fill(self.subject), fill(self.consequence));
        DamagedRow {
            table: self.name.to_owned(),
            session_key: name.session.clone(),
            number: name.number,
            id: name.id.clone(),
            message,
        }
    }
}

impl RowName {
    /// Reads the four columns of `named_by`.
    pub(crate) fn from_row(row: &Row<'_>, first: usize) -> rusqlite::Result<RowName> {
        // Read without a type: a damaged row must still be named.
        let key = stored_text(row.get_ref(first)?);
        Ok(RowName {
            // A session without a key is named by its id.
            session: key.or(stored_text(row.get_ref(first + 1)?)),
            number: match row.get_ref(first + 2)? {
                ValueRef::Integer(number) => u64::try_from(number).ok(),
                _ => None,
            },
            id: stored_text(row.get_ref(first + 3)?),
        })
    }
}

/// The error of a read or change that met a damaged row.
pub(crate) fn damaged_row_error(row: DamagedRow) -> QueryError {
    QueryError::Refused(StoreError::DamagedRow(Box::new(row)))
}

/// Reads a name as text, even if it is damaged; ids are stored as bytes.
pub(crate) fn stored_text(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Text(text) => Some(without_control_chars(&String::from_utf8_lossy(text))),
        ValueRef::Blob(bytes) => match Uuid::from_slice(bytes) {
            Ok(id) => Some(id.to_string()),
            Err(_) => Some(without_control_chars(&String::from_utf8_lossy(bytes))),
        },
        _ => None,
    }
}

/// Replaces control characters, which damaged bytes must not send to a terminal.
fn without_control_chars(text: &str) -> String {
    const CHARS_MAX: usize = 200;
    let plain = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    text.chars().take(CHARS_MAX).map(plain).collect()
}
