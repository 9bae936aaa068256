//! Changes of sessions. Each function is one command: its rows and its event are committed together
//! or not at all.

use super::drafts;
use super::row::{self, SessionHead, SessionRow};
use crate::audit::end_session;
use crate::batch::WriteBatch;
use crate::checksums::MESSAGES;
use crate::checksums::damage::damaged_row_error;
use crate::error::{QueryError, StoreError};
use crate::events::{
    MessageFields, PayloadSource, SessionIdentity, created_payload, encode_payload, message_payload,
};
use crate::runs::remove;
use crate::validate;
use crate::value::{int, number, uuid};
use crate::writer_queue::{BulkJob, BulkProgress};
use hob_bus::NewEvent;
use hob_wire::id::SessionRef;
use hob_wire::rooms::session::{
    EVENTS, Session, SessionCreateResult, SessionCreated, SessionDeleteResult, SessionDeleted,
    SessionDeletedPayload, SessionMessage, SessionSendResult,
};
use hob_wire::{EventTopic, MessageContent, MessageId, Role, SessionId};
use rusqlite::OptionalExtension;
use serde_json::{Map, Value};
use std::sync::{Arc, LazyLock};

/// Messages deleted in one step.
const DELETE_STEP: u64 = 256;

/// A validated session to create.
#[derive(Debug)]
pub(crate) struct NewSession {
    pub(crate) name: Option<SessionRef>,
    /// The id that the caller chose.
    pub(crate) id: Option<SessionId>,
    pub(crate) kind: String,
    pub(crate) label: Option<String>,
    pub(crate) parent: Option<SessionRef>,
    /// JSON text.
    pub(crate) metadata: String,
}

pub(crate) fn create(
    batch: &mut WriteBatch<'_>,
    plan: &NewSession,
) -> Result<SessionCreateResult, QueryError> {
    let chosen = plan.id.map(SessionRef::Id);
    if let Some(name) = plan.name.as_ref().or(chosen.as_ref())
        && let Some(found) = row::find(batch.sql, name)?
    {
        return Ok(SessionCreateResult {
            session: found.session,
            created: false,
        });
    }
    let key = match &plan.name {
        None => None,
        Some(SessionRef::Key(key)) => Some(key.as_str()),
        Some(SessionRef::Id(id)) => {
            return Err(StoreError::Invalid(format!(
                "There is no session with the id '{id}', and a key of that form cannot be created. Choose another key, or leave it out."
            ))
            .into());
        }
    };
    let parent = match &plan.parent {
        None => None,
        Some(parent) => {
            // Checked before the insert: a command that fails should leave no row.
            let head = row::find_head(batch.sql, parent)?;
            Some(head.ok_or_else(|| row::missing(parent))?.identity.id)
        }
    };
    let id = match plan.id {
        Some(id) => id,
        None => SessionId(batch.ids.next(batch.now_ms)),
    };
    let row_id = batch
        .sql
        .prepare_cached(
            "INSERT INTO sessions
             (id, key, kind, label, parent, created_at, updated_at, message_count, metadata)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, 0, ?7)",
        )?
        .insert((
            &id.0.as_bytes()[..],
            key,
            &plan.kind,
            &plan.label,
            parent.as_ref().map(|parent| &parent.0.as_bytes()[..]),
            int(batch.now_ms),
            &plan.metadata,
        ))?;
    let identity = SessionIdentity::new(id, key);
    let payload = created_payload(&identity, &plan.kind);
    batch.log_event(
        event(&CREATED, identity, payload),
        PayloadSource::Session(row_id),
    )?;
    let session = find_existing(batch, &SessionRef::Id(id))?.session;
    Ok(SessionCreateResult {
        session,
        created: true,
    })
}

/// A validated message to add.
#[derive(Debug)]
pub(crate) struct MessageDraft {
    pub(crate) role: Role,
    /// JSON text.
    pub(crate) content: String,
    pub(crate) idempotency_key: Option<String>,
    /// The step of the run that adds it.
    pub(crate) origin: Option<DraftOrigin>,
}

/// The step that a message belongs to.
#[derive(Debug)]
pub(crate) struct DraftOrigin {
    pub(crate) step: u32,
    pub(crate) attempt: u32,
    /// JSON text of a `CallOutcome`.
    pub(crate) outcome: Option<String>,
}

pub(crate) fn send(
    batch: &mut WriteBatch<'_>,
    session: &SessionRef,
    draft: &MessageDraft,
) -> Result<SessionSendResult, QueryError> {
    let head = batch.heads.find(batch.sql, session)?;
    let head = head.ok_or_else(|| row::missing(session))?;
    if let Some(key) = draft.idempotency_key.as_deref()
        && let Some(sent) = sent_before(batch, head.row_id, key, draft)?
    {
        return Ok(sent);
    }
    let (sent, _) = append(batch, head, draft, None)?;
    Ok(sent)
}

