//! What is sent. Invariant: neither headers' values nor the body are ever printed.

use bytes::Bytes;
use hob_kit::secret::Secret;
use std::fmt;
use std::time::Duration;

/// How long an answer's head may take when nothing else is said.
const HEAD_TIMEOUT: Duration = Duration::from_mins(2);

/// One request.
#[derive(Clone)]
pub struct Request {
    pub(crate) method: reqwest::Method,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) secret_headers: Vec<(String, Secret)>,
    pub(crate) body: Option<Bytes>,
    pub(crate) head_timeout: Duration,
}

impl Request {
    pub fn get(url: impl Into<String>) -> Request {
        Request::new(reqwest::Method::GET, url.into(), None)
    }

    pub fn post(url: impl Into<String>, body: impl Into<Bytes>) -> Request {
        Request::new(reqwest::Method::POST, url.into(), Some(body.into()))
    }

    pub fn delete(url: impl Into<String>) -> Request {
        Request::new(reqwest::Method::DELETE, url.into(), None)
    }

    fn new(method: reqwest::Method, url: String, body: Option<Bytes>) -> Request {
        Request {
            method,
            url,
            headers: Vec::new(),
            secret_headers: Vec::new(),
            body,
            head_timeout: HEAD_TIMEOUT,
        }
    }

    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Request {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// A header that no log and no compression table may keep.
    #[must_use]
    pub fn secret_header(mut self, name: impl Into<String>, value: Secret) -> Request {
        self.secret_headers.push((name.into(), value));
        self
    }

    /// How long the head of the answer may take.
    #[must_use]
    pub fn head_timeout(mut self, timeout: Duration) -> Request {
        self.head_timeout = timeout;
        self
    }
}

impl fmt::Debug for Request {
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
