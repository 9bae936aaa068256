//! The event log in SQL: writes rows, and rebuilds payloads when they are read.
//!
//! Invariants: an event about a row is rebuilt to exactly the bytes it was published with; an event
//! whose row is gone or damaged is left out, and the damage reported; a page is empty only when
//! nothing follows.

use crate::checksums::{MESSAGES, RUN_TASKS, RUNS};
use crate::loops::payload as loops;
use crate::runs::payload;
use crate::runs::row::summary;
use crate::value::{int, number, optional_uuid, uint};
use bytes::Bytes;
use hob_bus::{LogBounds, LoggedEvent, NewEvent, SessionTag};
use hob_wire::limits::PAGE_BYTES_MAX;
use hob_wire::rooms::session::SessionCreatedPayload;
use hob_wire::{DamagedRow, MessageId, RunId, SessionId};
use rusqlite::{Connection, Row};
use std::io::Write;
use std::sync::{Arc, LazyLock};
use uuid::Uuid;

/// The rows from which an event's payload is rebuilt.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PayloadSource {
    /// The log's own row, which stores the payload and the session's names.
    Log,
    /// The session's row.
    Session(i64),
    /// The message's row.
    Message { session: i64, message: i64 },
    /// The run's row, for the part that the log does not store.
    Run {
        session: i64,
        run: i64,
        kept: StoredPayload,
    },
}

/// The part of a run event's payload that the log stores.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StoredPayload {
    /// Nothing: all of it is in the run's row.
    Nothing,
    All,
    /// The first bytes; the rest is in a message.
    Prefix {
        bytes: usize,
        message: i64,
    },
}

pub(crate) fn insert_event(
    sql: &Connection,
    seq: u64,
    at_ms: u64,
    event: &NewEvent,
    place: PayloadSource,
) -> rusqlite::Result<()> {
    let (session, message, run) = match place {
        PayloadSource::Log => (None, None, None),
        PayloadSource::Session(session) => (Some(session), None, None),
        PayloadSource::Message { session, message } => (Some(session), Some(message), None),
        PayloadSource::Run { session, run, kept } => match kept {
            StoredPayload::Prefix { message, .. } => (Some(session), Some(message), Some(run)),
            StoredPayload::Nothing | StoredPayload::All => (Some(session), None, Some(run)),
        },
    };
    // A row id stands for the session's names, so they are stored only without one.
    let tag = event.session.as_ref().filter(|_| session.is_none());
    let payload = event.payload.as_deref();
    let payload = match place {
        PayloadSource::Log
        | PayloadSource::Run {
            kept: StoredPayload::All,
            ..
        } => payload,
        PayloadSource::Run {
            kept: StoredPayload::Prefix { bytes, .. },
            ..
        } => payload.and_then(|payload| payload.get(..bytes)),
        PayloadSource::Session(_) | PayloadSource::Message { .. } | PayloadSource::Run { .. } => {
            None
        }
    };
    let mut insert = sql.prepare_cached(
        "INSERT INTO events
         (seq, at, topic, source, session, message, session_id, session_key, payload, run)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?;
    insert.execute((
        int(seq),
        int(at_ms),
        &*event.topic,
        &*event.source,
        session,
        message,
        tag.map(|tag| &*tag.id),
        tag.and_then(|tag| tag.key.as_deref()),
        payload,
        run,
    ))?;
    Ok(())
}

/// Returns the bounds of the log. `floor` is the highest number known to be used.
pub(crate) fn log_bounds(sql: &Connection, floor: u64) -> rusqlite::Result<LogBounds> {
    let (first, last): (Option<i64>, Option<i64>) = sql.query_row(
        "SELECT (SELECT min(seq) FROM events), (SELECT max(seq) FROM events)",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let last = uint(last.unwrap_or(0)).max(floor);
    // An empty log begins after the last used number.
    let first = first.map_or(last + 1, uint);
    Ok(LogBounds { first, last })
}

/// Some events after a number, and the place to continue.
#[derive(Debug)]
pub(crate) struct EventPage {
    pub(crate) events: Vec<LoggedEvent>,
    /// True if the log was read to its end.
    pub(crate) is_last: bool,
    /// The last number read, including events that were left out.
    pub(crate) reached: u64,
    /// Damaged rows that events refer to.
    pub(crate) damaged: Vec<DamagedRow>,
}

/// Reads at most `rows_max` rows of the log after `after`; stops early when the payloads are large.
pub(crate) fn read_page(
    sql: &Connection,
    after: u64,
    rows_max: usize,
) -> rusqlite::Result<EventPage> {
    let mut select = sql.prepare_cached(&PAGE)?;
    let mut rows = select.query((int(after), int(rows_max as u64)))?;
    let mut names = NameInterner::default();
    let mut page = EventPage {
        events: Vec::new(),
        is_last: false,
        reached: after,
        damaged: Vec::new(),
    };
    let (mut seen, mut bytes) = (0, 0);
    while let Some(row) = rows.next()? {
        seen += 1;
        // Set for events that are left out too, or the next page would read them again.
        page.reached = number(row, 0)?;
        if let Some(damaged) = find_damage(sql, row)? {
            page.damaged.push(damaged);
            continue;
        }
        if let Some(event) = rebuild_event(row, &mut names)? {
            bytes += event.payload.as_ref().map_or(0, Bytes::len);
            page.events.push(event);
        }
        if bytes >= PAGE_BYTES_MAX {
            return Ok(page);
        }
    }
    page.is_last = seen < rows_max;
    Ok(page)
}

static PAGE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT e.seq, e.topic, e.source, e.session, e.message, e.session_id, e.session_key,
                e.payload, s.id, s.key, s.kind, m.id, m.seq, m.role, m.at, m.content, e.run,
                r.id, t.task, r.state, r.step, r.attempt, r.resumed, r.text, r.success, r.cause,
                r.message, r.micro_dollars, r.input_tokens, r.output_tokens, r.calls, r.model,
                r.notes, r.started_at, r.ended_at, m.row_id, iif(m.row_id IS NULL, NULL, {}),
                r.row_id, iif(r.row_id IS NULL, NULL, {}), t.run, iif(t.run IS NULL, NULL, {})
         FROM events e
         LEFT JOIN sessions s ON s.row_id = e.session
         LEFT JOIN messages m ON m.row_id = e.message AND m.session = e.session
         LEFT JOIN runs r ON r.row_id = e.run AND e.payload IS NULL
         LEFT JOIN run_tasks t ON t.run = r.row_id
         WHERE e.seq > ?1 ORDER BY e.seq LIMIT ?2",
        MESSAGES.checksum_state_sql("m"),
        RUNS.checksum_state_sql("r"),
        RUN_TASKS.checksum_state_sql("t")
    )
});

