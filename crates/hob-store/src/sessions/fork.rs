//! `session.fork`: a new session with a copy of the first messages of another one.
//!
//! The copy is made in steps, each one transaction of a bounded size, so that a long session neither
//! fills memory nor holds up other writers. Invariants: the new session appears in the transaction
//! of the last step, with all its messages; a crash before it leaves only rows that the next start
//! deletes; a damaged or missing message ends the fork and is named; a copy has no idempotency key,
//! or a later message could be taken for a repeat of one that was copied.

use super::read;
use super::row::{self, SessionRow};
use super::write::{self, INSERT_MESSAGE};
use crate::batch::WriteBatch;
use crate::checksums::MESSAGES;
use crate::checksums::damage::{RowName, damaged_row_error};
use crate::error::{QueryError, StoreError};
use crate::events::{PayloadSource, SessionIdentity, created_payload};
use crate::validate::LABEL_BYTES_MAX;
use crate::value::{int, number};
use hob_wire::id::SessionRef;
use hob_wire::rooms::session::{Session, SessionForkResult};
use hob_wire::{MessageId, SessionId};
use rusqlite::Row;
use serde_json::{Map, Value};
use std::sync::LazyLock;

/// Messages copied in one step.
const STEP_ROWS: u64 = 256;
/// Bytes after which a step ends; one large message is a step of its own.
pub(crate) const STEP_BYTES: usize = 1024 * 1024;
/// The metadata of a fork that tells how many messages of its parent it began with.
pub const COPIED_MESSAGES: &str = "copiedMessages";
const LABEL_END: &str = " (fork)";

/// A validated fork.
#[derive(Debug)]
pub(crate) struct ForkPlan {
    pub(crate) source: SessionRef,
    /// The number of the last message to copy; all when missing.
    pub(crate) at: Option<u64>,
    pub(crate) name: Option<SessionRef>,
    pub(crate) kind: Option<String>,
    pub(crate) label: Option<String>,
}

/// A copy under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForkCopy {
    source: i64,
    target: i64,
    at: u64,
    /// The number of the last message that was copied.
    copied: u64,
}

/// The outcome of a step.
#[derive(Debug)]
pub(crate) enum ForkStep {
    Copying(ForkCopy),
    Done(Box<SessionForkResult>),
}

/// Begins a fork, or continues it after a step.
pub(crate) fn step(
    batch: &mut WriteBatch<'_>,
    plan: &ForkPlan,
    copy: Option<ForkCopy>,
) -> Result<ForkStep, QueryError> {
    let source = row::find(batch.sql, &plan.source)?.ok_or_else(|| row::missing(&plan.source))?;
    if let Some(found) = forked_before(batch, plan, &source)? {
        if let Some(copy) = copy {
            // Another request with the same key was faster.
            release(batch, copy)?;
        }
        return Ok(ForkStep::Done(Box::new(found)));
    }
    let mut copy = match copy {
        None => begin(batch, plan, &source)?,
        Some(copy) if copy.source == source.row_id => copy,
        Some(_) => return Err(row::missing(&plan.source).into()),
    };
    copy_messages(batch, &source, &mut copy)?;
    if copy.copied < copy.at {
        return Ok(ForkStep::Copying(copy));
    }
    let done = finish(batch, plan, &source, copy)?;
    Ok(ForkStep::Done(Box::new(done)))
}

/// Leaves what was copied so far to the sweep of deleted sessions.
pub(crate) fn release(batch: &mut WriteBatch<'_>, copy: ForkCopy) -> Result<(), QueryError> {
    batch
        .sql
        .prepare_cached("UPDATE deletions SET copying = 0 WHERE session = ?1")?
        .execute([copy.target])?;
    batch.has_leftover_messages = true;
    Ok(())
}

/// At a start: releases every copy that the last daemon did not finish.
pub(crate) fn release_all(sql: &rusqlite::Connection) -> rusqlite::Result<()> {
    sql.execute("UPDATE deletions SET copying = 0 WHERE copying <> 0", [])
        .map(drop)
}

