//! An HTTP request. Invariant: header values and the body are never printed.

use bytes::Bytes;
use hob_kit::secret::Secret;
use std::fmt;
use std::time::Duration;

/// The default timeout for the head of the response.
const HEAD_TIMEOUT: Duration = Duration::from_mins(2);

/// An HTTP request.
#[derive(Clone)]
pub struct HttpRequest {
    pub(crate) method: reqwest::Method,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) secret_headers: Vec<(String, Secret)>,
    pub(crate) body: Option<Bytes>,
    pub(crate) head_timeout: Duration,
}

impl HttpRequest {
    pub fn get(url: impl Into<String>) -> HttpRequest {
        HttpRequest::new(reqwest::Method::GET, url.into(), None)
    }

    pub fn post(url: impl Into<String>, body: impl Into<Bytes>) -> HttpRequest {
        HttpRequest::new(reqwest::Method::POST, url.into(), Some(body.into()))
    }

    pub fn delete(url: impl Into<String>) -> HttpRequest {
        HttpRequest::new(reqwest::Method::DELETE, url.into(), None)
    }

    fn new(method: reqwest::Method, url: String, body: Option<Bytes>) -> HttpRequest {
        HttpRequest {
            method,
            url,
            headers: Vec::new(),
            secret_headers: Vec::new(),
            body,
            head_timeout: HEAD_TIMEOUT,
        }
    }

    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> HttpRequest {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Adds a header that must not appear in logs or compression tables.
    #[must_use]
    pub fn secret_header(mut self, name: impl Into<String>, value: Secret) -> HttpRequest {
        self.secret_headers.push((name.into(), value));
        self
    }

    /// Sets the timeout for the head of the response.
    #[must_use]
    pub fn head_timeout(mut self, timeout: Duration) -> HttpRequest {
        self.head_timeout = timeout;
        self
    }
}

impl fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.headers.iter().map(|(name, _)| name);
        let secret_names = self.secret_headers.iter().map(|(name, _)| name);
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("headers", &names.chain(secret_names).collect::<Vec<_>>())
            .field("body_bytes", &self.body.as_ref().map_or(0, Bytes::len))
            .finish_non_exhaustive()
    }
}
