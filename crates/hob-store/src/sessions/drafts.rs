//! `session.draft`: the text that a person typed in a session and has not sent.
//!
//! Invariants: a session has at most one draft; it goes with the session and not into a fork;
//! nothing that a model reads comes from here; a draft moves no session in the list.

use super::row;
use crate::batch::WriteBatch;
use crate::error::{QueryError, StoreError};
use crate::store::Store;
use crate::validate;
use crate::value::{int, number};
use hob_wire::id::SessionRef;
use hob_wire::rooms::session::{SessionDraftParams, SessionDraftResult};
use rusqlite::{Connection, OptionalExtension};

impl Store {
    /// Returns the draft of a session, after replacing it if the params have one.
    pub async fn session_draft(
        &self,
        params: SessionDraftParams,
    ) -> Result<SessionDraftResult, StoreError> {
        let session = validate::session_ref(&params.session_key)?;
        let Some(draft) = params.draft else {
            return self.read(move |sql| find(sql, &session)).await;
        };
        validate::draft(&draft)?;
        let bytes = draft.len();
        self.write(bytes, move |batch| {
            put(batch, &session, &draft)?;
            find(batch.sql, &session)
        })
        .await
    }
}

fn find(sql: &Connection, session: &SessionRef) -> Result<SessionDraftResult, QueryError> {
    let head = row::find_head(sql, session)?.ok_or_else(|| row::missing(session))?;
    let found = sql
        .prepare_cached("SELECT text, updated_at FROM drafts WHERE session = ?1")?
        .query_row([head.row_id], |row| {
            Ok(SessionDraftResult {
                draft: row.get(0)?,
                updated_at: Some(number(row, 1)?),
            })
        })
        .optional()?;
    Ok(found.unwrap_or_default())
}

fn put(batch: &mut WriteBatch<'_>, session: &SessionRef, draft: &str) -> Result<(), QueryError> {
    let head = batch.heads.find(batch.sql, session)?;
    let head = head.ok_or_else(|| row::missing(session))?;
    if draft.is_empty() {
        return Ok(delete(batch, head.row_id)?);
    }
    batch
        .sql
        .prepare_cached(
            "INSERT OR REPLACE INTO drafts (session, text, updated_at) VALUES (?1, ?2, ?3)",
        )?
        .execute((head.row_id, draft, int(batch.now_ms)))?;
    Ok(())
}

/// Deletes the draft of a session that is deleted.
pub(super) fn delete(batch: &WriteBatch<'_>, session: i64) -> rusqlite::Result<()> {
    batch
        .sql
        .prepare_cached("DELETE FROM drafts WHERE session = ?1")?
        .execute([session])
        .map(drop)
}
