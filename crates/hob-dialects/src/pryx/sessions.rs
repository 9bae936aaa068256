//! Sessions: listing, creating, showing, renaming, deleting. Also their form in events.
//!
//! Invariant: a session's id here is hob's own id; its key is taken in its place everywhere.

use crate::pryx::client::{
    PathParameter, PryxAnswer, PryxClient, body_of, json, json_with, limit_of, no_content,
};
use crate::pryx::timestamp;
use axum::extract::{RawQuery, Request};
use axum::http::StatusCode;
use hob_wire::WireError;
use hob_wire::content::{ContentPart, Message, MessageContent};
use hob_wire::id::SessionRef;
use hob_wire::rooms::session::{
    self, Session, SessionCreateParams, SessionDeleteParams, SessionGetParams, SessionLabelParams,
    SessionListParams,
};
use serde::Deserialize;
use serde_json::{Value, json};

/// Sessions of one list if the query names no `limit`, and at most.
const LISTED: u32 = 200;
const LISTED_MAX: u32 = 500;
/// The title of a session without words, as Pryx shows it.
const UNTITLED: &str = "Session";

#[derive(Debug, Deserialize)]
struct SessionTitle {
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    name: Option<String>,
}

impl SessionTitle {
    /// The title that a person typed, if any.
    fn label(self) -> Option<String> {
        let label = self.title.or(self.name)?;
        (!label.trim().is_empty()).then_some(label)
    }
}

/// `GET /api/v1/sessions`.
pub(crate) async fn list(client: PryxClient, query: RawQuery) -> PryxAnswer {
    let sessions = list_sessions(&client, limit_of(&query, LISTED, LISTED_MAX)).await?;
    json(&json!({ "sessions": sessions }))
}

/// Returns the sessions that were used last.
pub(crate) async fn list_sessions(
    client: &PryxClient,
    limit: u32,
) -> Result<Vec<Value>, WireError> {
    let params = SessionListParams {
        limit: Some(limit),
        ..SessionListParams::default()
    };
    let listed = client.call::<session::List>(&params).await?;
    Ok(listed.sessions.iter().map(session_json).collect())
}

/// `sessions.list` of the WebSocket.
pub(crate) async fn list_for_socket(client: &PryxClient) -> Result<Value, WireError> {
    Ok(json!({ "sessions": list_sessions(client, LISTED).await? }))
}

/// `POST /api/v1/sessions`.
pub(crate) async fn create(client: PryxClient, request: Request) -> PryxAnswer {
    let title: SessionTitle = body_of(request).await?;
    let params = SessionCreateParams {
        label: title.label(),
        ..SessionCreateParams::default()
    };
    let created = client.call::<session::Create>(&params).await?;
    json_with(StatusCode::CREATED, &session_json(&created.session))
}

/// `GET /api/v1/sessions/{id}`.
pub(crate) async fn show(client: PryxClient, PathParameter(id): PathParameter) -> PryxAnswer {
    json(&session_json(&get_session(&client, id).await?))
}

/// `PUT` and `PATCH /api/v1/sessions/{id}`.
pub(crate) async fn rename(
    client: PryxClient,
    PathParameter(id): PathParameter,
    request: Request,
) -> PryxAnswer {
    let title: SessionTitle = body_of(request).await?;
    let params = SessionLabelParams {
        session_key: id,
        label: title.label(),
    };
    json(&session_json(
        &client.call::<session::Label>(&params).await?,
    ))
}

/// `DELETE /api/v1/sessions/{id}`.
pub(crate) async fn delete(client: PryxClient, PathParameter(id): PathParameter) -> PryxAnswer {
    let params = SessionDeleteParams { session_key: id };
    client.call::<session::Delete>(&params).await?;
    Ok(no_content())
}

pub(crate) async fn get_session(client: &PryxClient, id: String) -> Result<Session, WireError> {
    let params = SessionGetParams { session_key: id };
    client.call::<session::Get>(&params).await
}

/// Returns the session of this id or key, and creates it if it is missing.
pub(crate) async fn open_session(
    client: &PryxClient,
    id: Option<&str>,
) -> Result<Session, WireError> {
    let mut params = SessionCreateParams::default();
    match id.map(SessionRef::parse) {
        None => {}
        Some(SessionRef::Id(id)) => params.id = Some(id),
        Some(SessionRef::Key(key)) => params.session_key = Some(key),
    }
    let created = client.call::<session::Create>(&params).await?;
    Ok(created.session)
}

pub(crate) fn session_json(session: &Session) -> Value {
    let title = session.label.as_deref().or(session.title.as_deref());
    json!({
        "id": session.id,
        "title": title.unwrap_or(UNTITLED),
        "key": session.session_key,
        "kind": session.kind,
        "parent_id": session.parent,
        "createdAt": timestamp::from_ms(session.created_at),
        "updatedAt": timestamp::from_ms(session.updated_at),
        "messageCount": session.messages,
    })
}

pub(crate) fn message_json(session: &Session, message: &Message) -> Value {
    json!({
        "id": message.id,
        "sessionId": session.id,
        "role": message.role,
        "content": content_text(&message.content),
        "createdAt": timestamp::from_ms(message.at),
    })
}

/// The text of a message. Calls, results and pictures are not text.
pub(crate) fn content_text(content: &MessageContent) -> String {
    match content {
        MessageContent::Text(text) => text.clone(),
        MessageContent::Parts(parts) => parts_text(parts),
    }
}

pub(crate) fn parts_text(parts: &[ContentPart]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        ContentPart::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
