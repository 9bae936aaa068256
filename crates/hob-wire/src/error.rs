//! Errors on the wire: a code for programs and a sentence for people.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! error_codes {
    ($($(#[doc = $doc:literal])* $name:ident = $text:literal, $status:literal;)*) => {
        /// The kind of a failed request.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum ErrorCode {$(
            $(#[doc = $doc])*
            #[serde(rename = $text)]
            $name,
        )*}

        impl ErrorCode {
            pub const ALL: &'static [ErrorCode] = &[$(ErrorCode::$name),*];

            pub fn as_str(self) -> &'static str {
                match self {$(ErrorCode::$name => $text),*}
            }

            /// The HTTP status of the REST API.
            pub fn http_status(self) -> u16 {
                match self {$(ErrorCode::$name => $status),*}
            }

            pub fn summary(self) -> &'static str {
                match self {$(ErrorCode::$name => concat!($($doc),*).trim_ascii()),*}
            }
        }
    };
}

error_codes! {
    /// The frame is not valid. The answer's id is `unknown` if the frame's id could not be read.
    ParseError = "PARSE_ERROR", 400;
    /// No service offers this method, or `target` does not name its owner.
    NoHandler = "NO_HANDLER", 404;
    /// The service that owns the method disconnected or cannot work now.
    ServiceUnavailable = "SERVICE_UNAVAILABLE", 503;
    /// The service did not answer in time.
    Timeout = "TIMEOUT", 504;
    /// A registration was refused. The message names the method or event, and the reason.
    RegisterFailed = "REGISTER_FAILED", 409;
    /// The service's handler failed.
    MethodError = "METHOD_ERROR", 500;
    /// The params do not fit the method's schema.
    InvalidParams = "INVALID_PARAMS", 400;
    /// The credential is missing or not valid.
    Unauthorized = "UNAUTHORIZED", 401;
    /// The credential lacks the required scope.
    Forbidden = "FORBIDDEN", 403;
    /// The request conflicts with the current state.
    Conflict = "CONFLICT", 409;
    /// The object that the request names does not exist.
    NotFound = "NOT_FOUND", 404;
    /// A limit is reached. Try again later.
    Overloaded = "OVERLOADED", 429;
    /// The work was cancelled.
    Cancelled = "CANCELLED", 499;
    /// An internal error of hob.
    Internal = "INTERNAL", 500;
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The `error` of a response frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WireError {
    pub code: ErrorCode,
    /// A sentence for people: the problem and what to do next.
    pub message: String,
    /// More data for programs. Its form depends on the code and the method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<serde_json::Value>,
    /// True if the same request may succeed later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
    /// The time to wait before trying again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl WireError {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        WireError {
            code,
            message: message.into(),
            details: None,
            retryable: None,
            retry_after_ms: None,
        }
    }

    #[must_use]
    pub fn with_details(mut self, details: serde_json::Value) -> Self {
        self.details = Some(details);
        self
    }

    /// Marks the error as temporary: the caller may try again after `wait_ms`.
    #[must_use]
    pub fn retry_after(mut self, wait_ms: u64) -> Self {
        self.retryable = Some(true);
        self.retry_after_ms = Some(wait_ms);
        self
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for WireError {}
