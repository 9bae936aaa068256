//! The error answer of an HTTP request: a status, the wire's error code and a sentence a person can
//! act on, in the object
//! `{"error":{code,message,details?,request_id,timestamp,retryable?,retryAfterMs?}}`.
//!
//! Invariant: an error never repeats the credential that the peer sent.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use hob_wire::{ErrorCode, WireError};
use serde::Serialize;

#[derive(Clone, Debug)]
pub struct HttpError {
    pub(crate) status: StatusCode,
    /// Boxed to keep the many `Result`s that carry it small.
    pub(crate) error: Box<WireError>,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
}

impl HttpError {
    pub fn new(status: StatusCode, code: ErrorCode, message: impl Into<String>) -> Self {
        HttpError {
            status,
            error: Box::new(WireError::new(code, message)),
            headers: Vec::new(),
        }
    }

    pub fn bad_request(message: impl Into<String>) -> Self {
        HttpError::new(StatusCode::BAD_REQUEST, ErrorCode::InvalidParams, message)
    }

    pub fn forbidden(message: impl Into<String>) -> Self {
        HttpError::new(StatusCode::FORBIDDEN, ErrorCode::Forbidden, message)
    }

    #[must_use]
    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Builds the response with the id and time of the request.
    pub(crate) fn render(self, request_id: &str, timestamp: u64) -> Response<Body> {
        let object = ErrorBody {
            error: ErrorFields {
                error: &self.error,
                request_id,
                timestamp,
            },
        };
        // Cannot fail: the object has only strings, numbers and JSON values.
        let body = serde_json::to_vec(&object).unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, crate::http::JSON);
        // Rounded up to whole seconds, because a retry that comes too early is refused again.
        if let Some(wait_ms) = self.error.retry_after_ms {
            headers.insert(
                header::RETRY_AFTER,
                HeaderValue::from(wait_ms.div_ceil(1_000)),
            );
        }
        headers.extend(self.headers);
        response
    }
}

impl From<WireError> for HttpError {
    fn from(error: WireError) -> Self {
        let status = StatusCode::from_u16(error.code.http_status());
        HttpError {
            status: status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            error: Box::new(error),
            headers: Vec::new(),
        }
    }
}

/// Puts the error into the response's extensions; [`crate::http::HttpService::handle`] renders it.
impl IntoResponse for HttpError {
    fn into_response(self) -> axum::response::Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.status;
        response.extensions_mut().insert(self);
        response
    }
}

#[derive(Serialize)]
struct ErrorBody<'a> {
    error: ErrorFields<'a>,
}

#[derive(Serialize)]
struct ErrorFields<'a> {
    #[serde(flatten)]
    error: &'a WireError,
    request_id: &'a str,
    timestamp: u64,
}
