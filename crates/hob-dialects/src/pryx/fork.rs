//! Forking a session: a new session with the conversation so far. Only translates `session.fork`.

use crate::pryx::client::{PryxAnswer, PryxClient, body_of, json_with};
use crate::pryx::sessions;
use axum::extract::Request;
use axum::http::StatusCode;
use hob_wire::rooms::session::{self, SessionForkParams};
use serde::Deserialize;
use serde_json::json;

#[derive(Debug, Deserialize)]
struct ForkRequest {
    source_session_id: String,
}

/// `POST /api/v1/sessions/fork`.
pub(crate) async fn fork(client: PryxClient, request: Request) -> PryxAnswer {
    let ForkRequest { source_session_id } = body_of(request).await?;
    let source = sessions::get_session(&client, source_session_id).await?;
    let params = SessionForkParams {
        session_key: source.id.to_string(),
        ..SessionForkParams::default()
    };
    let fork = client.call::<session::Fork>(&params).await?;
    let answer = json!({
        "id": fork.session.id,
        "source_session_id": source.id,
        "new_session_id": fork.session.id,
        "messages_copied": fork.copied,
    });
    json_with(StatusCode::CREATED, &answer)
}