/// Refuses a message whose key already made one, whatever its content.
pub(crate) fn refuse_repeat(
    batch: &WriteBatch<'_>,
    session: i64,
    draft: &MessageDraft,
) -> Result<(), QueryError> {
    let Some(key) = draft.idempotency_key.as_deref() else {
        return Ok(());
    };
    match sent_before(batch, session, key, draft)? {
        None => Ok(()),
        Some(sent) => Err(StoreError::Conflict(format!(
            "The idempotency key '{key}' already made message {} of this session.",
            sent.seq
        ))
        .into()),
    }
}

/// Adds a message with its event to the session at `head`; returns its row id too. `run` is the row
/// of the run that adds it.
pub(crate) fn append(
    batch: &mut WriteBatch<'_>,
    head: SessionHead,
    draft: &MessageDraft,
    run: Option<i64>,
) -> rusqlite::Result<(SessionSendResult, i64)> {
    let id = MessageId(batch.ids.next(batch.now_ms));
    let seq = head.message_count + 1;
    // The insert computes the checksum, which covers the row id.
    let message = batch.heads.next_message(batch.sql)?;
    let origin = draft.origin.as_ref();
    batch.sql.prepare_cached(&INSERT_MESSAGE)?.execute((
        message,
        head.row_id,
        int(seq),
        &id.0.as_bytes()[..],
        draft.role.as_str(),
        int(batch.now_ms),
        draft.idempotency_key.as_deref(),
        &draft.content,
        run,
        origin.map(|origin| origin.step),
        origin.map(|origin| origin.attempt),
        origin.and_then(|origin| origin.outcome.as_deref()),
    ))?;
    batch
        .sql
        .prepare_cached(
            "UPDATE sessions SET message_count = ?2, updated_at = ?3 WHERE row_id = ?1",
        )?
        .execute((head.row_id, int(seq), int(batch.now_ms)))?;
    let payload = message_payload(
        &head.identity,
        &MessageFields {
            id,
            seq,
            role: draft.role.as_str(),
            content: &draft.content,
            at: batch.now_ms,
        },
    );
    let place = PayloadSource::Message {
        session: head.row_id,
        message,
    };
    batch.log_event(event(&MESSAGE, head.identity, payload), place)?;
    batch.heads.count_message(head.row_id, message);
    let sent = SessionSendResult {
        message_id: id,
        seq,
    };
    Ok((sent, message))
}

/// Returns the message that this key already made; refuses a key with other content.
fn sent_before(
    batch: &WriteBatch<'_>,
    session: i64,
    key: &str,
    draft: &MessageDraft,
) -> Result<Option<SessionSendResult>, QueryError> {
    let found = batch
        .sql
        .prepare_cached(&SENT_BEFORE)?
        .query_row((session, key), |row| {
            let message: i64 = row.get(4)?;
            if !MESSAGES.is_whole(batch.sql, row, 5, (message, 0))? {
                // Not compared: a damaged message could differ from what was sent.
                return Ok(Err(message));
            }
            let sent = SessionSendResult {
                message_id: MessageId(uuid(row, 0)?),
                seq: number(row, 1)?,
            };
            let same = row.get_ref(2)?.as_str()? == draft.role.as_str()
                && same_content(row.get_ref(3)?.as_str()?, &draft.content);
            Ok(Ok((sent, same)))
        })
        .optional()?;
    let found = match found.transpose() {
        Ok(found) => found,
        Err(message) => {
            return Err(damaged_row_error(
                MESSAGES.damaged_at(batch.sql, [message])?,
            ));
        }
    };
    match found {
        None => Ok(None),
        Some((sent, true)) => Ok(Some(sent)),
        Some((sent, false)) => Err(StoreError::Conflict(format!(
            "The idempotency key '{key}' already made message {} of this session, with another content. Use a new key for a new message.",
            sent.seq
        ))
        .into()),
    }
}

/// True for the same bytes, or the same JSON in another field order.
fn same_content(stored: &str, sent: &str) -> bool {
    let read = |json| serde_json::from_str::<MessageContent>(json).ok();
    stored == sent || read(stored).is_some_and(|stored| read(sent) == Some(stored))
}

pub(crate) fn label(
    batch: &mut WriteBatch<'_>,
    session: &SessionRef,
    label: Option<&str>,
) -> Result<Session, QueryError> {
    let row_id = find_existing(batch, session)?.row_id;
    batch
        .sql
        .prepare_cached("UPDATE sessions SET label = ?2, updated_at = ?3 WHERE row_id = ?1")?
        .execute((row_id, label, int(batch.now_ms)))?;
    Ok(find_existing(batch, session)?.session)
}

/// Sets these entries; null removes one.
pub(crate) fn annotate(
    batch: &mut WriteBatch<'_>,
    session: &SessionRef,
    entries: &Map<String, Value>,
) -> Result<Session, QueryError> {
    let found = find_existing(batch, session)?;
    let mut metadata = found.session.metadata;
    for (name, value) in entries {
        match value {
            Value::Null => metadata.remove(name),
            value => metadata.insert(name.clone(), value.clone()),
        };
    }
    let json = Value::Object(metadata).to_string();
    validate::metadata(&json)?;
    batch
        .sql
        .prepare_cached("UPDATE sessions SET metadata = ?2, updated_at = ?3 WHERE row_id = ?1")?
        .execute((found.row_id, json, int(batch.now_ms)))?;
    Ok(self::find_existing(batch, session)?.session)
}

