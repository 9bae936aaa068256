//! `POST /api/rpc/METHOD`: calls any registered bus method. The request's body is the params, the
//! answer's body the result.

use crate::http::{BearerAuth, HttpState, JSON, RequestId};
use crate::http_error::HttpError;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, Response, StatusCode, header};
use bytes::Bytes;
use hob_wire::{ErrorCode, frame, limits};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Body as _;
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::Duration;

/// Time for a body to arrive.
const BODY_MS_MAX: u64 = 60_000;
/// The surface of REST callers.
const SURFACE: &str = "http";

pub(crate) async fn call(
    State(state): State<Arc<HttpState>>,
    BearerAuth(principal): BearerAuth,
    Extension(RequestId(trace)): Extension<RequestId>,
    method: Result<Path<String>, PathRejection>,
    request: axum::extract::Request,
) -> Result<Response<Body>, HttpError> {
    let Path(method) = method.map_err(|failure| HttpError::bad_request(failure.body_text()))?;
    let (parts, body) = request.into_parts();
    let params = read_params(&parts.headers, body).await?;
    let caller = state.caller(&principal, SURFACE)?;
    let answer = caller.call_raw(&method, params, Some(&trace)).await?;
    let mut response = Response::new(Body::from(
        answer.unwrap_or_else(|| Bytes::from_static(b"null")),
    ));
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    Ok(response)
}

/// Reads a body that is one JSON value, limited in size, depth and time; `None` if it is empty.
pub(crate) async fn read_params(
    headers: &HeaderMap,
    body: Body,
) -> Result<Option<Bytes>, HttpError> {
    if body.is_end_stream() {
        return Ok(None);
    }
    // A page of another origin can send forms and plain text without a preflight, but not JSON.
    if !is_json(headers) {
        return Err(not_json());
    }
    read_json(body).await
}

/// Like [`read_params`], for a body whose content type was checked already.
pub async fn read_json(body: Body) -> Result<Option<Bytes>, HttpError> {
    let bytes = read_body(body, limits::FRAME_BYTES_MAX, BODY_MS_MAX).await?;
    check_json(&bytes)?;
    Ok((!bytes.is_empty()).then_some(bytes))
}

/// Reads a body of at most `bytes_max` bytes, within `ms_max` milliseconds.
pub(crate) async fn read_body(
    body: Body,
    bytes_max: usize,
    ms_max: u64,
) -> Result<Bytes, HttpError> {
    // A Content-Length over the limit is refused before a byte is read.
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(too_large(bytes_max));
    }
    let read = Limited::new(body, bytes_max).collect();
    let read = tokio::time::timeout(Duration::from_millis(ms_max), read).await;
    let read = read.map_err(|_| {
        let message = "The body did not arrive in time.";
        HttpError::new(StatusCode::REQUEST_TIMEOUT, ErrorCode::Timeout, message)
    })?;
    let read = read.map_err(|failure| match failure.downcast_ref::<LengthLimitError>() {
        Some(_) => too_large(bytes_max),
        None => HttpError::bad_request("The body broke off."),
    })?;
    Ok(read.to_bytes())
}

/// Checks that the bytes are one whole JSON value, because they become part of a frame.
fn check_json(bytes: &[u8]) -> Result<(), HttpError> {
    let parse_error =
        |message: String| HttpError::new(StatusCode::BAD_REQUEST, ErrorCode::ParseError, message);
    if bytes.is_empty() {
        return Ok(());
    }
    let text =
        std::str::from_utf8(bytes).map_err(|_| parse_error("The body is not UTF-8.".to_owned()))?;
    // The frame around the body adds one level.
    let max = limits::JSON_DEPTH_MAX - 1;
    if !frame::is_depth_within(text, max) {
        return Err(parse_error(format!(
            "The body nests deeper than {max} levels."
        )));
    }
    // Only validated, not built: the bytes are passed on unchanged.
    serde_json::from_str::<&RawValue>(text)
        .map(drop)
        .map_err(|failure| parse_error(format!("The body is not JSON: {failure}")))
}

/// Returns true if the one Content-Type header is JSON.
pub fn is_json(headers: &HeaderMap) -> bool {
    let mut lines = headers.get_all(header::CONTENT_TYPE).iter();
    // Two Content-Type headers are ambiguous and count as none.
    let (Some(line), None) = (lines.next(), lines.next()) else {
        return false;
    };
    let essence = line.to_str().ok().and_then(|line| line.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}

pub fn not_json() -> HttpError {
    HttpError::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        ErrorCode::InvalidParams,
        "Send the params as 'Content-Type: application/json'.",
    )
}

fn too_large(bytes_max: usize) -> HttpError {
    HttpError::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        ErrorCode::InvalidParams,
        format!("A body has at most {bytes_max} bytes."),
    )
}
