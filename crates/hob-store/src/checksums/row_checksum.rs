//! `row_checksum(table, value, ...)`: the checksum of a row, computed inside SQLite so that no
//! value is copied.
//!
//! The encoding is stored for ever, so it never changes. Each value that is not NULL adds its place
//! among the arguments, its type, its length and its bytes. So a value that moves to another
//! column, or bytes that move between two neighbours, change the checksum. NULL adds nothing, so a
//! column added later leaves the checksums of older rows valid.

use rusqlite::Connection;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;
use std::hash::Hasher;
use twox_hash::XxHash64;

const NAME: &str = "row_checksum";
const TAG_INTEGER: u8 = 1;
const TAG_REAL: u8 = 2;
const TAG_TEXT: u8 = 3;
const TAG_BLOB: u8 = 4;

/// Registers the function on a connection.
pub(crate) fn register(sql: &Connection) -> rusqlite::Result<()> {
    // `DIRECTONLY` keeps it out of triggers and views, which a foreign file could bring along.
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_DIRECTONLY;
    sql.create_scalar_function(NAME, -1, flags, |arguments| Ok(row_checksum(arguments)))
}

fn row_checksum(arguments: &Context<'_>) -> i64 {
    let mut hasher = XxHash64::with_seed(0);
    for place in 0..arguments.len() {
        add(&mut hasher, place, arguments.get_raw(place));
    }
    // The same bits as a signed number, because SQLite has no unsigned ones.
    i64::from_ne_bytes(hasher.finish().to_ne_bytes())
}

fn add(hasher: &mut XxHash64, place: usize, value: ValueRef<'_>) {
    let number: [u8; 8];
    let (tag, bytes) = match value {
        // Nothing is added: columns of later versions are NULL in older rows.
        ValueRef::Null => return,
        ValueRef::Integer(integer) => {
            number = integer.to_le_bytes();
            (TAG_INTEGER, &number[..])
        }
        ValueRef::Real(real) => {
            number = real.to_bits().to_le_bytes();
            (TAG_REAL, &number[..])
        }
        ValueRef::Text(text) => (TAG_TEXT, text),
        ValueRef::Blob(blob) => (TAG_BLOB, blob),
    };
    let mut head = [0; 13];
    head[..4].copy_from_slice(&u32::try_from(place).unwrap_or(u32::MAX).to_le_bytes());
    head[4] = tag;
    head[5..].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
    hasher.write(&head);
    hasher.write(bytes);
}
