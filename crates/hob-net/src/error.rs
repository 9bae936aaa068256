//! Network errors. Invariant: no message contains anything that was sent; texts from the other side
//! or the system are cut to a bound.

use crate::sse::SseError;
use crate::web_client::ForbiddenAddress;
use std::error::Error;

/// The longest reason from the system that is kept.
const REASON_CHARS_MAX: usize = 200;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetError {
    /// The address is not allowed.
    #[error("The address is not allowed: {0}.")]
    Refused(String),
    /// The connection could not be made.
    #[error("{host} cannot be reached: {reason}.")]
    Connect { host: String, reason: String },
    /// The connection ended before the response was complete.
    #[error("The connection to {host} was cut: {reason}.")]
    Cut { host: String, reason: String },
    /// No bytes arrived for too long.
    #[error("{host} did not respond for {waited_ms} ms.")]
    Silent { host: String, waited_ms: u64 },
    /// The response exceeds its bound.
    #[error("{host} sent more than {bytes_max} bytes.")]
    TooLarge { host: String, bytes_max: usize },
    /// The response is not an event stream.
    #[error("{host} sent something that is not an event stream: {what}.")]
    Garbage { host: String, what: &'static str },
    /// The client could not be built.
    #[error("The HTTP client cannot start: {0}.")]
    Client(String),
}

impl NetError {
    pub(crate) fn of_stream(host: &str, fault: SseError) -> NetError {
        let host = host.to_owned();
        match fault {
            SseError::TooLarge { bytes_max } => NetError::TooLarge { host, bytes_max },
            SseError::Garbage { what } => NetError::Garbage { host, what },
        }
    }

    /// Converts a failure before the head of the response.
    pub(crate) fn of_sending(host: &str, failure: &reqwest::Error) -> NetError {
        let host = host.to_owned();
        // The resolver's refusal comes back wrapped in a connection error of the client.
        if let Some(ForbiddenAddress(why)) = cause_of(failure) {
            return NetError::Refused(why.clone());
        }
        let reason = innermost(failure);
        if failure.is_builder() {
            return NetError::Refused(reason);
        }
        if failure.is_connect() {
            return NetError::Connect { host, reason };
        }
        NetError::Cut { host, reason }
    }

    /// Converts a failure within the body of the response.
    pub(crate) fn of_reading(host: &str, failure: &reqwest::Error) -> NetError {
        NetError::Cut {
            host: host.to_owned(),
            reason: innermost(failure),
        }
    }

    pub(crate) fn of_building(failure: &reqwest::Error) -> NetError {
        NetError::Client(innermost(failure))
    }
}

/// Returns the first cause in the chain that is a `T`.
fn cause_of<T: Error + 'static>(failure: &reqwest::Error) -> Option<&T> {
    let mut cause: Option<&(dyn Error + 'static)> = failure.source();
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        cause = error.source();
    }
    None
}

/// Returns the text of the last cause. The outer ones only repeat the address.
fn innermost(failure: &reqwest::Error) -> String {
    let mut cause: &dyn Error = failure;
    while let Some(next) = cause.source() {
        cause = next;
    }
    let text = if std::ptr::addr_eq(cause, failure) {
        "unknown cause".to_owned()
    } else {
        cause.to_string()
    };
    let plain = text.chars().filter(|letter| !letter.is_control());
    let plain: String = plain.take(REASON_CHARS_MAX).collect();
    plain.trim_end_matches('.').to_owned()
}
