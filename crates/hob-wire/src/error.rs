//! Errors on the wire: a code a program can match and a sentence a person can act on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! error_codes {
    ($($(#[doc = $doc:literal])* $name:ident = $text:literal, $status:literal;)*) => {
        /// Why a request failed.
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

            /// The HTTP status a REST surface answers with.
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
    /// The frame is not JSON of the wire's form; the answer's id is `unknown` if none could be read.
    ParseError = "PARSE_ERROR", 400;
    /// No service offers this method, or `target` does not name its owner.
    NoHandler = "NO_HANDLER", 404;
    /// The service that owns the method went away or cannot work now.
    ServiceUnavailable = "SERVICE_UNAVAILABLE", 503;
    /// The service stayed silent past the deadline.
    Timeout = "TIMEOUT", 504;
    /// A registration was refused; the message says which name and why.
    RegisterFailed = "REGISTER_FAILED", 409;
    /// The service's own handler failed.
    MethodError = "METHOD_ERROR", 500;
    /// The params do not fit the method's schema.
    InvalidParams = "INVALID_PARAMS", 400;
    /// No valid credential.
    Unauthorized = "UNAUTHORIZED", 401;
    /// The credential lacks the scope this needs.
    Forbidden = "FORBIDDEN", 403;
    /// The request contradicts the present state.
    Conflict = "CONFLICT", 409;
    /// What the request names does not exist.
    NotFound = "NOT_FOUND", 404;
    /// A bound is reached; try again after a while.
    Overloaded = "OVERLOADED", 429;
    /// The work was cancelled.
    Cancelled = "CANCELLED", 499;
    /// A fault of hob's own.
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
    /// What happened and what to do next, for a person.
    pub message: String,
    /// More for a program; its form depends on the code and the method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<serde_json::Value>,
    /// Whether the same request may succeed later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
    /// How long to wait before trying again.
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

    /// Marks the error as one that a later try may not meet.
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
