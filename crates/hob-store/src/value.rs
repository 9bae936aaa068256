//! Conversions of numbers and ids to SQLite's types: signed integers and 16-byte blobs.

use rusqlite::Row;
use rusqlite::types::{FromSqlError, ValueRef};
use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

/// Converts a number for SQLite. Times and counters stay far below the bound.
pub(crate) fn int(number: u64) -> i64 {
    // `u64::MAX`, which means "no bound" in queries, becomes the largest stored number.
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Converts a stored number back.
pub(crate) fn uint(number: i64) -> u64 {
    // Only a damaged row holds a negative number.
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

/// Returns the name of a wire enum's variant, as its JSON has it.
pub(crate) fn enum_name(value: &impl Serialize) -> rusqlite::Result<String> {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => Ok(name),
        _ => Err(FromSqlError::InvalidType.into()),
    }
}

/// Returns the variant of a wire enum that has this name.
pub(crate) fn parse_enum<T: DeserializeOwned>(name: &str) -> rusqlite::Result<T> {
    serde_json::from_value(serde_json::Value::from(name)).map_err(not_json)
}

pub(crate) fn parse_json<T: DeserializeOwned>(text: &str) -> rusqlite::Result<T> {
    serde_json::from_str(text).map_err(not_json)
}

fn not_json(error: serde_json::Error) -> rusqlite::Error {
    FromSqlError::Other(Box::new(error)).into()
}