/// Returns the damaged row that an event would be rebuilt from, if there is one.
fn find_damage(sql: &Connection, row: &Row<'_>) -> rusqlite::Result<Option<DamagedRow>> {
    for (table, column) in [(&MESSAGES, 35), (&RUNS, 37), (&RUN_TASKS, 39)] {
        if let Some(key) = row.get::<_, Option<i64>>(column)?
            && !table.is_whole(sql, row, column + 1, (key, 0))?
        {
            return table.damaged_at(sql, [key]).map(Some);
        }
    }
    Ok(None)
}

fn rebuild_event(row: &Row<'_>, names: &mut NameInterner) -> rusqlite::Result<Option<LoggedEvent>> {
    let logged = |session, payload, names: &mut NameInterner| -> rusqlite::Result<_> {
        Ok(Some(LoggedEvent {
            seq: number(row, 0)?,
            topic: names.intern(row.get_ref(1)?.as_str()?),
            source: names.intern(row.get_ref(2)?.as_str()?),
            session,
            payload,
        }))
    };
    let session_row: Option<i64> = row.get(3)?;
    if session_row.is_none() {
        let key: Option<String> = row.get(6)?;
        let tag = row.get::<_, Option<String>>(5)?.map(|id| SessionTag {
            id: id.into(),
            key: key.map(Into::into),
        });
        let payload: Option<Vec<u8>> = row.get(7)?;
        return logged(tag, payload.map(Bytes::from), names);
    }
    let Some(id) = optional_uuid(row, 8)? else {
        return Ok(None);
    };
    let key = row.get_ref(9)?.as_str_or_null()?;
    let identity = SessionIdentity::new(SessionId(id), key);
    // Tested before the message: a run's event may have one too.
    if row.get::<_, Option<i64>>(16)?.is_some() {
        return match run_payload(row, &identity)? {
            Some(payload) => logged(Some(identity.tag), Some(payload), names),
            None => Ok(None),
        };
    }
    if row.get::<_, Option<i64>>(4)?.is_none() {
        let kind: String = row.get(10)?;
        let payload = created_payload(&identity, &kind);
        return logged(Some(identity.tag), Some(payload), names);
    }
    let Some(message) = optional_uuid(row, 11)? else {
        return Ok(None);
    };
    let payload = message_payload(
        &identity,
        &MessageFields {
            id: MessageId(message),
            seq: number(row, 12)?,
            role: row.get_ref(13)?.as_str()?,
            content: row.get_ref(15)?.as_str()?,
            at: number(row, 14)?,
        },
    );
    logged(Some(identity.tag), Some(payload), names)
}

