//! Bounds of requests. Pure. They are checked before anything is queued, so that a wrong request
//! costs the writer nothing.

use crate::error::StoreError;
use hob_wire::id::SessionRef;
use hob_wire::limits::{
    DRAFT_BYTES_MAX, FRAME_BYTES_MAX, MESSAGE_BYTES_MAX, METADATA_BYTES_MAX, NAME_BYTES_MAX,
    PAGE_ROWS_MAX, SESSION_KEY_BYTES_MAX,
};

/// The kind of a session that names none.
pub(crate) const KIND_DEFAULT: &str = "main";
const KIND_BYTES_MAX: usize = 32;
pub(crate) const LABEL_BYTES_MAX: usize = 256;

pub(crate) fn session_key(key: &str) -> Result<(), StoreError> {
    line("`sessionKey`", key, SESSION_KEY_BYTES_MAX)
}

/// Parses a session's key or id.
pub(crate) fn session_ref(text: &str) -> Result<SessionRef, StoreError> {
    session_key(text)?;
    Ok(SessionRef::parse(text))
}

pub(crate) fn kind(kind: &str) -> Result<(), StoreError> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if kind.is_empty() || kind.len() > KIND_BYTES_MAX || !kind.chars().all(allowed) {
        return Err(StoreError::Invalid(format!(
            "`kind` is 1 to {KIND_BYTES_MAX} lower-case letters, digits and dashes."
        )));
    }
    Ok(())
}

pub(crate) fn label(label: &str) -> Result<(), StoreError> {
    line("`label`", label, LABEL_BYTES_MAX)
}

pub(crate) fn idempotency_key(key: &str) -> Result<(), StoreError> {
    line("`idempotencyKey`", key, NAME_BYTES_MAX)
}

pub(crate) fn token_name(name: &str) -> Result<(), StoreError> {
    line("`name`", name, NAME_BYTES_MAX)
}

/// Checks metadata as JSON text.
pub(crate) fn metadata(json: &str) -> Result<(), StoreError> {
    at_most("`metadata`", json.len(), METADATA_BYTES_MAX)
}

/// Checks a message's content as JSON text.
pub(crate) fn content(json: &str) -> Result<(), StoreError> {
    at_most("`content`", json.len(), MESSAGE_BYTES_MAX)
}

/// Checks a draft.
pub(crate) fn draft(draft: &str) -> Result<(), StoreError> {
    if draft.len() > DRAFT_BYTES_MAX {
        return Err(StoreError::Invalid(format!(
            "`draft` has {} bytes; at most {DRAFT_BYTES_MAX} are kept.",
            draft.len()
        )));
    }
    Ok(())
}

/// Checks a run's task, which becomes a message.
pub(crate) fn task(task: &str) -> Result<(), StoreError> {
    at_most("`task`", task.len(), MESSAGE_BYTES_MAX)
}

/// Checks a run's parameters as JSON text.
pub(crate) fn params(json: &str) -> Result<(), StoreError> {
    at_most("A run's parameters", json.len(), FRAME_BYTES_MAX)
}

/// Checks a journal entry as JSON text.
pub(crate) fn journal_entry(json: &str) -> Result<(), StoreError> {
    at_most("A journal entry", json.len(), FRAME_BYTES_MAX)
}

/// Checks a run's answer.
pub(crate) fn answer(text: &str) -> Result<(), StoreError> {
    at_most("A run's text", text.len(), MESSAGE_BYTES_MAX)
}

/// Checks a run's notes as JSON text.
pub(crate) fn notes(json: &str) -> Result<(), StoreError> {
    at_most("A run's notes", json.len(), MESSAGE_BYTES_MAX)
}

/// Checks an event's payload as JSON text.
pub(crate) fn payload(json: &str) -> Result<(), StoreError> {
    at_most("An event's payload", json.len(), FRAME_BYTES_MAX)
}

/// Checks the key of a model call in the ledger.
pub(crate) fn call_key(key: &str) -> Result<(), StoreError> {
    line("A call's key", key, NAME_BYTES_MAX)
}

/// Returns the number of rows of a page.
pub(crate) fn page_rows(limit: Option<u32>, default: u32) -> Result<usize, StoreError> {
    match limit.unwrap_or(default).min(PAGE_ROWS_MAX) {
        0 => Err(StoreError::Invalid("`limit` is at least 1.".to_owned())),
        rows => Ok(rows as usize),
    }
}

fn line(what: &str, text: &str, bytes_max: usize) -> Result<(), StoreError> {
    // Names are printed to terminals and logs, where control characters could do harm.
    if text.is_empty() || text.len() > bytes_max || text.chars().any(char::is_control) {
        return Err(StoreError::Invalid(format!(
            "{what} is 1 to {bytes_max} bytes without control characters."
        )));
    }
    Ok(())
}

fn at_most(what: &str, bytes: usize, bytes_max: usize) -> Result<(), StoreError> {
    if bytes > bytes_max {
        return Err(StoreError::Invalid(format!(
            "{what} has {bytes} bytes as JSON; at most {bytes_max} are taken."
        )));
    }
    Ok(())
}
