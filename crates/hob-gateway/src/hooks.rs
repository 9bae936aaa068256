//! `POST /hooks/ID`: another system calls a job. It shows no token of ours but the job's own secret,
//! or an HMAC of the body made with it; the scheduler judges that, and the run is not waited for.
//!
//! Invariants: nothing of a body is read for a caller that shows nothing, or a wrong secret; bodies
//! are bounded in size, in time and in number; callers that have proved nothing yet take no place
//! from those who have, and among themselves the newest is let in ([`unproven`]); an unknown job
//! and a wrong secret are answered alike, and counted like wrong tokens; what is answered tells a
//! slot's number and nothing of its job.

use crate::http::{Desk, JSON, RequestId, unauthorized};
use crate::openapi::failure;
use crate::refusal::Refusal;
use crate::rest;
use crate::unproven::UnprovenCalls;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Extension, Path, Request, State};
use axum::http::{HeaderMap, HeaderName, Response, StatusCode, header};
use bytes::Bytes;
use data_encoding::BASE64;
use hob_wire::rooms::cron::{
    CallerParams, CheckCaller, CheckedCaller, Deliver, DeliverParams, Delivered,
};
use hob_wire::{ErrorCode, Method, WireError};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Bodies that are read or handed over at once, of callers that have shown the secret.
const PROVEN_MAX: usize = 32;
/// Bodies that are read at once of callers whose signature is not checked yet, and the most of them
/// that are checked at once.
const UNPROVEN_MAX: usize = 32;
const BODY_BYTES_MAX: usize = 1024 * 1024;
/// Time a body may take to arrive. Its sender is not known yet.
const BODY_MS_MAX: u64 = 10_000;
/// Names in a query.
const QUERY_NAMES_MAX: usize = 64;
const BUSY_RETRY_MS: u64 = 1_000;

/// The ways to show that the secret is known.
const CREDENTIALS: [HeaderName; 3] = [
    header::AUTHORIZATION,
    HeaderName::from_static("x-hob-signature"),
    HeaderName::from_static("x-hub-signature-256"),
];
const WRONG: &str = "This hook takes no such call: it is not there, or the secret or signature is wrong. 'hob cron secret NAME' shows the right one.";
const MISSING: &str = "A hook needs its secret: as 'Authorization: Bearer SECRET', or as the key of an HMAC-SHA256 in 'X-Hob-Signature' or 'X-Hub-Signature-256'.";

/// The places for callers of hooks.
#[derive(Debug)]
pub(crate) struct HookPlaces {
    proven: Semaphore,
    unproven: UnprovenCalls,
    /// Signatures that are being checked. Whoever waits for one can still lose its place.
    checking: Semaphore,
}

impl HookPlaces {
    pub(crate) fn new() -> HookPlaces {
        HookPlaces {
            proven: Semaphore::new(PROVEN_MAX),
            unproven: UnprovenCalls::new(UNPROVEN_MAX),
            checking: Semaphore::new(UNPROVEN_MAX),
        }
    }
}

pub(crate) async fn deliver(
    State(desk): State<Arc<Desk>>,
    Extension(RequestId(trace)): Extension<RequestId>,
    id: Result<Path<String>, PathRejection>,
    request: Request,
) -> Result<Response<Body>, Refusal> {
    let Path(id) = id.map_err(|failure| Refusal::bad_request(failure.body_text()))?;
    let (parts, body) = request.into_parts();
    if !CREDENTIALS
        .iter()
        .any(|name| parts.headers.contains_key(name))
    {
        return Err(unauthorized(WireError::new(
            ErrorCode::Unauthorized,
            MISSING,
        )));
    }
    let call = HookCall {
        id,
        headers: headers(&parts.headers),
        query: query(parts.uri.query().unwrap_or_default()),
        trace,
    };
    let delivered = match call.take(&desk, body).await? {
        Err(error) if is_wrong(error.code) => return Err(unauthorized(desk.door.refuse(WRONG))),
        delivered => delivered?,
    };
    let mut told = json!({ "ok": true, "slot": delivered.slot.number });
    if delivered.repeated {
        told["repeated"] = json!(true);
    }
    let mut response = Response::new(Body::from(told.to_string()));
    *response.status_mut() = StatusCode::ACCEPTED;
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    Ok(response)
}

/// A call whose head has come.
struct HookCall {
    id: String,
    headers: BTreeMap<String, String>,
    query: BTreeMap<String, String>,
    trace: Arc<str>,
}

