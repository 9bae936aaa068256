//! Classifies error responses by status, code and message. Pure.
//!
//! One parser reads the error bodies of all providers, because servers that speak another
//! provider's protocol often keep their own error format.

use crate::error::ModelError;
use hob_core::failover::ErrorClass;
use serde_json::Value;

/// An error response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProviderRefusal<'a> {
    /// The HTTP status; zero for an error inside a stream.
    pub(crate) status: u16,
    pub(crate) body: &'a str,
    pub(crate) retry_after_ms: Option<u64>,
}

/// The reason found in an error body.
#[derive(Debug, Default)]
struct RefusalDetails {
    message: String,
    /// Codes and types, in lower case, each once.
    codes: Vec<String>,
    retry_after_ms: Option<u64>,
}

/// Codes and types that decide the class, whatever the status.
const CODES: &[(&str, ErrorClass)] = &[
    ("context_length_exceeded", ErrorClass::Context),
    ("exceed_context_size_error", ErrorClass::Context),
    ("request_too_large", ErrorClass::Context),
    ("string_above_max_length", ErrorClass::Context),
    ("content_filter", ErrorClass::Content),
    ("content_policy_violation", ErrorClass::Content),
    ("invalid_prompt", ErrorClass::Content),
    ("insufficient_quota", ErrorClass::Auth),
    ("billing_error", ErrorClass::Auth),
    ("billing_hard_limit_reached", ErrorClass::Auth),
    ("invalid_api_key", ErrorClass::Auth),
    ("authentication_error", ErrorClass::Auth),
    ("permission_error", ErrorClass::Auth),
    ("permission_denied", ErrorClass::Auth),
    ("unauthenticated", ErrorClass::Auth),
    ("api_key_invalid", ErrorClass::Auth),
    ("rate_limit_error", ErrorClass::Rate),
    ("rate_limit_exceeded", ErrorClass::Rate),
    ("resource_exhausted", ErrorClass::Rate),
    ("overloaded_error", ErrorClass::Overload),
    ("server_overloaded", ErrorClass::Overload),
    ("slow_down", ErrorClass::Overload),
    ("unavailable", ErrorClass::Overload),
    ("api_error", ErrorClass::Overload),
    ("server_error", ErrorClass::Overload),
    ("internal", ErrorClass::Overload),
    ("internal_server_error", ErrorClass::Overload),
    ("timeout_error", ErrorClass::Timeout),
    ("deadline_exceeded", ErrorClass::Timeout),
    ("not_found_error", ErrorClass::Request),
    ("model_not_found", ErrorClass::Request),
];

/// Phrases of a message that decide the class where codes are too general.
const PHRASES: &[(&str, ErrorClass)] = &[
    ("prompt is too long", ErrorClass::Context),
    ("maximum context length", ErrorClass::Context),
    ("context length", ErrorClass::Context),
    ("context window", ErrorClass::Context),
    ("exceeds the maximum number of tokens", ErrorClass::Context),
    ("exceeds the available context size", ErrorClass::Context),
    ("too many tokens", ErrorClass::Context),
    ("reduce the length of the messages", ErrorClass::Context),
    ("api key not valid", ErrorClass::Auth),
    ("incorrect api key", ErrorClass::Auth),
    ("credit balance is too low", ErrorClass::Auth),
    ("insufficient balance", ErrorClass::Auth),
    ("content management policy", ErrorClass::Content),
    ("flagged by moderation", ErrorClass::Content),
];

/// Converts a refusal to an error.
pub(crate) fn to_error(refusal: ProviderRefusal<'_>) -> ModelError {
    let summary = parse_body(refusal.body);
    let class = classify(refusal.status, &summary);
    let said = if summary.message.is_empty() {
        "it gave no reason".to_owned()
    } else {
        summary.message
    };
    let advice = match class {
        ErrorClass::Auth => " Check the provider's key and account.",
        ErrorClass::Context => " The conversation is larger than the model's window.",
        _ => "",
    };
    let status = match refusal.status {
        0 => String::new(),
        status => format!(" ({status})"),
    };
    let mut error = ModelError::new(
        class,
        format!("{}{status}: {said}.{advice}", verdict(class)),
    );
    error.retry_after_ms = refusal.retry_after_ms.or(summary.retry_after_ms);
    error
}

