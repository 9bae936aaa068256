//! The OpenAI surface: `POST /v1/chat/completions`, streamed or not, and `GET /v1/models`. Any
//! OpenAI client can use hob with a hob token as its API key.
//!
//! - `request`, `message`, `tool`, `json_field`: parse a request body; `error`: error answers
//! - `completion_stream`: starts the agent and follows its answer; `agent_calls`: params and
//!   results of the agent's methods; `abort_on_drop`: stops the run when the client leaves
//! - `borrowed_delta`, `chunk_builder`: turn the agent's deltas into chunks for the client
//! - `chunk_encoder`, `reply`: OpenAI's format; `completion_body`, `silence_timer`: the body of a
//!   streamed answer
//! - `models`: the list of models; `openapi_doc`: this surface in the OpenAPI document
//!
//! Invariants: this surface only translates; the agent decides. Only `agent.run` stores anything,
//! and only if the request names a session. Without the scope `control`, tools are read-only. A
//! client that disconnects stops its run.

mod abort_on_drop;
mod agent_calls;
mod borrowed_delta;
mod chunk_builder;
mod chunk_encoder;
mod completion_body;
mod completion_stream;
mod error;
mod json_field;
mod message;
mod models;
pub(crate) mod openapi_doc;
mod reply;
mod request;
mod silence_timer;
mod tool;

use crate::http::{BearerAuth, HttpState, JSON, RequestId};
use crate::http_error::HttpError;
use crate::rest;
use crate::token_cache::Principal;
pub use agent_calls::tool_ceiling;
use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{Response, header};
use axum::response::IntoResponse;
use axum::routing::{get, post};
pub use borrowed_delta::BorrowedDelta;
pub use chunk_builder::{AnswerChunk, ChunkBuilder, DivergedAnswer};
use chunk_encoder::ChunkEncoder;
use completion_stream::{CompletionEvent, CompletionStream, OpenaiClient};
use error::OpenaiError;
use hob_wire::id::RunId;
use hob_wire::{ErrorCode, Scope, WireError};
use request::CompletionRequest;
use serde_json::Value;
use silence_timer::SilenceTimer;
use std::sync::Arc;
use std::time::Duration;

/// The surface of these callers.
const SURFACE: &str = "openai";
/// A completion that is not streamed has no way to send a keep-alive.
const NO_KEEP_ALIVE: Duration = Duration::from_hours(24);

pub(crate) fn routes() -> Router<Arc<HttpState>> {
    Router::new()
        .route("/v1/chat/completions", post(complete))
        .route("/v1/models", get(models::list))
        // A model's id contains a slash, which some clients escape and some do not.
        .route("/v1/models/{*id}", get(models::get))
}

/// Returns true if errors at this path use OpenAI's format.
pub(crate) fn is_openai_path(path: &str) -> bool {
    path == "/v1" || path.starts_with("/v1/")
}

/// Renders an error in OpenAI's format and keeps its headers.
pub(crate) fn render_error(mut refusal: HttpError) -> Response<Body> {
    // Headers such as WWW-Authenticate stay valid in OpenAI's format.
    let headers = std::mem::take(&mut refusal.headers);
    let mut response = OpenaiError::from(refusal).into_response();
    response.headers_mut().extend(headers);
    response
}

async fn complete(
    State(state): State<Arc<HttpState>>,
    BearerAuth(principal): BearerAuth,
    Extension(RequestId(trace)): Extension<RequestId>,
    request: axum::extract::Request,
) -> Result<Response<Body>, OpenaiError> {
    require_scope(&principal, Scope::Chat)?;
    let (parts, body) = request.into_parts();
    let body = rest::read_params(&parts.headers, body).await?;
    let body: Value =
        serde_json::from_slice(body.as_deref().unwrap_or(b"null")).map_err(|error| {
            OpenaiError::from(WireError::new(ErrorCode::ParseError, error.to_string()))
        })?;
    let request = CompletionRequest::parse(body)?;
    let now_ms = state.shared.clock.wall_ms();
    // The completion's id contains the run's, so that a log line leads from one to the other.
    let run_id = RunId(state.shared.randomness.uuid(now_ms));
    let (id, created) = (format!("chatcmpl-{run_id}"), now_ms / 1_000);
    let (stream, model) = (request.stream, request.model.clone());
    let encoder = stream.then(|| ChunkEncoder::new(&id, created, &model, request.include_usage));
    let client = OpenaiClient {
        state: &state,
        principal: &principal,
        trace: &trace,
    };
    let mut completion = CompletionStream::start(client, request, run_id).await?;
    if let Some(encoder) = encoder {
        return completion_body::respond(completion, encoder).await;
    }
    let (mut timer, mut chunks) = (SilenceTimer::new(NO_KEEP_ALIVE), Vec::new());
    loop {
        // Without streaming only the end of the completion is used.
        chunks.clear();
        if let CompletionEvent::End(reply) = completion.next(&mut timer, &mut chunks).await? {
            return Ok(json_response(&reply.to_json(&id, created, &model)));
        }
    }
}

fn require_scope(principal: &Principal, scope: Scope) -> Result<(), OpenaiError> {
    if principal.scopes.allow(scope) {
        return Ok(());
    }
    let message = format!("This token lacks the scope '{}'.", scope.as_str());
    Err(OpenaiError::from(HttpError::forbidden(message)))
}

fn json_response(body: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(body.to_string()));
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}
