//! Changing sessions. Each function is one command: its rows and its event are committed together
//! or not at all.

use super::row::{self, Found, Head};
use crate::batch::Batch;
use crate::checksums::MESSAGES;
use crate::checksums::damage::refusal;
use crate::error::{StoreError, Trouble};
use crate::events::{MessageFace, Place, SessionFace, created_payload, encode, message_payload};
use crate::judgements::end_session;
use crate::lanes::{Bulk, Step};
use crate::rules;
use crate::runs::remove;
use crate::value::{int, number, uuid};
use hob_bus::NewEvent;
use hob_kit::failpoint;
use hob_wire::id::SessionRef;
use hob_wire::rooms::session::{
    Created, Deleted, EVENTS, Sent, Session, SessionCreated, SessionDeleted, SessionDeletedPayload,
    SessionMessage,
};
use hob_wire::{Content, MessageId, Role, SessionId, Topic};
use rusqlite::OptionalExtension;
use serde_json::{Map, Value};
use std::sync::{Arc, LazyLock};

/// Messages removed in one step of a deletion.
const DELETE_STEP: u64 = 256;

/// A session to be made; its parts were checked.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) name: Option<SessionRef>,
    /// The id its caller chose.
    pub(crate) id: Option<SessionId>,
    pub(crate) kind: String,
    pub(crate) label: Option<String>,
    pub(crate) parent: Option<SessionRef>,
    /// JSON already.
    pub(crate) metadata: String,
}

