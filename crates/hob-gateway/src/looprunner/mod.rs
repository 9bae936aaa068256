//! Loop Runner's API: its documents and its stream of events, turned into calls of `loop.*` and
//! made of what happens there. On `/api` with a token, for the default loop and, below
//! `/api/loops`, for every other; and on an opt-in listener of its own for clients that can send no
//! token, for the default loop only.
//!
//! - `client`: who asks, of which loop, and the calls this takes; `change`: what is done for it
//! - `translate`: loops in Loop Runner's words and back; `mirror`: events in its words
//! - `feed`: the stream of events; `document`: its part of the OpenAPI document
//!
//! Invariants: this surface decides nothing, it translates; reading changes nothing; forms and
//! plain texts, which any page can make a browser send, change nothing either.

mod change;
mod client;
pub(crate) mod document;
mod feed;
mod mirror;
mod translate;

use crate::book::Principal;
use crate::http::{Desk, JSON, Site};
use crate::refusal::Refusal;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, header};
use axum::routing::{get, post};
use axum::{Extension, Router};
use client::{Client, Granted};
use hob_wire::looprunner::{NamedModel, Shown};
use hob_wire::rooms::{loops, model};
use hob_wire::{ErrorCode, Scope, Scopes, WireError};
use serde::Serialize;
use std::sync::Arc;

/// The surface of every such client, and the principal of those without a token.
pub(crate) const SURFACE: &str = "looprunner";

const PAGE: &str = "hob speaks Loop Runner's API here, for the loop 'default'.

GET  /api/events      what happens, as server-sent events
GET  /api/state       state and config
GET  /api/history     the latest iterations
GET  /api/models      the models there are
POST /api/config      changes the config: {\"user\": \"…\", \"interval\": 5000, …}
POST /api/start
POST /api/stop
POST /api/working     {\"working\": \"…\"}
POST /api/persistent  {\"persistent\": \"…\"}
";

/// The paths of the first listener.
pub(crate) fn routes() -> Router<Arc<Desk>> {
    let loops = Router::new()
        .route("/api/loops", get(list).post(change::create))
        .route("/api/loops/{id}", get(show).delete(change::delete))
        .merge(of_one("/api/loops/{id}"));
    default_loop().merge(loops)
}

/// The listener's only surface: opening it was the grant.
pub(crate) fn site(desk: Desk) -> Site {
    let principal = Principal {
        id: SURFACE.into(),
        name: SURFACE.into(),
        scopes: Scopes::rank(Scope::Control),
    };
    let router = default_loop()
        .route("/", get(page))
        .layer(Extension(Granted(principal)));
    Site::with_router(Arc::new(desk), router)
}

fn default_loop() -> Router<Arc<Desk>> {
    of_one("/api").route("/api/models", get(models))
}

/// What there is of one loop, below `root`.
fn of_one(root: &str) -> Router<Arc<Desk>> {
    let at = |what: &str| format!("{root}/{what}");
    Router::new()
        .route(&at("events"), get(events))
        .route(&at("state"), get(state))
        .route(&at("history"), get(history))
        .route(&at("config"), post(change::configure))
        .route(&at("start"), post(change::start))
        .route(&at("stop"), post(change::stop))
        .route(&at("working"), post(change::working))
        .route(&at("persistent"), post(change::persistent))
}

async fn page() -> Response<Body> {
    let mut response = Response::new(Body::from(PAGE));
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}

async fn events(client: Client, headers: HeaderMap) -> Result<Response<Body>, Refusal> {
    Ok(feed::open(client, &headers).await?)
}

async fn state(client: Client) -> Result<Response<Body>, Refusal> {
    json(&client.whole().await?)
}

async fn history(client: Client) -> Result<Response<Body>, Refusal> {
    json(&client.history().await?)
}

async fn models(client: Client) -> Result<Response<Body>, Refusal> {
    let all = model::ListParams::default();
    let listed = client.call::<model::List>(&all).await?;
    let models = listed.models.into_iter().map(translate::named);
    json(&models.collect::<Vec<NamedModel>>())
}

async fn list(client: Client) -> Result<Response<Body>, Refusal> {
    let all = loops::ListParams::default();
    let listed = client.call::<loops::List>(&all).await?;
    let listed = listed.loops.into_iter().map(translate::listed);
    json(&listed.collect::<Vec<_>>())
}

async fn show(client: Client) -> Result<Response<Body>, Refusal> {
    let whole = client.whole().await?;
    json(&Shown {
        id: client.name,
        whole,
    })
}

fn json<T: Serialize>(value: &T) -> Result<Response<Body>, Refusal> {
    let bytes = serde_json::to_vec(value)
        .map_err(|error| WireError::new(ErrorCode::Internal, error.to_string()))?;
    let mut response = Response::new(Body::from(bytes));
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    Ok(response)
}
