//! `POST /hooks/ID`: a webhook that triggers a job. The caller sends no hob token but the job's own
//! secret, or an HMAC of the body with that secret. The scheduler verifies it. The answer does not
//! wait for the run.
//!
//! Invariants: no body is read for a caller without a credential or with a wrong secret. Bodies are
//! limited in size, time and number. Unverified callers have their own limit and never take a
//! permit of verified ones; among them the newest is admitted ([`crate::unproven_calls`]). An
//! unknown job and a wrong secret get the same answer and count as wrong tokens. The answer reveals
//! the slot's number and nothing else of the job.

use crate::http::{HttpState, JSON, RequestId, unauthorized};
use crate::http_error::HttpError;
use crate::openapi::error_response;
use crate::rest;
use crate::unproven_calls::UnprovenCalls;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Extension, Path, Request, State};
use axum::http::{HeaderMap, HeaderName, Response, StatusCode, header};
use bytes::Bytes;
use data_encoding::BASE64;
use hob_wire::rooms::cron::{
    CheckCaller, CronCheckCallerParams, CronCheckCallerResult, CronDeliverParams,
    CronDeliverResult, Deliver,
};
use hob_wire::{ErrorCode, Method, WireError};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Concurrent calls of callers that sent the right secret.
const PROVEN_MAX: usize = 32;
/// Concurrent bodies of callers whose signature is not checked yet, and concurrent checks.
const UNPROVEN_MAX: usize = 32;
const BODY_BYTES_MAX: usize = 1024 * 1024;
/// Time for a body to arrive. Short, because its sender may be unknown.
const BODY_MS_MAX: u64 = 10_000;
/// Maximum parameters of a query.
const QUERY_NAMES_MAX: usize = 64;
const BUSY_RETRY_MS: u64 = 1_000;

/// Headers that carry the secret or a signature.
const CREDENTIALS: [HeaderName; 3] = [
    header::AUTHORIZATION,
    HeaderName::from_static("x-hob-signature"),
    HeaderName::from_static("x-hub-signature-256"),
];
const WRONG_SECRET: &str = "This hook takes no such call: it is not there, or the secret or signature is wrong. 'hob cron secret NAME' shows the right one.";
const MISSING_SECRET: &str = "A hook needs its secret: as 'Authorization: Bearer SECRET', or as the key of an HMAC-SHA256 in 'X-Hob-Signature' or 'X-Hub-Signature-256'.";

/// Limits on concurrent webhook calls.
#[derive(Debug)]
pub(crate) struct HookLimits {
    proven: Semaphore,
    unproven: UnprovenCalls,
    /// Signatures being checked. A call that waits for this permit can still be evicted.
    checking: Semaphore,
}

impl HookLimits {
    pub(crate) fn new() -> HookLimits {
        HookLimits {
            proven: Semaphore::new(PROVEN_MAX),
            unproven: UnprovenCalls::new(UNPROVEN_MAX),
            checking: Semaphore::new(UNPROVEN_MAX),
        }
    }
}

pub(crate) async fn deliver(
    State(state): State<Arc<HttpState>>,
    Extension(RequestId(trace)): Extension<RequestId>,
    id: Result<Path<String>, PathRejection>,
    request: Request,
) -> Result<Response<Body>, HttpError> {
    let Path(id) = id.map_err(|failure| HttpError::bad_request(failure.body_text()))?;
    let (parts, body) = request.into_parts();
    if !CREDENTIALS
        .iter()
        .any(|name| parts.headers.contains_key(name))
    {
        return Err(unauthorized(WireError::new(
            ErrorCode::Unauthorized,
            MISSING_SECRET,
        )));
    }
    let call = HookCall {
        id,
        headers: joined_headers(&parts.headers),
        query: parse_query(parts.uri.query().unwrap_or_default()),
        trace,
    };
    let delivered = match call.deliver(&state, body).await? {
        // Counts towards the same rate limit as wrong tokens.
        Err(error) if is_auth_failure(error.code) => {
            return Err(unauthorized(state.authenticator.reject(WRONG_SECRET)));
        }
        delivered => delivered?,
    };
    let mut answer = json!({ "ok": true, "slot": delivered.slot.number });
    if delivered.repeated {
        answer["repeated"] = json!(true);
    }
    let mut response = Response::new(Body::from(answer.to_string()));
    *response.status_mut() = StatusCode::ACCEPTED;
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    Ok(response)
}