/// Returns the session that this key already made of the same messages; refuses a key that names
/// another session.
fn forked_before(
    batch: &WriteBatch<'_>,
    plan: &ForkPlan,
    source: &SessionRow,
) -> Result<Option<SessionForkResult>, QueryError> {
    let Some(name) = &plan.name else {
        return Ok(None);
    };
    let Some(found) = row::find(batch.sql, name)? else {
        return match name {
            SessionRef::Key(_) => Ok(None),
            SessionRef::Id(id) => Err(StoreError::Invalid(format!(
                "There is no session with the id '{id}', and a key of that form cannot be created. Choose another `newKey`, or leave it out."
            ))
            .into()),
        };
    };
    let copied = found.session.metadata.get(COPIED_MESSAGES);
    let copied = copied.and_then(Value::as_u64);
    let is_same = found.session.parent == Some(source.session.id)
        && copied.is_some_and(|copied| plan.at.is_none_or(|at| at == copied));
    if !is_same {
        return Err(StoreError::Conflict(format!(
            "The session '{name}' exists and is not this fork of '{}'. Choose another `newKey`.",
            source.session.session_key
        ))
        .into());
    }
    Ok(Some(SessionForkResult {
        session: titled(batch, found)?,
        created: false,
        copied: copied.unwrap_or(0),
    }))
}

/// Takes a row id for the new session. Nobody sees it before the session's row is there.
fn begin(
    batch: &WriteBatch<'_>,
    plan: &ForkPlan,
    source: &SessionRow,
) -> Result<ForkCopy, QueryError> {
    let messages = source.session.messages;
    let at = plan.at.unwrap_or(messages);
    if at > messages {
        return Err(StoreError::Invalid(format!(
            "`at` is {at}, but the session '{}' has {messages} messages.",
            source.session.session_key
        ))
        .into());
    }
    let target = batch
        .sql
        .prepare_cached(
            "UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'sessions' RETURNING seq",
        )?
        .query_row([], |row| row.get(0))?;
    batch
        .sql
        .prepare_cached("INSERT INTO deletions (session, copying) VALUES (?1, 1)")?
        .execute([target])?;
    Ok(ForkCopy {
        source: source.row_id,
        target,
        at,
        copied: 0,
    })
}

fn copy_messages(
    batch: &mut WriteBatch<'_>,
    source: &SessionRow,
    copy: &mut ForkCopy,
) -> Result<(), QueryError> {
    let sql = batch.sql;
    let mut select = sql.prepare_cached(&SELECT_SOURCE)?;
    let (from, to) = (int(copy.copied), int(copy.at));
    let mut rows = select.query((copy.source, from, to, int(STEP_ROWS)))?;
    let (mut bytes, mut taken) = (0, 0);
    while let Some(row) = rows.next()? {
        bytes += row.get_ref(3)?.as_bytes().map_or(0, <[u8]>::len);
        if bytes > STEP_BYTES && taken > 0 {
            return Ok(());
        }
        let (seq, row_id): (u64, i64) = (number(row, 0)?, row.get(8)?);
        if seq != copy.copied + 1 {
            return Err(lost(source, copy.copied + 1, seq - 1));
        }
        if !MESSAGES.is_whole(sql, row, 9, (row_id, 0))? {
            return Err(damaged_row_error(MESSAGES.damaged_at(sql, [row_id])?));
        }
        insert_copy(batch, copy.target, row)?;
        copy.copied = seq;
        taken += 1;
    }
    if taken < STEP_ROWS && copy.copied < copy.at {
        return Err(lost(source, copy.copied + 1, copy.at));
    }
    Ok(())
}

