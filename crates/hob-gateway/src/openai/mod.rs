//! The OpenAI surface: `POST /v1/chat/completions`, streamed or not, and `GET /v1/models`, so that
//! any client made for OpenAI can talk to hob with one of hob's tokens as its key.
//!
//! - `request`, `message`, `tool`, on `field`: a body read into our words; `fault`: refusals
//! - `telling`: the work asked of the agent and followed; `leash`: stopping it; `tale`: what was
//!   told already
//! - `chunk`, `reply`: our words in OpenAI's form; `stream`: the body of a streamed answer
//! - `models`: the list of models; `document`: its part of the OpenAPI document
//!
//! Invariants: this surface decides nothing an agent decides, it translates; nothing is stored but
//! what `agent.run` stores when a session is named; without the scope `control` tools may only
//! look; a client that goes away stops its run.

mod chunk;
pub(crate) mod document;
mod fault;
mod field;
mod leash;
mod message;
mod models;
mod reply;
mod request;
mod stream;
pub(crate) mod tale;
mod telling;
mod tool;

use crate::book::Principal;
use crate::http::{Desk, JSON, Known, RequestId};
use crate::refusal::Refusal;
use crate::rest;
use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{Response, header};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use chunk::Chunks;
use fault::Fault;
use hob_wire::id::RunId;
use hob_wire::{ErrorCode, Scope, WireError};
use request::Ask;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use telling::{Alarm, Client, Said, Telling};
pub(crate) use telling::{Delta, ceiling};

/// The surface its callers come by.
const SURFACE: &str = "openai";
/// A completion that is not streamed has nothing to say while it waits.
const NO_ALARM: Duration = Duration::from_hours(24);

pub(crate) fn routes() -> Router<Arc<Desk>> {
    Router::new()
        .route("/v1/chat/completions", post(complete))
        .route("/v1/models", get(models::list))
        // A model's id holds a slash, which some clients escape and some do not.
        .route("/v1/models/{*id}", get(models::get))
}

/// Whether what is refused at this path is refused in OpenAI's form.
pub(crate) fn is_ours(path: &str) -> bool {
    path == "/v1" || path.starts_with("/v1/")
}

/// A refusal in OpenAI's form, with the headers it came with.
pub(crate) fn refuse(mut refusal: Refusal) -> Response<Body> {
    let headers = std::mem::take(&mut refusal.headers);
    let mut response = Fault::from(refusal).into_response();
    response.headers_mut().extend(headers);
    response
}

async fn complete(
    State(desk): State<Arc<Desk>>,
    Known(principal): Known,
    Extension(RequestId(trace)): Extension<RequestId>,
    request: axum::extract::Request,
) -> Result<Response<Body>, Fault> {
    need_scope(&principal, Scope::Chat)?;
    let (parts, body) = request.into_parts();
    let body = rest::read_params(&parts.headers, body).await?;
    let body: Value = serde_json::from_slice(body.as_deref().unwrap_or(b"null"))
        .map_err(|error| Fault::from(WireError::new(ErrorCode::ParseError, error.to_string())))?;
    let ask = Ask::read(body)?;
    let now_ms = desk.shared.clock.wall_ms();
    let run_id = RunId(desk.shared.dice.uuid(now_ms));
    let (id, created) = (format!("chatcmpl-{run_id}"), now_ms / 1_000);
    let (stream, model) = (ask.stream, ask.model.clone());
    let chunks = stream.then(|| Chunks::new(&id, created, &model, ask.include_usage));
    let client = Client {
        desk: &desk,
        principal: &principal,
        trace: &trace,
    };
    let mut telling = Telling::begin(client, ask, run_id).await?;
    if let Some(chunks) = chunks {
        return stream::respond(telling, chunks).await;
    }
    let (mut alarm, mut words) = (Alarm::new(NO_ALARM), Vec::new());
    loop {
        words.clear();
        if let Said::End(reply) = telling.next(&mut alarm, &mut words).await? {
            return Ok(json_response(&reply.to_json(&id, created, &model)));
        }
    }
}

fn need_scope(principal: &Principal, scope: Scope) -> Result<(), Fault> {
    if principal.scopes.allow(scope) {
        return Ok(());
    }
    let message = format!("This token lacks the scope '{}'.", scope.as_str());
    Err(Fault::from(Refusal::forbidden(message)))
}

fn json_response(body: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(body.to_string()));
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}