/// Rebuilds the payload of an event about a run; none when its source is gone.
fn run_payload(row: &Row<'_>, session: &SessionIdentity) -> rusqlite::Result<Option<Bytes>> {
    let topic = row.get_ref(1)?.as_str()?;
    if let Some(kept) = row.get_ref(7)?.as_blob_or_null()? {
        if row.get::<_, Option<i64>>(4)?.is_none() {
            return Ok(Some(Bytes::copy_from_slice(kept)));
        }
        let content = row.get_ref(15)?.as_str_or_null()?;
        return Ok(content.and_then(|content| payload::rebuild(topic, kept, content)));
    }
    let Some(run) = optional_uuid(row, 17)?.map(RunId) else {
        return Ok(None);
    };
    match topic {
        payload::QUEUED => {
            let task = row.get_ref(18)?.as_str()?;
            Ok(Some(payload::queued(session, run, task)))
        }
        loops::PROMPT => Ok(loops::prompt(session, run, row.get_ref(18)?.as_str()?)),
        loops::RESPONSE => Ok(loops::response(session, run, row.get_ref(23)?.as_str()?)),
        _ => Ok(payload::completed(session, run, &summary(row, 19)?)),
    }
}

/// The id and names of a session, as its events carry them.
#[derive(Clone, Debug)]
pub(crate) struct SessionIdentity {
    pub(crate) id: SessionId,
    pub(crate) tag: SessionTag,
}

impl SessionIdentity {
    pub(crate) fn new(id: SessionId, key: Option<&str>) -> Self {
        let mut text = Uuid::encode_buffer();
        SessionIdentity {
            id,
            tag: SessionTag {
                id: (&*id.0.hyphenated().encode_lower(&mut text)).into(),
                key: key.map(Into::into),
            },
        }
    }

    /// The key if it has one, else the id.
    pub(crate) fn name(&self) -> &str {
        self.tag.key.as_deref().unwrap_or(&self.tag.id)
    }
}

/// The fields of a message that its event carries; `content` is JSON already.
#[derive(Debug)]
pub(crate) struct MessageFields<'a> {
    pub(crate) id: MessageId,
    pub(crate) seq: u64,
    pub(crate) role: &'a str,
    pub(crate) content: &'a str,
    pub(crate) at: u64,
}

/// Writes a `SessionMessagePayload` from the stored JSON: the content is neither parsed nor encoded
/// again.
pub(crate) fn message_payload(session: &SessionIdentity, message: &MessageFields<'_>) -> Bytes {
    let mut json = Vec::with_capacity(256 + session.name().len() + message.content.len());
    let mut id = Uuid::encode_buffer();
    json.extend_from_slice(br#"{"sessionKey":"#);
    put_text(&mut json, session.name());
    json.extend_from_slice(br#","sessionId":""#);
    json.extend_from_slice(session.tag.id.as_bytes());
    json.extend_from_slice(br#"","id":""#);
    json.extend_from_slice(message.id.0.hyphenated().encode_lower(&mut id).as_bytes());
    json.extend_from_slice(br#"","seq":"#);
    put_number(&mut json, message.seq);
    json.extend_from_slice(br#","role":""#);
    json.extend_from_slice(message.role.as_bytes());
    json.extend_from_slice(br#"","content":"#);
    json.extend_from_slice(message.content.as_bytes());
    json.extend_from_slice(br#","at":"#);
    put_number(&mut json, message.at);
    json.push(b'}');
    json.into()
}

fn put_text(json: &mut Vec<u8>, text: &str) {
    let plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    if text.bytes().all(plain) {
        json.push(b'"');
        json.extend_from_slice(text.as_bytes());
        json.push(b'"');
    } else {
        let quoted = serde_json::Value::from(text).to_string();
        json.extend_from_slice(quoted.as_bytes());
    }
}

fn put_number(json: &mut Vec<u8>, number: u64) {
    // Writing into a vector cannot fail.
    let _ = write!(json, "{number}");
}

pub(crate) fn created_payload(session: &SessionIdentity, kind: &str) -> Bytes {
    encode_payload(&SessionCreatedPayload {
        session_key: session.name().to_owned(),
        session_id: session.id,
        kind: kind.to_owned(),
    })
}

/// Encodes a payload as JSON.
#[expect(
    clippy::expect_used,
    reason = "our own payload types have text keys only"
)]
pub(crate) fn encode_payload(payload: &impl serde::Serialize) -> Bytes {
    serde_json::to_vec(payload)
        .expect("payload types always encode_payload")
        .into()
}

/// The topic and source names of a page, shared between its events.
#[derive(Default)]
struct NameInterner(Vec<Arc<str>>);

impl NameInterner {
    fn intern(&mut self, text: &str) -> Arc<str> {
        // A home has few topics. A page with many more shares less.
        const NAMES_MAX: usize = 64;
        if let Some(name) = self.0.iter().find(|name| ***name == *text) {
            return Arc::clone(name);
        }
        let name: Arc<str> = text.into();
        if self.0.len() < NAMES_MAX {
            self.0.push(Arc::clone(&name));
        }
        name
    }
}

#[cfg(test)]
#[path = "events_tests.rs"]
mod tests;