impl HookCall {
    /// Reads the body in the place that fits what the head proves, and hands the call over. The
    /// inner error is the scheduler's.
    async fn take(self, desk: &Desk, body: Body) -> Result<Result<Delivered, WireError>, Refusal> {
        let places = &desk.shared.hooks;
        let caller = CallerParams {
            id: self.id.clone(),
            headers: self.headers.clone(),
        };
        let asked = ask::<CheckCaller>(desk, &caller, &self.trace).await;
        let is_proven = match asked {
            Ok(CheckedCaller { proven }) => proven,
            Err(error) => return Ok(Err(error)),
        };
        if is_proven || hob_kit::failpoint::broken(43) {
            let Ok(_place) = places.proven.try_acquire() else {
                return Err(too_many());
            };
            let body = rest::read_body(body, BODY_BYTES_MAX, BODY_MS_MAX).await?;
            return Ok(self.hand_over(desk, &body).await);
        }
        let place = places.unproven.enter(&self.id);
        let read = async {
            let body = rest::read_body(body, BODY_BYTES_MAX, BODY_MS_MAX).await?;
            let turn = places.checking.acquire().await.map_err(|_| too_many())?;
            Ok::<_, Refusal>((body, turn))
        };
        let (body, _turn) = tokio::select! {
            biased;
            read = read => read?,
            () = place.lost() => return Err(too_many()),
        };
        // What is being checked is over in a moment and loses its place to nobody.
        drop(place);
        Ok(self.hand_over(desk, &body).await)
    }

    async fn hand_over(self, desk: &Desk, body: &[u8]) -> Result<Delivered, WireError> {
        let params = DeliverParams {
            id: self.id,
            body: BASE64.encode(body),
            headers: self.headers,
            query: self.query,
        };
        ask::<Deliver>(desk, &params, &self.trace).await
    }
}

fn too_many() -> Refusal {
    let error = WireError::new(ErrorCode::Overloaded, "Too many hooks are called at once.");
    error.retry_after(BUSY_RETRY_MS).into()
}

/// Asks the scheduler, as the house: the sender of a call is nobody on the bus.
async fn ask<M: Method>(
    desk: &Desk,
    params: &M::Params,
    trace: &str,
) -> Result<M::Result, WireError> {
    let internal =
        |error: serde_json::Error| WireError::new(ErrorCode::Internal, error.to_string());
    let params = serde_json::to_vec(params).map_err(internal)?;
    let caller = desk.shared.bus.caller("hooks");
    let answer = caller
        .call_raw(M::SPEC.name, Some(Bytes::from(params)), Some(trace))
        .await?;
    serde_json::from_slice(answer.as_deref().unwrap_or(b"null")).map_err(internal)
}

/// Whether a hook is there is nobody's business who does not know its secret.
fn is_wrong(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::Unauthorized | ErrorCode::Forbidden | ErrorCode::NotFound
    )
}

/// Header lines by their lower-case names; those of one name are joined, as proxies do.
fn headers(lines: &HeaderMap) -> BTreeMap<String, String> {
    let mut headers = BTreeMap::new();
    for (name, value) in lines {
        let value = String::from_utf8_lossy(value.as_bytes());
        headers
            .entry(name.as_str().to_owned())
            .and_modify(|joined: &mut String| {
                joined.push_str(", ");
                joined.push_str(&value);
            })
            .or_insert_with(|| value.clone().into_owned());
    }
    headers
}

/// The query by names; the last of several of one name counts.
fn query(query: &str) -> BTreeMap<String, String> {
    form_urlencoded::parse(query.as_bytes())
        .take(QUERY_NAMES_MAX)
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect()
}

/// This path in the OpenAPI document.
pub(crate) fn path() -> Value {
    let header = |name: &str, about: &str| {
        json!({
            "name": name, "in": "header", "required": false,
            "schema": { "type": "string" }, "description": about,
        })
    };
    let mut responses = json!({
        "202": {
            "description": "It is taken; a call that is repeated is the same slot.",
            "content": { "application/json": { "schema": {
                "type": "object",
                "required": ["ok", "slot"],
                "properties": {
                    "ok": { "const": true },
                    "slot": { "type": "integer", "description": "As in cron.history." },
                    "repeated": { "const": true, "description": "The same call came before: nothing new runs." },
                },
            } } },
        },
    });
    for status in ["401", "408", "413", "429", "default"] {
        responses[status] = failure();
    }
    json!({
        "parameters": [{
            "name": "id", "in": "path", "required": true, "schema": { "type": "string" },
            "description": "The job's id or name.",
        }],
        "post": {
            "operationId": "hooks.deliver",
            "tags": ["hooks"],
            "summary": "Calls a job whose schedule is `webhook`, by its own secret.",
            "description": "Needs no token but one of these headers: the secret itself, or a signature made with it.",
            "security": [],
            "parameters": [
                header("Authorization", "`Bearer SECRET`."),
                header("X-Hob-Signature", "`t=UNIX,v1=HEX`, the HMAC-SHA256 of `UNIX.BODY`."),
                header("X-Hub-Signature-256", "`sha256=HEX`, the HMAC-SHA256 of the body."),
            ],
            "requestBody": { "required": false, "content": { "*/*": { "schema": {} } } },
            "responses": responses,
        },
    })
}

#[cfg(test)]
#[path = "hooks_tests.rs"]
mod tests;
