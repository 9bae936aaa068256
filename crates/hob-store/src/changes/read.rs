//! Reads of recorded changes.

use super::types::{FileChange, PreviousEntry};
use crate::blobs::{BlobHash, BlobStore};
use crate::error::{QueryError, StoreError};
use crate::value::number;
use hob_wire::RunId;
use rusqlite::{Connection, OptionalExtension};

/// The stored form of a [`PreviousEntry`].
#[derive(Debug)]
pub(super) struct StoredPreviousEntry {
    former: String,
    mode: u32,
    content: Option<Vec<u8>>,
    blob: Option<[u8; 32]>,
}

impl StoredPreviousEntry {
    /// Returns the entry; reads its blob if it has one.
    pub(super) fn load(self, blobs: &BlobStore) -> Result<PreviousEntry, StoreError> {
        let bytes = match (self.content, self.blob) {
            // Small content is in the row, large content in a blob.
            (Some(content), _) => content,
            (None, Some(hash)) => blobs.read(BlobHash(hash))?,
            (None, None) => Vec::new(),
        };
        Ok(match self.former.as_str() {
            "file" => PreviousEntry::File {
                bytes,
                mode: self.mode,
            },
            "link" => PreviousEntry::Link { target: bytes },
            "folder" => PreviousEntry::Folder { mode: self.mode },
            "moved" => PreviousEntry::Moved {
                from: String::from_utf8_lossy(&bytes).into_owned(),
            },
            _ => PreviousEntry::Nothing,
        })
    }
}

pub(super) fn of_run(sql: &Connection, run: RunId) -> rusqlite::Result<Vec<FileChange>> {
    let mut select = sql.prepare_cached(
        "SELECT row_id, call, at, undone_at IS NOT NULL, workspace, path, becomes
         FROM changes WHERE run = ?1 ORDER BY row_id DESC",
    )?;
    let rows = select.query_map([run.0.as_bytes().as_slice()], |row| {
        Ok(FileChange {
            id: row.get(0)?,
            call: row.get(1)?,
            at: number(row, 2)?,
            is_undone: row.get(3)?,
            workspace: row.get(4)?,
            path: row.get(5)?,
            becomes: row.get(6)?,
        })
    })?;
    rows.collect()
}

pub(super) fn stored(sql: &Connection, id: i64) -> Result<StoredPreviousEntry, QueryError> {
    let found = sql
        .prepare_cached("SELECT former, mode, content, blob FROM changes WHERE row_id = ?1")?
        .query_row([id], |row| {
            Ok(StoredPreviousEntry {
                former: row.get(0)?,
                mode: row.get(1)?,
                content: row.get(2)?,
                blob: row.get(3)?,
            })
        })
        .optional()?;
    let deleted = || StoreError::NotFound("The previous content is no longer stored.".to_owned());
    Ok(found.ok_or_else(deleted)?)
}
