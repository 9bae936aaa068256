//! How numbers and ids look inside SQLite: signed integers and 16-byte blobs.

use rusqlite::Row;
use rusqlite::types::{FromSqlError, ValueRef};
use uuid::Uuid;

/// A number as SQLite keeps it. Times and counters stay far below its bound.
pub(crate) fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number as it was kept.
pub(crate) fn uint(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

pub(crate) fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get(column).map(uint)
}

pub(crate) fn uuid(row: &Row<'_>, column: usize) -> rusqlite::Result<Uuid> {
    optional_uuid(row, column)?.ok_or_else(|| FromSqlError::InvalidType.into())
}

pub(crate) fn optional_uuid(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Uuid>> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(None),
        value => match Uuid::from_slice(value.as_blob()?) {
            Ok(uuid) => Ok(Some(uuid)),
            Err(error) => Err(FromSqlError::Other(Box::new(error)).into()),
        },
    }
}

pub(crate) fn optional_number(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<u64>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(uint))
}