pub(crate) fn create(batch: &mut Batch<'_>, plan: &Plan) -> Result<Created, Trouble> {
    let chosen = plan.id.map(SessionRef::Id);
    if let Some(name) = plan.name.as_ref().or(chosen.as_ref())
        && let Some(found) = row::find(batch.sql, name)?
    {
        return Ok(Created {
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
            let head = row::find_head(batch.sql, parent)?;
            Some(head.ok_or_else(|| row::missing(parent))?.face.id)
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
    let face = SessionFace::new(id, key);
    let payload = created_payload(&face, &plan.kind);
    batch.log(event(&CREATED, face, payload), Place::Session(row_id))?;
    let session = found(batch, &SessionRef::Id(id))?.session;
    Ok(Created {
        session,
        created: true,
    })
}

/// A message to be added; its parts were checked.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) role: Role,
    /// JSON already.
    pub(crate) content: String,
    pub(crate) idempotency_key: Option<String>,
}

pub(crate) fn send(
    batch: &mut Batch<'_>,
    session: &SessionRef,
    draft: &Draft,
) -> Result<Sent, Trouble> {
    let head = batch.heads.find(batch.sql, session)?;
    let head = head.ok_or_else(|| row::missing(session))?;
    let key = draft.idempotency_key.as_deref();
    let key = key.filter(|_| !failpoint::broken(16));
    if let Some(key) = key
        && let Some(sent) = sent_before(batch, head.row_id, key, draft)?
    {
        return Ok(sent);
    }
    let (sent, _) = append(batch, head, draft)?;
    Ok(sent)
}

/// Refuses a message whose key already made one, whatever its content.
pub(crate) fn refuse_repeat(batch: &Batch<'_>, session: i64, draft: &Draft) -> Result<(), Trouble> {
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

/// Adds a message to the session at `head`, with its event; answers its row too.
pub(crate) fn append(
    batch: &mut Batch<'_>,
    head: Head,
    draft: &Draft,
) -> rusqlite::Result<(Sent, i64)> {
    let key = draft.idempotency_key.as_deref();
    let key = key.filter(|_| !failpoint::broken(16));
    let id = MessageId(batch.ids.next(batch.now_ms));
    let seq = head.message_count + 1;
    let message = batch.heads.next_message(batch.sql)?;
    batch.sql.prepare_cached(&INSERT_MESSAGE)?.execute((
        message,
        head.row_id,
        int(seq),
        &id.0.as_bytes()[..],
        draft.role.as_str(),
        int(batch.now_ms),
        key,
        &draft.content,
    ))?;
    batch
        .sql
        .prepare_cached(
            "UPDATE sessions SET message_count = ?2, updated_at = ?3 WHERE row_id = ?1",
        )?
        .execute((head.row_id, int(seq), int(batch.now_ms)))?;
    let payload = message_payload(
        &head.face,
        &MessageFace {
            id,
            seq,
            role: draft.role.as_str(),
            content: &draft.content,
            at: batch.now_ms,
        },
    );
    let place = Place::Message {
        session: head.row_id,
        message,
    };
    batch.log(event(&MESSAGE, head.face, payload), place)?;
    batch.heads.grown(head.row_id, message);
    let sent = Sent {
        message_id: id,
        seq,
    };
    Ok((sent, message))
}

/// The message that this key already made, if it did; refuses a key used for something else.
fn sent_before(
    batch: &Batch<'_>,
    session: i64,
    key: &str,
    draft: &Draft,
) -> Result<Option<Sent>, Trouble> {
    let found = batch
        .sql
        .prepare_cached(&SENT_BEFORE)?
        .query_row((session, key), |row| {
            let message: i64 = row.get(4)?;
            if !MESSAGES.is_whole(batch.sql, row, 5, (message, 0))? {
                return Ok(Err(message));
            }
            let sent = Sent {
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
        Err(message) => return Err(refusal(MESSAGES.damaged_at(batch.sql, [message])?)),
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

/// The same bytes, or the same JSON written in another order.
fn same_content(stored: &str, sent: &str) -> bool {
    let read = |json| serde_json::from_str::<Content>(json).ok();
    stored == sent || read(stored).is_some_and(|stored| read(sent) == Some(stored))
}

pub(crate) fn label(
    batch: &mut Batch<'_>,
    session: &SessionRef,
    label: Option<&str>,
) -> Result<Session, Trouble> {
    let row_id = found(batch, session)?.row_id;
    batch
        .sql
        .prepare_cached("UPDATE sessions SET label = ?2, updated_at = ?3 WHERE row_id = ?1")?
        .execute((row_id, label, int(batch.now_ms)))?;
    Ok(found(batch, session)?.session)
}

/// Sets the given entries; null takes one away.
pub(crate) fn annotate(
    batch: &mut Batch<'_>,
    session: &SessionRef,
    entries: &Map<String, Value>,
) -> Result<Session, Trouble> {
    let found = found(batch, session)?;
    let mut metadata = found.session.metadata;
    for (name, value) in entries {
        match value {
            Value::Null => metadata.remove(name),
            value => metadata.insert(name.clone(), value.clone()),
        };
    }
    let json = Value::Object(metadata).to_string();
    rules::metadata(&json)?;
    batch
        .sql
        .prepare_cached("UPDATE sessions SET metadata = ?2, updated_at = ?3 WHERE row_id = ?1")?
        .execute((found.row_id, json, int(batch.now_ms)))?;
    Ok(self::found(batch, session)?.session)
}

/// Deletes the session at once; of its messages the first few, and the rest, with its runs, as
/// bulk work. One whose run has not ended stays.
pub(crate) fn delete(batch: &mut Batch<'_>, session: &SessionRef) -> Result<Deleted, Trouble> {
    let found = found(batch, session)?;
    let has_runs = remove::check(batch, found.row_id, &found.session.session_key)?;
    batch.heads.forget();
    let (id, messages) = (found.session.id, found.session.messages);
    batch
        .sql
        .prepare_cached("DELETE FROM sessions WHERE row_id = ?1")?
        .execute([found.row_id])?;
    delete_messages(batch, found.row_id)?;
    end_session(batch, found.row_id)?;
    if messages > DELETE_STEP || has_runs {
        batch
            .sql
            .prepare_cached("INSERT INTO deletions (session) VALUES (?1)")?
            .execute([found.row_id])?;
        batch.left_messages = true;
    }
    let face = SessionFace::new(id, found.key());
    let payload = encode(&SessionDeletedPayload {
        session_key: face.name().to_owned(),
        session_id: id,
    });
    batch.log(event(&DELETED, face, payload), Place::Alone)?;
    Ok(Deleted { id, messages })
}

fn delete_messages(batch: &Batch<'_>, session: i64) -> rusqlite::Result<usize> {
    let delete = "DELETE FROM messages WHERE row_id IN
        (SELECT row_id FROM messages WHERE session = ?1 LIMIT ?2)";
    MESSAGES.despite_damage(batch.sql, || {
        let mut delete = batch.sql.prepare_cached(delete)?;
        delete.execute((session, int(DELETE_STEP)))
    })
}

/// Bulk work: removes what deleted sessions left.
#[derive(Debug)]
pub(crate) struct Sweep;

impl Bulk for Sweep {
    fn name(&self) -> &'static str {
        "deleted sessions"
    }

    fn step(&mut self, batch: &mut Batch<'_>) -> Result<Step, Trouble> {
        let next = batch
            .sql
            .prepare_cached("SELECT session FROM deletions LIMIT 1")?
            .query_row([], |row| row.get::<_, i64>(0))
            .optional()?;
        let Some(session) = next else {
            return Ok(Step::Done);
        };
        if delete_messages(batch, session)? == 0 && !remove::step(batch, session)? {
            batch
                .sql
                .prepare_cached("DELETE FROM deletions WHERE session = ?1")?
                .execute([session])?;
        }
        Ok(Step::More)
    }
}

fn found(batch: &Batch<'_>, session: &SessionRef) -> Result<Found, Trouble> {
    let found = row::find(batch.sql, session)?;
    Ok(found.ok_or_else(|| row::missing(session))?)
}

static INSERT_MESSAGE: LazyLock<String> = LazyLock::new(|| {
    MESSAGES.insert(&[
        "row_id",
        "session",
        "seq",
        "id",
        "role",
        "at",
        "idempotency_key",
        "content",
    ])
});
static SENT_BEFORE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT m.id, m.seq, m.role, m.content, m.row_id, {} FROM messages m
         WHERE m.session = ?1 AND m.idempotency_key = ?2",
        MESSAGES.state("m")
    )
});

static SERVICE: LazyLock<Arc<str>> = LazyLock::new(|| EVENTS[0].service.into());
static CREATED: LazyLock<Arc<str>> = LazyLock::new(|| SessionCreated::SPEC.topic.into());
static MESSAGE: LazyLock<Arc<str>> = LazyLock::new(|| SessionMessage::SPEC.topic.into());
static DELETED: LazyLock<Arc<str>> = LazyLock::new(|| SessionDeleted::SPEC.topic.into());

fn event(topic: &Arc<str>, face: SessionFace, payload: bytes::Bytes) -> NewEvent {
    NewEvent {
        source: Arc::clone(&SERVICE),
        topic: Arc::clone(topic),
        session: Some(face.tag),
        payload: Some(payload),
    }
}
