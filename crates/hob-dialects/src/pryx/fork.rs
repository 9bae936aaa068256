//! Forking a session: a new session with the conversation so far.
//!
//! Invariants: the source does not change. What a person and the model said is copied as text;
//! calls and their results stay in the source. The copy is bounded, and the answer says what it has.

use crate::pryx::client::{PryxAnswer, PryxClient, body_of, json_with};
use crate::pryx::sessions;
use axum::extract::Request;
use axum::http::StatusCode;
use hob_gateway::http_error::HttpError;
use hob_wire::WireError;
use hob_wire::content::{MessageContent, Role};
use hob_wire::rooms::session::{
    self, Session, SessionCreateParams, SessionDeleteParams, SessionExportParams, SessionSendParams,
};
use serde::Deserialize;
use serde_json::json;

/// Maximum messages of a session that can be forked.
const MESSAGES_MAX: u64 = 2_000;

#[derive(Debug, Deserialize)]
struct ForkRequest {
    source_session_id: String,
}

/// `POST /api/v1/sessions/fork`.
pub(crate) async fn fork(client: PryxClient, request: Request) -> PryxAnswer {
    let ForkRequest { source_session_id } = body_of(request).await?;
    let source = sessions::get_session(&client, source_session_id).await?;
    if source.messages > MESSAGES_MAX {
        return Err(HttpError::bad_request(format!(
            "A session with more than {MESSAGES_MAX} messages cannot be forked; this one has {}.",
            source.messages
        )));
    }
    let title = source.label.as_deref().or(source.title.as_deref());
    let params = SessionCreateParams {
        parent: Some(source.id.to_string()),
        label: title.map(|title| format!("Fork of {title}")),
        ..SessionCreateParams::default()
    };
    let fork = client.call::<session::Create>(&params).await?.session;
    let copied = match copy_messages(&client, &source, &fork).await {
        Ok(copied) => copied,
        Err(error) => {
            // Half a conversation would look like a whole one.
            let params = SessionDeleteParams {
                session_key: fork.id.to_string(),
            };
            let _ = client.call::<session::Delete>(&params).await;
            return Err(error.into());
        }
    };
    let answer = json!({
        "id": fork.id,
        "source_session_id": source.id,
        "new_session_id": fork.id,
        "messages_copied": copied,
        "messages_left_out": source.messages.saturating_sub(copied),
    });
    json_with(StatusCode::CREATED, &answer)
}

/// Copies the texts and returns their number.
async fn copy_messages(
    client: &PryxClient,
    source: &Session,
    fork: &Session,
) -> Result<u64, WireError> {
    let mut copied = 0;
    let mut after = None;
    loop {
        let params = SessionExportParams {
            session_key: source.id.to_string(),
            after,
            limit: None,
        };
        let page = client.call::<session::Export>(&params).await?;
        for message in &page.messages {
            // Messages of a run that goes on meanwhile are after the point of the fork.
            if message.seq > source.messages || !is_spoken(message.role) {
                continue;
            }
            let text = sessions::content_text(&message.content);
            if text.is_empty() {
                continue;
            }
            let params = SessionSendParams {
                session_key: fork.id.to_string(),
                content: MessageContent::Text(text),
                role: Some(message.role),
                idempotency_key: None,
            };
            client.call::<session::Send>(&params).await?;
            copied += 1;
        }
        match page.next {
            Some(next) if next < source.messages => after = Some(next),
            _ => return Ok(copied),
        }
    }
}

fn is_spoken(role: Role) -> bool {
    matches!(role, Role::User | Role::Assistant)
}