/// A webhook call whose head has arrived.
struct HookCall {
    id: String,
    headers: BTreeMap<String, String>,
    query: BTreeMap<String, String>,
    trace: Arc<str>,
}

impl HookCall {
    /// Reads the body under the limit that fits the caller's proof, and passes the call to the
    /// scheduler. The inner error is the scheduler's.
    async fn deliver(
        self,
        state: &HttpState,
        body: Body,
    ) -> Result<Result<CronDeliverResult, WireError>, HttpError> {
        let limits = &state.shared.hook_limits;
        let caller = CronCheckCallerParams {
            id: self.id.clone(),
            headers: self.headers.clone(),
        };
        let checked = call_scheduler::<CheckCaller>(state, &caller, &self.trace).await;
        let is_proven = match checked {
            Ok(CronCheckCallerResult { proven }) => proven,
            Err(error) => return Ok(Err(error)),
        };
        if is_proven {
            // Refused at once instead of queued: a caller with the right secret can try again.
            let Ok(_permit) = limits.proven.try_acquire() else {
                return Err(too_many());
            };
            let body = rest::read_body(body, BODY_BYTES_MAX, BODY_MS_MAX).await?;
            return Ok(self.send_to_scheduler(state, &body).await);
        }
        // Never refuses: a full limit evicts another call instead.
        let permit = limits.unproven.acquire(&self.id);
        let read = async {
            let body = rest::read_body(body, BODY_BYTES_MAX, BODY_MS_MAX).await?;
            // Acquired inside the future that eviction cancels, so that a waiting call can be
            // evicted.
            let check_permit = limits.checking.acquire().await.map_err(|_| too_many())?;
            Ok::<_, HttpError>((body, check_permit))
        };
        let (body, _check_permit) = tokio::select! {
            biased;
            read = read => read?,
            () = permit.evicted() => return Err(too_many()),
        };
        // A check takes only a moment, so the call can no longer be evicted.
        drop(permit);
        Ok(self.send_to_scheduler(state, &body).await)
    }

    async fn send_to_scheduler(
        self,
        state: &HttpState,
        body: &[u8],
    ) -> Result<CronDeliverResult, WireError> {
        let params = CronDeliverParams {
            id: self.id,
            body: BASE64.encode(body),
            headers: self.headers,
            query: self.query,
        };
        call_scheduler::<Deliver>(state, &params, &self.trace).await
    }
}

fn too_many() -> HttpError {
    let error = WireError::new(ErrorCode::Overloaded, "Too many hooks are called at once.");
    error.retry_after(BUSY_RETRY_MS).into()
}

/// Calls the scheduler as hob itself, because the webhook's sender has no principal on the bus.
async fn call_scheduler<M: Method>(
    state: &HttpState,
    params: &M::Params,
    trace: &str,
) -> Result<M::Result, WireError> {
    let internal =
        |error: serde_json::Error| WireError::new(ErrorCode::Internal, error.to_string());
    let params = serde_json::to_vec(params).map_err(internal)?;
    let caller = state.shared.bus.caller("hooks");
    let answer = caller
        .call_raw(M::SPEC.name, Some(Bytes::from(params)), Some(trace))
        .await?;
    serde_json::from_slice(answer.as_deref().unwrap_or(b"null")).map_err(internal)
}

/// Treats an unknown hook like a wrong secret, so that the answer does not reveal if it exists.
fn is_auth_failure(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::Unauthorized | ErrorCode::Forbidden | ErrorCode::NotFound
    )
}

/// Returns the headers by lower-case name. Repeated headers are joined with commas, as proxies do.
fn joined_headers(lines: &HeaderMap) -> BTreeMap<String, String> {
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

/// Returns the query parameters by name; the last one wins.
fn parse_query(query: &str) -> BTreeMap<String, String> {
    form_urlencoded::parse(query.as_bytes())
        // The map is passed on with the call, so a stranger must not choose its size.
        .take(QUERY_NAMES_MAX)
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect()
}

/// The entry of `/hooks/{id}` in the OpenAPI document.
pub(crate) fn openapi_path() -> Value {
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
        responses[status] = error_response();
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
