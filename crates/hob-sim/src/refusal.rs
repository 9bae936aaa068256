//! An error of a provider in its own shape: for scripted statuses and for requests it refuses.

use crate::request::{Dialect, DialectFlavour, Flavour};
use serde_json::{Value, json};

/// A request refused, or an answer that is an error.
#[derive(Clone, Debug)]
pub(crate) struct SimRefusal {
    pub(crate) code: u16,
    pub(crate) message: String,
    /// The wrong field, if the dialect names it.
    pub(crate) param: Option<String>,
}

/// The result of parsing a request.
pub(crate) type ReadResult<T> = Result<T, SimRefusal>;

impl SimRefusal {
    /// A request that is not as it must be.
    pub(crate) fn bad(message: impl Into<String>) -> SimRefusal {
        SimRefusal::new(400, message)
    }

    pub(crate) fn new(code: u16, message: impl Into<String>) -> SimRefusal {
        SimRefusal {
            code,
            message: message.into(),
            param: None,
        }
    }

    pub(crate) fn at(mut self, param: impl Into<String>) -> SimRefusal {
        self.param = Some(param.into());
        self
    }

    /// An error the script wants, with the words the provider would use.
    pub(crate) fn scripted(code: u16) -> SimRefusal {
        let message = match code {
            400 => "The scripted request error.",
            401 => "Incorrect API key provided.",
            403 => "Your key has no permission for this.",
            404 => "The model does not exist or you do not have access to it.",
            408 => "The request timed out.",
            413 => "Request exceeds the maximum size.",
            429 => "Rate limit reached. Please try again later.",
            503 => "The model is overloaded. Please try again later.",
            529 => "Overloaded",
            _ => "The server had an error while processing your request.",
        };
        SimRefusal::new(code, message)
    }

    /// The body in the provider's shape.
    pub(crate) fn body(&self, voice: DialectFlavour, retry_seconds: Option<u64>) -> Value {
        match voice.dialect {
            Dialect::OpenaiChat | Dialect::OpenaiResponses => self.openai(voice.flavour),
            Dialect::Anthropic => json!({
                "type": "error",
                "error": { "type": anthropic_type(self.code), "message": self.message },
                "request_id": "req_011CSim0000000000000000",
            }),
            Dialect::Gemini => self.gemini(retry_seconds),
        }
    }

    fn openai(&self, flavour: Flavour) -> Value {
        match flavour {
            // Mistral's have no wrapping.
            Flavour::Mistral => json!({
                "object": "error",
                "message": self.message,
                "type": mistral_type(self.code),
                "param": self.param,
                "code": mistral_code(self.code),
            }),
            // A router's code is the status.
            Flavour::OpenRouter => json!({
                "error": { "message": self.message, "code": self.code, "metadata": {} },
            }),
            _ => json!({ "error": {
                "message": self.message,
                "type": openai_type(self.code),
                "param": self.param,
                "code": openai_code(self.code),
            }}),
        }
    }

    fn gemini(&self, retry_seconds: Option<u64>) -> Value {
        let mut error = json!({
            "code": self.code,
            "message": self.message,
            "status": gemini_status(self.code),
        });
        if let Some(seconds) = retry_seconds {
            error["details"] = json!([{
                "@type": "type.googleapis.com/google.rpc.RetryInfo",
                "retryDelay": format!("{seconds}s"),
            }]);
        }
        json!({ "error": error })
    }
}

fn openai_type(code: u16) -> &'static str {
    match code {
        400 | 401 | 403 | 404 | 413 => "invalid_request_error",
        429 => "requests",
        503 | 529 => "service_unavailable_error",
        _ => "server_error",
    }
}

fn openai_code(code: u16) -> Value {
    match code {
        401 => json!("invalid_api_key"),
        404 => json!("model_not_found"),
        429 => json!("rate_limit_exceeded"),
        _ => Value::Null,
    }
}

fn mistral_type(code: u16) -> &'static str {
    match code {
        401 => "unauthorized",
        429 => "rate_limited",
        400 | 404 | 422 => "invalid_request_error",
        _ => "internal_server_error",
    }
}

fn mistral_code(code: u16) -> Value {
    match code {
        429 => json!("1300"),
        400 => json!("3230"),
        _ => Value::Null,
    }
}

fn anthropic_type(code: u16) -> &'static str {
    match code {
        400 => "invalid_request_error",
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        503 | 529 => "overloaded_error",
        _ => "api_error",
    }
}

fn gemini_status(code: u16) -> &'static str {
    match code {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 | 529 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        _ => "INTERNAL",
    }
}