/// Deletes the session at once. Its first messages go with it, the other ones and its runs as bulk
/// work. A session whose run has not ended is refused.
pub(crate) fn delete(
    batch: &mut WriteBatch<'_>,
    session: &SessionRef,
) -> Result<SessionDeleteResult, QueryError> {
    let found = find_existing(batch, session)?;
    let has_runs = remove::check_deletable(batch, found.row_id, &found.session.session_key)?;
    // The cache must not find the session again.
    batch.heads.forget();
    let (id, messages) = (found.session.id, found.session.messages);
    batch
        .sql
        .prepare_cached("DELETE FROM sessions WHERE row_id = ?1")?
        .execute([found.row_id])?;
    delete_messages(batch, found.row_id)?;
    drafts::delete(batch, found.row_id)?;
    end_session(batch, found.row_id)?;
    // Recorded in this transaction: after a crash the sweep of the next start finds the rest.
    if messages > DELETE_STEP || has_runs {
        batch
            .sql
            .prepare_cached("INSERT INTO deletions (session) VALUES (?1)")?
            .execute([found.row_id])?;
        batch.has_leftover_messages = true;
    }
    let identity = SessionIdentity::new(id, found.key());
    let payload = encode_payload(&SessionDeletedPayload {
        session_key: identity.name().to_owned(),
        session_id: id,
    });
    // The log stores this payload itself, because the session's row is gone.
    batch.log_event(event(&DELETED, identity, payload), PayloadSource::Log)?;
    Ok(SessionDeleteResult { id, messages })
}

fn delete_messages(batch: &WriteBatch<'_>, session: i64) -> rusqlite::Result<usize> {
    let delete = "DELETE FROM messages WHERE row_id IN
        (SELECT row_id FROM messages WHERE session = ?1 LIMIT ?2)";
    MESSAGES.retry_after_reindex(batch.sql, || {
        let mut delete = batch.sql.prepare_cached(delete)?;
        delete.execute((session, int(DELETE_STEP)))
    })
}

/// Bulk work: deletes the leftovers of deleted sessions.
#[derive(Debug)]
pub(crate) struct DeletedSessionSweep;

impl BulkJob for DeletedSessionSweep {
    fn name(&self) -> &'static str {
        "deleted sessions"
    }

    fn step(&mut self, batch: &mut WriteBatch<'_>) -> Result<BulkProgress, QueryError> {
        let next = batch
            .sql
            .prepare_cached("SELECT session FROM deletions WHERE copying = 0 LIMIT 1")?
            .query_row([], |row| row.get::<_, i64>(0))
            .optional()?;
        let Some(session) = next else {
            return Ok(BulkProgress::Done);
        };
        // The record goes last, when nothing is left that a later sweep would have to find.
        if delete_messages(batch, session)? == 0 && !remove::delete_step(batch, session)? {
            batch
                .sql
                .prepare_cached("DELETE FROM deletions WHERE session = ?1")?
                .execute([session])?;
        }
        Ok(BulkProgress::More)
    }
}

fn find_existing(batch: &WriteBatch<'_>, session: &SessionRef) -> Result<SessionRow, QueryError> {
    let found = row::find(batch.sql, session)?;
    Ok(found.ok_or_else(|| row::missing(session))?)
}

pub(super) static INSERT_MESSAGE: LazyLock<String> = LazyLock::new(|| {
    MESSAGES.insert_sql(&[
        "row_id",
        "session",
        "seq",
        "id",
        "role",
        "at",
        "idempotency_key",
        "content",
        "run",
        "step",
        "attempt",
        "outcome",
    ])
});
static SENT_BEFORE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT m.id, m.seq, m.role, m.content, m.row_id, {} FROM messages m
         WHERE m.session = ?1 AND m.idempotency_key = ?2",
        MESSAGES.checksum_state_sql("m")
    )
});

static SERVICE: LazyLock<Arc<str>> = LazyLock::new(|| EVENTS[0].service.into());
pub(super) static CREATED: LazyLock<Arc<str>> = LazyLock::new(|| SessionCreated::SPEC.topic.into());
static MESSAGE: LazyLock<Arc<str>> = LazyLock::new(|| SessionMessage::SPEC.topic.into());
static DELETED: LazyLock<Arc<str>> = LazyLock::new(|| SessionDeleted::SPEC.topic.into());

pub(super) fn event(
    topic: &Arc<str>,
    identity: SessionIdentity,
    payload: bytes::Bytes,
) -> NewEvent {
    NewEvent {
        source: Arc::clone(&SERVICE),
        topic: Arc::clone(topic),
        session: Some(identity.tag),
        payload: Some(payload),
    }
}
