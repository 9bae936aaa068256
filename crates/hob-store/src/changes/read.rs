//! What is kept of a run.

use super::words::{Change, Former};
use crate::blobs::{Blobs, Hash};
use crate::error::{StoreError, Trouble};
use crate::value::number;
use hob_wire::RunId;
use rusqlite::{Connection, OptionalExtension};

/// What was there before a change, as it is stored.
#[derive(Debug)]
pub(super) struct Stored {
    former: String,
    mode: u32,
    content: Option<Vec<u8>>,
    blob: Option<[u8; 32]>,
}

impl Stored {
    /// Reads the file that holds it, if one does.
    pub(super) fn load(self, blobs: &Blobs) -> Result<Former, StoreError> {
        let bytes = match (self.content, self.blob) {
            (Some(content), _) => content,
            (None, Some(hash)) => blobs.read(Hash(hash))?,
            (None, None) => Vec::new(),
        };
        Ok(match self.former.as_str() {
            "file" => Former::File {
                bytes,
                mode: self.mode,
            },
            "link" => Former::Link { target: bytes },
            "folder" => Former::Folder { mode: self.mode },
            "moved" => Former::Moved {
                from: String::from_utf8_lossy(&bytes).into_owned(),
            },
            _ => Former::Nothing,
        })
    }
}

pub(super) fn of_run(sql: &Connection, run: RunId) -> rusqlite::Result<Vec<Change>> {
    let mut select = sql.prepare_cached(
        "SELECT row_id, call, at, undone_at IS NOT NULL, workspace, path, becomes
         FROM changes WHERE run = ?1 ORDER BY row_id DESC",
    )?;
    let rows = select.query_map([run.0.as_bytes().as_slice()], |row| {
        Ok(Change {
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

pub(super) fn stored(sql: &Connection, id: i64) -> Result<Stored, Trouble> {
    let found = sql
        .prepare_cached("SELECT former, mode, content, blob FROM changes WHERE row_id = ?1")?
        .query_row([id], |row| {
            Ok(Stored {
                former: row.get(0)?,
                mode: row.get(1)?,
                content: row.get(2)?,
                blob: row.get(3)?,
            })
        })
        .optional()?;
    let forgotten = || StoreError::NotFound("What was there is not kept any more.".to_owned());
    Ok(found.ok_or_else(forgotten)?)
}
