//! Naming a damaged row: which table, which session, which number, and what follows from it.

use super::tables::CoveredTable;
use crate::error::{StoreError, Trouble};
use hob_wire::DamagedRow;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Params, Row};
use uuid::Uuid;

/// What was read, and the damaged rows that were met and left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WithDamage<T> {
    pub rows: T,
    pub damaged: Vec<DamagedRow>,
}

/// Rows of a scan, and the key of the last row looked at, if there was one.
pub(crate) type Scanned<T> = (Vec<T>, Option<i64>);

/// The parts of a row's name, as far as they can be read.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowName {
    pub(crate) session: Option<String>,
    pub(crate) number: Option<u64>,
    pub(crate) id: Option<String>,
}

impl CoveredTable {
    /// Names the damaged row with this key.
    pub(crate) fn damaged_at(
        &self,
        sql: &Connection,
        key: impl Params,
    ) -> rusqlite::Result<DamagedRow> {
        let select = format!(
            "SELECT {} FROM {} t WHERE {}",
            self.named_by.join(", "),
            self.name,
            self.at_key("t.")
        );
        let mut select = sql.prepare_cached(&select)?;
        let name = select.query_row(key, |row| RowName::from_row(row, 0));
        Ok(self.damaged(&name.optional()?.unwrap_or_default()))
    }

    /// Refuses the row with this key when it is damaged: it must not get a new checksum.
    pub(crate) fn check(
        &self,
        sql: &Connection,
        key: impl Params + Copy,
        numbers: (i64, i64),
    ) -> Result<(), Trouble> {
        let select = format!(
            "SELECT {} FROM {} t WHERE {}",
            self.state("t"),
            self.name,
            self.at_key("t.")
        );
        let mut select = sql.prepare_cached(&select)?;
        let is_whole = select.query_row(key, |row| self.is_whole(sql, row, 0, numbers));
        if is_whole.optional()? == Some(false) {
            return Err(refusal(self.damaged_at(sql, key)?));
        }
        Ok(())
    }

    /// Does what touches damaged rows. A value that changed on disk no longer fits its entry in an
    /// index, which SQLite refuses to take out; the indexes are then made anew from the rows.
    pub(crate) fn despite_damage<T>(
        &self,
        sql: &Connection,
        change: impl Fn() -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        match change() {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
                sql.execute_batch(&format!("REINDEX {}", self.name))?;
                change()
            }
            done => done,
        }
    }

    pub(crate) fn damaged(&self, name: &RowName) -> DamagedRow {
        self.told(name, "is damaged: it does not match its checksum.")
    }

    pub(crate) fn missing(&self, name: &RowName) -> DamagedRow {
        self.told(name, "is missing, though later ones are there.")
    }

    fn told(&self, name: &RowName, what: &str) -> DamagedRow {
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
        let key = stored_text(row.get_ref(first)?);
        Ok(RowName {
            session: key.or(stored_text(row.get_ref(first + 1)?)),
            number: match row.get_ref(first + 2)? {
                ValueRef::Integer(number) => u64::try_from(number).ok(),
                _ => None,
            },
            id: stored_text(row.get_ref(first + 3)?),
        })
    }
}

/// The error of a read or a change that met a damaged row.
pub(crate) fn refusal(row: DamagedRow) -> Trouble {
    Trouble::Rule(StoreError::DamagedRow(Box::new(row)))
}

/// A name as text, whatever became of it; ids are kept as bytes.
pub(crate) fn stored_text(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Text(text) => Some(plain(&String::from_utf8_lossy(text))),
        ValueRef::Blob(bytes) => match Uuid::from_slice(bytes) {
            Ok(id) => Some(id.to_string()),
            Err(_) => Some(plain(&String::from_utf8_lossy(bytes))),
        },
        _ => None,
    }
}

/// Damaged bytes never reach a terminal as control characters.
fn plain(text: &str) -> String {
    const CHARS_MAX: usize = 200;
    let plain = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    text.chars().take(CHARS_MAX).map(plain).collect()
}