fn insert_copy(batch: &mut WriteBatch<'_>, target: i64, row: &Row<'_>) -> rusqlite::Result<()> {
    let id = MessageId(batch.ids.next(batch.now_ms));
    // The insert computes the checksum, which covers the row id.
    let message = batch.heads.next_message(batch.sql)?;
    batch.sql.prepare_cached(&INSERT_MESSAGE)?.execute((
        message,
        target,
        row.get::<_, i64>(0)?,
        &id.0.as_bytes()[..],
        row.get_ref(1)?.as_str()?,
        row.get::<_, i64>(2)?,
        None::<&str>,
        row.get_ref(3)?.as_str()?,
        row.get::<_, Option<i64>>(4)?,
        row.get::<_, Option<i64>>(5)?,
        row.get::<_, Option<i64>>(6)?,
        row.get_ref(7)?.as_str_or_null()?,
    ))?;
    batch.heads.count_message(target, message);
    Ok(())
}

/// Creates the session over its copied messages.
fn finish(
    batch: &mut WriteBatch<'_>,
    plan: &ForkPlan,
    source: &SessionRow,
    copy: ForkCopy,
) -> Result<SessionForkResult, QueryError> {
    let id = SessionId(batch.ids.next(batch.now_ms));
    let key = match &plan.name {
        Some(SessionRef::Key(key)) => Some(key.as_str()),
        _ => None,
    };
    let kind = plan.kind.as_ref().unwrap_or(&source.session.kind);
    let label = match &plan.label {
        Some(label) => Some(label.clone()),
        None => fork_label(batch, source)?,
    };
    let metadata = Map::from_iter([(COPIED_MESSAGES.to_owned(), Value::from(copy.at))]);
    batch
        .sql
        .prepare_cached(
            "INSERT INTO sessions
             (row_id, id, key, kind, label, parent, created_at, updated_at, message_count, metadata)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?8, ?9)",
        )?
        .execute((
            copy.target,
            &id.0.as_bytes()[..],
            key,
            kind,
            label,
            &source.session.id.0.as_bytes()[..],
            int(batch.now_ms),
            int(copy.at),
            Value::Object(metadata).to_string(),
        ))?;
    batch
        .sql
        .prepare_cached("DELETE FROM deletions WHERE session = ?1")?
        .execute([copy.target])?;
    let identity = SessionIdentity::new(id, key);
    let payload = created_payload(&identity, kind);
    let event = write::event(&write::CREATED, identity, payload);
    batch.log_event(event, PayloadSource::Session(copy.target))?;
    let made = SessionRef::Id(id);
    let found = row::find(batch.sql, &made)?.ok_or_else(|| row::missing(&made))?;
    Ok(SessionForkResult {
        session: titled(batch, found)?,
        created: true,
        copied: copy.at,
    })
}

/// The label of a fork: what lists show of its source, with a mark.
fn fork_label(batch: &WriteBatch<'_>, source: &SessionRow) -> Result<Option<String>, QueryError> {
    let name = match &source.session.label {
        Some(label) => Some(label.clone()),
        None => read::title(batch.sql, source.row_id)?,
    };
    Ok(name.map(|name| {
        let name = name.strip_suffix(LABEL_END).unwrap_or(&name);
        let end = name.floor_char_boundary(LABEL_BYTES_MAX - LABEL_END.len());
        // A title comes from a message, which may have characters that a label must not have.
        let plain: String = name[..end].chars().filter(|c| !c.is_control()).collect();
        format!("{plain}{LABEL_END}")
    }))
}

fn titled(batch: &WriteBatch<'_>, found: SessionRow) -> Result<Session, QueryError> {
    let title = read::title(batch.sql, found.row_id)?;
    Ok(Session {
        title,
        ..found.session
    })
}

fn lost(source: &SessionRow, first: u64, last: u64) -> QueryError {
    let name = RowName {
        session: Some(source.session.session_key.clone()),
        number: Some(first),
        id: None,
    };
    damaged_row_error(read::missing_messages(&name, last))
}

static SELECT_SOURCE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT m.seq, m.role, m.at, m.content, m.run, m.step, m.attempt, m.outcome, m.row_id, {}
         FROM messages m WHERE m.session = ?1 AND m.seq > ?2 AND m.seq <= ?3
         ORDER BY m.seq LIMIT ?4",
        MESSAGES.checksum_state_sql("m")
    )
});
