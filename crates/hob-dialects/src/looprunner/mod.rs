//! Loop Runner's API: translates its requests into calls of `loop.*`, and bus events into its
//! stream of events. Served on `/api` with a token: the default loop directly, all others below
//! `/api/loops`. An opt-in listener for clients without a token serves the default loop only.
//!
//! - `client`: the sender of a request and its bus calls; `mutations`: the handlers that change a
//!   loop
//! - `translate`: loops to Loop Runner's format and back; `event_translator`: events to its format;
//!   `model_choice`: the model that a request names
//! - `event_feed`: the stream of events; `openapi_doc`: this surface in the OpenAPI document
//! - `types`: the bodies and events; `settings`: the configuration key; `import`: a saved loop
//!
//! Invariants: this surface only translates. GET requests change nothing. Forms and plain texts,
//! which any page can make a browser send, change nothing either.

mod client;
mod event_feed;
mod event_translator;
mod import;
mod model_choice;
mod mutations;
mod openapi_doc;
mod settings;
mod translate;
mod types;

pub(crate) use import::IMPORTER;

use crate::looprunner::types::{LoopRunnerDetail, LoopRunnerNamedModel};
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::routing::{get, post};
use client::LoopRunnerClient;
use hob_gateway::dialect::{DialectEntry, HttpProtocol, HttpRoutes, OptInListener, OptInProtocol};
use hob_gateway::http::JSON;
use hob_gateway::http_error::HttpError;
use hob_wire::rooms::{loops, model};
use hob_wire::{ErrorCode, Scope, Scopes, WireError};
use serde::Serialize;

/// The surface of all Loop Runner clients.
const SURFACE: &str = "looprunner";

pub(crate) const ENTRY: DialectEntry = DialectEntry {
    keys: settings::KEYS,
    routes,
    openapi_paths: openapi_doc::paths,
    opt_in: Some(OptInListener {
        scopes: || Scopes::rank(Scope::Control),
        place: settings::address,
        protocol: OptInProtocol::Http(HttpProtocol {
            routes: || default_loop().route("/", get(index_page).fallback(no_such_method)),
            on_open: |_, _| {},
        }),
    }),
    ..DialectEntry::new(SURFACE, "Loop Runner")
};

const INDEX_PAGE: &str = "hob speaks Loop Runner's API here, for the loop 'default'.

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

/// The routes on the main listener.
fn routes() -> HttpRoutes {
    let loops = Router::new()
        .route("/api/loops", get(list).post(mutations::create))
        .route("/api/loops/{id}", get(show).delete(mutations::delete))
        .merge(loop_routes("/api/loops/{id}"));
    default_loop().merge(loops)
}

fn default_loop() -> HttpRoutes {
    loop_routes("/api").route("/api/models", get(models).fallback(no_such_method))
}

/// The routes of one loop, below `root`.
fn loop_routes(root: &str) -> HttpRoutes {
    let routes = [
        ("events", get(events)),
        ("state", get(state)),
        ("history", get(history)),
        ("config", post(mutations::configure)),
        ("start", post(mutations::start)),
        ("stop", post(mutations::stop)),
        ("working", post(mutations::working)),
        ("persistent", post(mutations::persistent)),
    ];
    routes
        .into_iter()
        .fold(Router::new(), |router, (what, route)| {
            router.route(&format!("{root}/{what}"), route.fallback(no_such_method))
        })
}

/// Loop Runner knows a path only together with its method.
async fn no_such_method() -> HttpError {
    let why = "Nothing is served at this path with this method.";
    HttpError::new(StatusCode::NOT_FOUND, ErrorCode::NotFound, why)
}

async fn index_page() -> Response<Body> {
    let mut response = Response::new(Body::from(INDEX_PAGE));
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}

async fn events(client: LoopRunnerClient, headers: HeaderMap) -> Result<Response<Body>, HttpError> {
    Ok(event_feed::open(client, &headers).await?)
}

async fn state(client: LoopRunnerClient) -> Result<Response<Body>, HttpError> {
    json(&client.state_and_config().await?)
}

async fn history(client: LoopRunnerClient) -> Result<Response<Body>, HttpError> {
    json(&client.history().await?)
}

async fn models(client: LoopRunnerClient) -> Result<Response<Body>, HttpError> {
    let all = model::ModelListParams::default();
    let listed = client.call::<model::List>(&all).await?;
    let models = listed.models.into_iter().map(translate::named_model);
    json(&models.collect::<Vec<LoopRunnerNamedModel>>())
}

async fn list(client: LoopRunnerClient) -> Result<Response<Body>, HttpError> {
    let all = loops::LoopListParams::default();
    let listed = client.call::<loops::List>(&all).await?;
    let listed = listed.loops.into_iter().map(translate::listed_loop);
    json(&listed.collect::<Vec<_>>())
}

async fn show(client: LoopRunnerClient) -> Result<Response<Body>, HttpError> {
    let whole = client.state_and_config().await?;
    json(&LoopRunnerDetail {
        id: client.name,
        whole,
    })
}

fn json<T: Serialize>(value: &T) -> Result<Response<Body>, HttpError> {
    let bytes = serde_json::to_vec(value)
        .map_err(|error| WireError::new(ErrorCode::Internal, error.to_string()))?;
    let mut response = Response::new(Body::from(bytes));
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    Ok(response)
}
