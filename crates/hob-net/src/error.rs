//! Why a request failed. Invariant: no text here holds anything that was sent; what the other
//! side or the system said is cut to a bound.

use crate::sse::SseFault;
use crate::web::Forbidden;
use std::error::Error;

/// What a system says of a failure is cut to this.
const REASON_CHARS_MAX: usize = 200;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetError {
    /// The address is not one that is asked.
    #[error("The address cannot be asked: {0}.")]
    Refused(String),
    /// No connection came about.
    #[error("{host} cannot be reached: {reason}.")]
    Connect { host: String, reason: String },
    /// The connection ended before the answer did.
    #[error("The connection to {host} was cut: {reason}.")]
    Cut { host: String, reason: String },
    /// Nothing came for too long.
    #[error("{host} was silent for {waited_ms} ms.")]
    Silent { host: String, waited_ms: u64 },
    /// More came than is taken.
    #[error("{host} sent more than {bytes_max} bytes.")]
    TooLarge { host: String, bytes_max: usize },
    /// What came is no event stream.
    #[error("{host} sent something that is not an event stream: {what}.")]
    Garbage { host: String, what: &'static str },
    /// The client itself could not be made.
    #[error("The HTTP client cannot start: {0}.")]
    Client(String),
}

impl NetError {
    pub(crate) fn of_stream(host: &str, fault: SseFault) -> NetError {
        let host = host.to_owned();
        match fault {
            SseFault::TooLarge { bytes_max } => NetError::TooLarge { host, bytes_max },
            SseFault::Garbage { what } => NetError::Garbage { host, what },
        }
    }

    /// A failure before the answer's head.
    pub(crate) fn of_sending(host: &str, failure: &reqwest::Error) -> NetError {
        let host = host.to_owned();
        if let Some(Forbidden(why)) = cause_of(failure) {
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

    /// A failure within the answer's body.
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

/// The first cause of a chain that is a `T`.
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

/// The last cause of a chain: the system's own words, without the address the outer ones repeat.
fn innermost(failure: &reqwest::Error) -> String {
    let mut cause: &dyn Error = failure;
    while let Some(next) = cause.source() {
        cause = next;
    }
    let text = if std::ptr::addr_eq(cause, failure) {
        "no cause is known".to_owned()
    } else {
        cause.to_string()
    };
    let plain = text.chars().filter(|letter| !letter.is_control());
    let plain: String = plain.take(REASON_CHARS_MAX).collect();
    plain.trim_end_matches('.').to_owned()
}
