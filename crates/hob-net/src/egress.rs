//! Which addresses may be asked: the one place where that is decided. Pure.
//!
//! Invariant: a request that was not allowed here is never sent.

use crate::NetError;
use reqwest::Url;

const URL_BYTES_MAX: usize = 8 * 1024;

/// An address that may be asked.
#[derive(Debug)]
pub(crate) struct Allowed {
    pub(crate) url: Url,
    /// Host and port, for messages.
    pub(crate) host: String,
}

/// Takes an address as a person or a program wrote it.
pub(crate) fn check(text: &str) -> Result<Allowed, NetError> {
    let refused = |why: &str| Err(NetError::Refused(why.to_owned()));
    if text.len() > URL_BYTES_MAX {
        return refused("it is too long");
    }
    let Ok(url) = Url::parse(text) else {
        return refused("it is not a URL");
    };
    if !matches!(url.scheme(), "http" | "https") {
        return refused("only http and https are spoken");
    }
    if !url.username().is_empty() || url.password().is_some() {
        // A password in an address would end up in logs and lists.
        return refused("it holds a user name or a password");
    }
    let Some(name) = url.host_str() else {
        return refused("it names no host");
    };
    let host = match url.port() {
        Some(port) => format!("{name}:{port}"),
        None => name.to_owned(),
    };
    Ok(Allowed { url, host })
}

#[cfg(test)]
#[path = "egress_tests.rs"]
mod tests;