/// Converts an error inside a stream, which began with a success status.
pub(crate) fn stream_error(body: &Value) -> ModelError {
    let body = body.to_string();
    to_error(ProviderRefusal {
        status: 0,
        body: &body,
        retry_after_ms: None,
    })
}

fn verdict(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::Auth => "The provider does not accept the key",
        ErrorClass::Rate => "Too many requests",
        ErrorClass::Overload => "The provider has trouble",
        ErrorClass::Timeout => "The provider took too long",
        ErrorClass::Context => "The request is too large",
        ErrorClass::Content => "The provider refuses the content",
        ErrorClass::Network => "The connection failed",
        ErrorClass::Protocol => "The answer makes no sense",
        ErrorClass::Request => "The provider refuses the request",
    }
}

fn classify(status: u16, summary: &RefusalDetails) -> ErrorClass {
    let by_code = CODES
        .iter()
        .find(|(code, _)| summary.codes.iter().any(|found| found == code));
    let message = summary.message.to_lowercase();
    let by_phrase = PHRASES.iter().find(|(phrase, _)| message.contains(phrase));
    // A phrase must not turn a rate limit or a server error into a permanent failure.
    let by_phrase = by_phrase.filter(|_| !matches!(status, 429 | 500..));
    if let Some((_, class)) = by_phrase.or(by_code) {
        return *class;
    }
    match status {
        401..=403 => ErrorClass::Auth,
        408 | 504 => ErrorClass::Timeout,
        413 => ErrorClass::Context,
        429 => ErrorClass::Rate,
        451 => ErrorClass::Content,
        300..=499 => ErrorClass::Request,
        // Within a stream, or 5xx.
        _ => ErrorClass::Overload,
    }
}

fn parse_body(body: &str) -> RefusalDetails {
    let mut summary = RefusalDetails::default();
    match serde_json::from_str::<Value>(body) {
        // Google wraps some errors in a list.
        Ok(Value::Array(list)) => list
            .iter()
            .take(1)
            .for_each(|one| collect_details(one, &mut summary)),
        Ok(value) => collect_details(&value, &mut summary),
        // An HTML page of a proxy holds no useful message.
        Err(_) if body.trim_start().starts_with('<') => {
            "it answered with a web page".clone_into(&mut summary.message);
        }
        Err(_) => {
            summary.message = body.trim().chars().take(400).collect();
        }
    }
    summary.message = summary.message.trim_end_matches('.').to_owned();
    summary
}

/// `{error: {message, type, code, status, details}}`, `{error: "…"}`, `{message, type, code}`,
/// `{detail: …}`, `{response: {error: …}}`.
fn collect_details(value: &Value, summary: &mut RefusalDetails) {
    let nested = ["/error", "/response/error"];
    let error = nested
        .iter()
        .find_map(|pointer| value.pointer(pointer).filter(|found| !found.is_null()))
        .unwrap_or(value);
    let message = match error {
        Value::String(text) => Some(text.clone()),
        other => ["message", "msg", "detail"]
            .iter()
            .find_map(|key| match other.get(key)? {
                Value::String(text) => Some(text.clone()),
                Value::Null => None,
                found => Some(found.to_string()),
            }),
    };
    summary.message = message.unwrap_or_default();
    for key in ["code", "type", "status"] {
        match error.get(key) {
            Some(Value::String(code)) => summary.codes.push(code.to_lowercase()),
            Some(Value::Number(code)) => summary.codes.extend(code_of_status(code.as_u64())),
            _ => {}
        }
    }
    let details = error.get("details").and_then(Value::as_array);
    for detail in details.into_iter().flatten() {
        if let Some(Value::String(reason)) = detail.get("reason") {
            summary.codes.push(reason.to_lowercase());
        }
        // Google says how long to wait in the body: `"retryDelay": "19s"`.
        if let Some(Value::String(delay)) = detail.get("retryDelay") {
            let seconds = delay.trim_end_matches('s');
            summary.retry_after_ms = hob_net::retry_after::seconds_ms(seconds);
        }
    }
}

/// Maps a numeric status in a body to a code of [`CODES`].
fn code_of_status(status: Option<u64>) -> Option<String> {
    let code = match status? {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        408 | 504 => "timeout_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        500..=599 => "server_error",
        _ => return None,
    };
    Some(code.to_owned())
}

#[cfg(test)]
#[path = "provider_refusal_tests.rs"]
mod tests;
