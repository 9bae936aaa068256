//! The methods `session.*`. Lists are arrays, and what does not exist is `null` or `false`.

use crate::vargos::client::VargosClient;
use crate::vargos::dates::{iso, parse_ms};
use crate::vargos::params::{VargosParams, invalid};
use hob_wire::content::{ContentPart, Message, MessageContent, Role};
use hob_wire::limits::{FRAME_BYTES_MAX, PAGE_ROWS_MAX};
use hob_wire::rooms::session::{
    self, Session, SessionCreateParams, SessionDeleteParams, SessionGetParams,
    SessionHistoryParams, SessionListParams, SessionSendParams,
};
use hob_wire::{ErrorCode, WireError};
use serde_json::{Value, json};
use std::collections::VecDeque;

/// Sessions or messages of one answer.
const ROWS_MAX: usize = 5_000;
/// The key of a session's metadata that holds the agent its client named.
const AGENT_KEY: &str = "agentId";

pub(crate) async fn list(
    client: &VargosClient,
    mut params: VargosParams,
) -> Result<Value, WireError> {
    let kind = params.take_text("kind")?;
    let limit = params.take_count("limit")?.unwrap_or(ROWS_MAX);
    params.finish()?;
    let mut rows = Vec::new();
    let mut before = None;
    while let Some(page_rows) = page_size(limit, rows.len()) {
        let page = SessionListParams {
            kind: kind.clone(),
            limit: Some(page_rows),
            before: before.take(),
            ..SessionListParams::default()
        };
        let page = client.call::<session::List>(&page).await?;
        rows.extend(page.sessions.iter().map(session_shape));
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    Ok(Value::Array(rows))
}

pub(crate) async fn get(
    client: &VargosClient,
    mut params: VargosParams,
) -> Result<Value, WireError> {
    let session_key = params.require_text("sessionKey")?;
    params.finish()?;
    match client
        .call::<session::Get>(&SessionGetParams { session_key })
        .await
    {
        Ok(session) => Ok(session_shape(&session)),
        Err(error) if error.code == ErrorCode::NotFound => Ok(Value::Null),
        Err(error) => Err(error),
    }
}

/// Creates a session, or returns the one that has the key already.
pub(crate) async fn create(
    client: &VargosClient,
    mut params: VargosParams,
) -> Result<Value, WireError> {
    if let Some(agent) = params.take_text(AGENT_KEY)? {
        let mut metadata = params.take_object("metadata")?;
        metadata.insert(AGENT_KEY.to_owned(), Value::String(agent));
        params.set("metadata", metadata);
    }
    let params: SessionCreateParams = params.decode()?;
    let created = client.call::<session::Create>(&params).await?;
    let mut shape = session_shape(&created.session);
    shape["created"] = Value::Bool(created.created);
    Ok(shape)
}

pub(crate) async fn delete(
    client: &VargosClient,
    mut params: VargosParams,
) -> Result<Value, WireError> {
    let session_key = params.require_text("sessionKey")?;
    params.finish()?;
    match client
        .call::<session::Delete>(&SessionDeleteParams { session_key })
        .await
    {
        Ok(_) => Ok(Value::Bool(true)),
        Err(error) if error.code == ErrorCode::NotFound => Ok(Value::Bool(false)),
        Err(error) => Err(error),
    }
}

/// Adds a message and returns it as it is stored: hob's messages have no metadata.
pub(crate) async fn add_message(
    client: &VargosClient,
    mut params: VargosParams,
) -> Result<Value, WireError> {
    params.take_object("metadata")?;
    let params: SessionSendParams = params.decode()?;
    let session_key = params.session_key.clone();
    let sent = client.call::<session::Send>(&params).await?;
    let stored = SessionHistoryParams {
        session_key: session_key.clone(),
        limit: Some(1),
        before: Some(sent.seq.saturating_add(1)),
    };
    let page = client.call::<session::History>(&stored).await?;
    let stored = page
        .messages
        .iter()
        .find(|message| message.id == sent.message_id);
    let gone = || WireError::new(ErrorCode::NotFound, "The session was deleted meanwhile.");
    stored
        .map(|message| message_shape(&session_key, message, &text_of(message)))
        .ok_or_else(gone)
}

/// Lists the newest messages, oldest first. Those without a text, such as tool calls and their
/// results, are left out.
pub(crate) async fn get_messages(
    client: &VargosClient,
    mut params: VargosParams,
) -> Result<Value, WireError> {
    let session_key = params.require_text("sessionKey")?;
    let limit = params
        .take_count("limit")?
        .unwrap_or(ROWS_MAX)
        .min(ROWS_MAX);
    let wrong = || invalid("`before` is a date, as an ISO text or in milliseconds.");
    let before_ms = match params.take("before") {
        Some(date) => parse_ms(&date).ok_or_else(wrong)?,
        None => u64::MAX,
    };
    params.finish()?;
    let mut rows = VecDeque::new();
    let mut bytes = 0;
    let mut cursor = None;
    while rows.len() < limit {
        let page = SessionHistoryParams {
            session_key: session_key.clone(),
            limit: Some(PAGE_ROWS_MAX),
            before: cursor,
        };
        let page = client.call::<session::History>(&page).await?;
        for message in page.messages.iter().rev() {
            let text = text_of(message);
            if rows.len() >= limit || message.at >= before_ms || text.is_empty() {
                continue;
            }
            bytes += text.len();
            if bytes > FRAME_BYTES_MAX {
                return Err(invalid(
                    "The messages do not fit a frame; ask for fewer with `limit`.",
                ));
            }
            rows.push_front(message_shape(&session_key, message, &text));
        }
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    Ok(Value::Array(rows.into()))
}

fn session_shape(session: &Session) -> Value {
    let mut shape = json!({
        "sessionKey": session.session_key,
        "id": session.id,
        "kind": session.kind,
        "metadata": session.metadata,
        "messages": session.messages,
        "createdAt": iso(session.created_at),
        "updatedAt": iso(session.updated_at),
    });
    let parent = session.parent.map(|parent| json!(parent));
    let optional = [
        ("label", session.label.clone().map(Value::String)),
        ("title", session.title.clone().map(Value::String)),
        ("parent", parent),
        (AGENT_KEY, session.metadata.get(AGENT_KEY).cloned()),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            shape[name] = value;
        }
    }
    shape
}

fn message_shape(session_key: &str, message: &Message, text: &str) -> Value {
    json!({
        "id": message.id,
        "sessionKey": session_key,
        "seq": message.seq,
        "role": message.role,
        "content": text,
        "timestamp": iso(message.at),
    })
}

/// The text of a message; empty for a tool's result.
pub(crate) fn text_of(message: &Message) -> String {
    if message.role == Role::Tool {
        return String::new();
    }
    text_of_content(&message.content)
}

/// The texts of a content. An image is named by its type.
pub(crate) fn text_of_content(content: &MessageContent) -> String {
    let parts = match content {
        MessageContent::Text(text) => return text.clone(),
        MessageContent::Parts(parts) => parts,
    };
    let texts = parts.iter().filter_map(|part| match part {
        ContentPart::Text { text } => Some(text.clone()),
        ContentPart::Image { mime_type, .. } => Some(format!("[{mime_type}]")),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The rows of the next page; `None` if there are enough.
fn page_size(limit: usize, rows: usize) -> Option<u32> {
    let missing = limit.min(ROWS_MAX).checked_sub(rows)?;
    let page_rows = u32::try_from(missing)
        .unwrap_or(u32::MAX)
        .min(PAGE_ROWS_MAX);
    (page_rows > 0).then_some(page_rows)
}

#[cfg(test)]
#[path = "sessions_tests.rs"]
mod tests;
