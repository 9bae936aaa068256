//! The error answer on `/v1`, in OpenAI's format: `{"error":{"message","type","param","code"}}`.
//! Official clients map the status to an exception class and show the message, so both must be
//! right.
//!
//! Invariant: an error that a retry cannot fix has `x-should-retry: false`. Without it, OpenAI's
//! clients retry every 429 and 5xx by themselves.

use crate::http_error::HttpError;
use crate::openai::chunk_builder::DivergedAnswer;
use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use hob_wire::{ErrorCode, WireError};
use serde_json::json;

const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");
/// The default for an overloaded room that names no time.
const RETRY_AFTER_MS: u64 = 1_000;

/// An error in OpenAI's format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OpenaiError {
    pub(crate) status: StatusCode,
    pub(crate) kind: &'static str,
    pub(crate) code: Option<&'static str>,
    /// The field of the request that is wrong, such as `messages[0].content`.
    pub(crate) param: Option<String>,
    pub(crate) message: String,
    retry_after_ms: Option<u64>,
    /// A retry cannot succeed.
    no_retry: bool,
}

pub(crate) const INVALID_REQUEST: &str = "invalid_request_error";
const SERVER_ERROR: &str = "server_error";

impl OpenaiError {
    pub(crate) fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        OpenaiError {
            status,
            kind,
            code: None,
            param: None,
            message: message.into(),
            retry_after_ms: None,
            no_retry: false,
        }
    }

    /// An invalid field of the request.
    pub(crate) fn invalid(param: &str, message: impl Into<String>) -> Self {
        let error = OpenaiError::new(StatusCode::BAD_REQUEST, INVALID_REQUEST, message);
        error.with_code("invalid_value").with_param(param)
    }

    /// A field that asks for something hob does not support.
    pub(crate) fn unsupported(param: &str, message: impl Into<String>) -> Self {
        let error = OpenaiError::new(StatusCode::BAD_REQUEST, INVALID_REQUEST, message);
        error.with_code("unsupported_value").with_param(param)
    }

    pub(crate) fn no_such_model(model: &str, message: &str) -> Self {
        let message = if message.is_empty() {
            format!("The model '{model}' does not exist; GET /v1/models lists those that do.")
        } else {
            message.to_owned()
        };
        let error = OpenaiError::new(StatusCode::NOT_FOUND, INVALID_REQUEST, message);
        error.with_code("model_not_found").with_param("model")
    }

    /// An exhausted budget. A retry would not help.
    pub(crate) fn over_budget(message: impl Into<String>) -> Self {
        let status = StatusCode::TOO_MANY_REQUESTS;
        let error = OpenaiError::new(status, "insufficient_quota", message);
        error.with_code("insufficient_quota").without_retry()
    }

    /// No configured model could answer.
    pub(crate) fn model_failed(message: impl Into<String>) -> Self {
        let error = OpenaiError::new(StatusCode::BAD_GATEWAY, SERVER_ERROR, message);
        error.with_code("model_failed")
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        let error = OpenaiError::new(StatusCode::INTERNAL_SERVER_ERROR, SERVER_ERROR, message);
        error.with_code("internal_error")
    }

    #[must_use]
    pub(crate) fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    #[must_use]
    pub(crate) fn with_code(mut self, code: &'static str) -> Self {
        self.code = Some(code);
        self
    }

    #[must_use]
    pub(crate) fn with_param(mut self, param: &str) -> Self {
        self.param = Some(param.to_owned());
        self
    }

    #[must_use]
    pub(crate) fn without_retry(mut self) -> Self {
        self.no_retry = true;
        self
    }

    /// The error object: a whole body, or one event of a stream.
    pub(crate) fn to_json(&self) -> String {
        let error = json!({
            "message": self.message,
            "type": self.kind,
            "param": self.param,
            "code": self.code,
        });
        json!({ "error": error }).to_string()
    }
}

/// Maps an error of the bus or of the checks before the route.
impl From<&WireError> for OpenaiError {
    fn from(error: &WireError) -> Self {
        let status = StatusCode::from_u16(error.code.http_status());
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let (status, kind, code) = match error.code {
            ErrorCode::ParseError => (status, INVALID_REQUEST, "invalid_json"),
            ErrorCode::InvalidParams => (status, INVALID_REQUEST, "invalid_value"),
            ErrorCode::Unauthorized => (status, INVALID_REQUEST, "invalid_api_key"),
            ErrorCode::Forbidden => (status, "permission_error", "insufficient_permissions"),
            ErrorCode::NotFound => (status, INVALID_REQUEST, "not_found"),
            ErrorCode::Conflict => (status, INVALID_REQUEST, "conflict"),
            ErrorCode::Overloaded => (status, "rate_limit_error", "rate_limit_exceeded"),
            ErrorCode::Cancelled => (status, SERVER_ERROR, "cancelled"),
            ErrorCode::Timeout => (status, SERVER_ERROR, "timeout"),
            // Both mean that the room which should answer is not available.
            ErrorCode::ServiceUnavailable | ErrorCode::NoHandler => (
                StatusCode::SERVICE_UNAVAILABLE,
                SERVER_ERROR,
                "service_unavailable",
            ),
            ErrorCode::RegisterFailed | ErrorCode::MethodError | ErrorCode::Internal => {
                (status, SERVER_ERROR, "internal_error")
            }
        };
        // Without Retry-After, OpenAI's clients retry after half a second.
        let wait_ms = (error.code == ErrorCode::Overloaded).then_some(RETRY_AFTER_MS);
        OpenaiError {
            code: Some(code),
            retry_after_ms: error.retry_after_ms.or(wait_ms),
            ..OpenaiError::new(status, kind, error.message.clone())
        }
    }
}

impl From<WireError> for OpenaiError {
    fn from(error: WireError) -> Self {
        OpenaiError::from(&error)
    }
}

impl From<HttpError> for OpenaiError {
    fn from(refusal: HttpError) -> Self {
        OpenaiError::from(&*refusal.error).with_status(refusal.status)
    }
}

impl From<DivergedAnswer> for OpenaiError {
    fn from(_: DivergedAnswer) -> Self {
        OpenaiError::model_failed(
            "The model's answer broke off and another one began differently; ask again.",
        )
    }
}

impl IntoResponse for OpenaiError {
    fn into_response(self) -> axum::response::Response {
        let mut response = Response::new(Body::from(self.to_json()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, crate::http::JSON);
        if let Some(wait_ms) = self.retry_after_ms {
            let seconds = wait_ms.div_ceil(1_000);
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.no_retry {
            headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
        }
        response
    }
}
