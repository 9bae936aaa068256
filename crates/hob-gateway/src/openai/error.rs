//! Why a request on `/v1` is not served, in OpenAI's form:
//! `{"error":{"message","type","param","code"}}`. Official clients turn the status into an
//! exception class and show the message, so both must be right.
//!
//! Invariant: `x-should-retry: false` stands on what repeating cannot mend; OpenAI's clients repeat
//! every 429 and 5xx by themselves otherwise.

use crate::refusal::Refusal;
use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use hob_wire::{ErrorCode, WireError};
use serde_json::json;

const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");
/// When a room is full and does not say for how long.
const RETRY_AFTER_MS: u64 = 1_000;

/// A failure as an OpenAI client understands it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) status: StatusCode,
    pub(crate) kind: &'static str,
    pub(crate) code: Option<&'static str>,
    /// The field of the request that is wrong, such as `messages[0].content`.
    pub(crate) param: Option<String>,
    pub(crate) message: String,
    retry_after_ms: Option<u64>,
    /// Repeating the same request cannot help.
    is_final: bool,
}

pub(crate) const INVALID: &str = "invalid_request_error";
const SERVER: &str = "server_error";

impl Fault {
    pub(crate) fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        Fault {
            status,
            kind,
            code: None,
            param: None,
            message: message.into(),
            retry_after_ms: None,
            is_final: false,
        }
    }

    /// A field of the request is wrong.
    pub(crate) fn invalid(param: &str, message: impl Into<String>) -> Self {
        let fault = Fault::new(StatusCode::BAD_REQUEST, INVALID, message);
        fault.with_code("invalid_value").about(param)
    }

    /// A field asks for what hob does not do.
    pub(crate) fn unsupported(param: &str, message: impl Into<String>) -> Self {
        let fault = Fault::new(StatusCode::BAD_REQUEST, INVALID, message);
        fault.with_code("unsupported_value").about(param)
    }

    pub(crate) fn no_such_model(model: &str, message: &str) -> Self {
        let message = if message.is_empty() {
            format!("The model '{model}' does not exist; GET /v1/models lists those that do.")
        } else {
            message.to_owned()
        };
        let fault = Fault::new(StatusCode::NOT_FOUND, INVALID, message);
        fault.with_code("model_not_found").about("model")
    }

    /// A budget is used up: waiting a little does not help.
    pub(crate) fn over_budget(message: impl Into<String>) -> Self {
        let status = StatusCode::TOO_MANY_REQUESTS;
        let fault = Fault::new(status, "insufficient_quota", message);
        fault.with_code("insufficient_quota").finally()
    }

    /// No model of the list could answer.
    pub(crate) fn model_failed(message: impl Into<String>) -> Self {
        let fault = Fault::new(StatusCode::BAD_GATEWAY, SERVER, message);
        fault.with_code("model_failed")
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        let fault = Fault::new(StatusCode::INTERNAL_SERVER_ERROR, SERVER, message);
        fault.with_code("internal_error")
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
    pub(crate) fn about(mut self, param: &str) -> Self {
        self.param = Some(param.to_owned());
        self
    }

    #[must_use]
    pub(crate) fn finally(mut self) -> Self {
        self.is_final = true;
        self
    }

    /// The error object, which is a whole body or one event of a stream.
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

/// What a refusal before the surface itself, or an answer of the bus, is called here.
impl From<&WireError> for Fault {
    fn from(error: &WireError) -> Self {
        let status = StatusCode::from_u16(error.code.http_status());
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let (status, kind, code) = match error.code {
            ErrorCode::ParseError => (status, INVALID, "invalid_json"),
            ErrorCode::InvalidParams => (status, INVALID, "invalid_value"),
            ErrorCode::Unauthorized => (status, INVALID, "invalid_api_key"),
            ErrorCode::Forbidden => (status, "permission_error", "insufficient_permissions"),
            ErrorCode::NotFound => (status, INVALID, "not_found"),
            ErrorCode::Conflict => (status, INVALID, "conflict"),
            ErrorCode::Overloaded => (status, "rate_limit_error", "rate_limit_exceeded"),
            ErrorCode::Cancelled => (status, SERVER, "cancelled"),
            ErrorCode::Timeout => (status, SERVER, "timeout"),
            // The room that should answer is not there, whichever way the bus says so.
            ErrorCode::ServiceUnavailable | ErrorCode::NoHandler => (
                StatusCode::SERVICE_UNAVAILABLE,
                SERVER,
                "service_unavailable",
            ),
            ErrorCode::RegisterFailed | ErrorCode::MethodError | ErrorCode::Internal => {
                (status, SERVER, "internal_error")
            }
        };
        let wait_ms = (error.code == ErrorCode::Overloaded).then_some(RETRY_AFTER_MS);
        Fault {
            code: Some(code),
            retry_after_ms: error.retry_after_ms.or(wait_ms),
            ..Fault::new(status, kind, error.message.clone())
        }
    }
}

impl From<WireError> for Fault {
    fn from(error: WireError) -> Self {
        Fault::from(&error)
    }
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Fault::from(&*refusal.error).with_status(refusal.status)
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> axum::response::Response {
        let mut response = Response::new(Body::from(self.to_json()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, crate::http::JSON);
        if let Some(wait_ms) = self.retry_after_ms {
            let seconds = wait_ms.div_ceil(1_000);
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.is_final {
            headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
        }
        response
    }
}
