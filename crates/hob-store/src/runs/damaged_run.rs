//! Ending a run whose row is damaged. The row cannot be trusted, so anything that could pass for a
//! result is cleared. The end and its reason are recorded.

use super::accept::SOURCE;
use super::payload;
use super::read;
use super::row;
use crate::batch::WriteBatch;
use crate::checksums::{RUN_TASKS, RUNS};
use crate::error::{QueryError, StoreError};
use crate::events::{PayloadSource, SessionIdentity, StoredPayload};
use crate::value::{int, uuid};
use hob_bus::NewEvent;
use hob_wire::{DamagedRow, RunId, SessionId};
use rusqlite::OptionalExtension;
use std::sync::Arc;

pub(crate) fn end_all_damaged(batch: &mut WriteBatch<'_>) -> Result<Vec<DamagedRow>, QueryError> {
    let mut ended = Vec::new();
    for row_id in read::unfinished(batch.sql)? {
        for table in [&RUNS, &RUN_TASKS] {
            match table.refuse_damaged(batch.sql, [row_id], (row_id, 0)) {
                Ok(()) => {}
                Err(QueryError::Refused(StoreError::DamagedRow(damaged))) => {
                    end_damaged(batch, row_id, &damaged)?;
                    ended.push(*damaged);
                    // A run ends once, even if both of its rows are damaged.
                    break;
                }
                Err(other) => return Err(other),
            }
        }
    }
    Ok(ended)
}

fn end_damaged(
    batch: &mut WriteBatch<'_>,
    row_id: i64,
    damaged: &DamagedRow,
) -> Result<(), QueryError> {
    let values = (row_id, &damaged.message, int(batch.now_ms));
    RUNS.retry_after_reindex(batch.sql, || batch.sql.prepare_cached(END)?.execute(values))?;
    // A new checksum is right here: the values that could mislead are cleared above.
    RUNS.write_checksum(batch.sql, [row_id])?;
    let named = batch
        .sql
        .prepare_cached(
            "SELECT s.row_id, s.id, s.key, r.id FROM runs r
             JOIN sessions s ON s.row_id = r.session WHERE r.row_id = ?1",
        )?
        .query_row([row_id], |row| {
            let session = SessionId(uuid(row, 1)?);
            let identity = SessionIdentity::new(session, row.get_ref(2)?.as_str_or_null()?);
            Ok((row.get::<_, i64>(0)?, identity, RunId(uuid(row, 3)?)))
        });
    // Without its session nobody waits for the run.
    let Ok(Some((session, identity, run))) = named.optional() else {
        return Ok(());
    };
    let summary = batch
        .sql
        .prepare_cached(row::SUMMARY)?
        .query_row([row_id], |found| row::summary(found, 0))?;
    let event = NewEvent {
        source: Arc::clone(&SOURCE),
        topic: payload::COMPLETED.into(),
        session: Some(identity.tag.clone()),
        payload: payload::completed(&identity, run, &summary),
    };
    let place = PayloadSource::Run {
        session,
        run: row_id,
        kept: StoredPayload::Nothing,
    };
    batch.log_event(event, place)?;
    Ok(())
}

/// A number that changed its type counts as nothing.
const END: &str = "UPDATE runs SET state = 'done', cause = 'parked', message = ?2, ended_at = ?3,
    text = '', notes = '[]', success = 0, model = NULL,
    started_at = iif(typeof(started_at) = 'integer', started_at, NULL),
    journal_len = iif(typeof(journal_len) = 'integer', journal_len, 0),
    first_message = iif(typeof(first_message) = 'integer', first_message, NULL),
    last_message = iif(typeof(last_message) = 'integer', last_message, NULL),
    step = iif(step BETWEEN 0 AND 4294967295, step, 0),
    attempt = iif(attempt BETWEEN 0 AND 4294967295, attempt, 0),
    resumed = iif(resumed BETWEEN 0 AND 4294967295, resumed, 0),
    calls = iif(calls BETWEEN 0 AND 4294967295, calls, 0),
    micro_dollars = iif(typeof(micro_dollars) = 'integer', micro_dollars, NULL),
    input_tokens = iif(typeof(input_tokens) = 'integer', input_tokens, 0),
    output_tokens = iif(typeof(output_tokens) = 'integer', output_tokens, 0),
    queued_at = iif(typeof(queued_at) = 'integer', queued_at, 0)
    WHERE row_id = ?1";
