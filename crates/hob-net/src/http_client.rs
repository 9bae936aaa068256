//! The HTTP client for configured addresses, and the response type of both clients.

use crate::egress;
use crate::sse_reader::{SseReader, StreamBounds};
use crate::{HttpRequest, NetError, retry_after};
use bytes::Bytes;
use hob_kit::clock::Clock;
use reqwest::header::{HeaderName, HeaderValue};
use std::time::Duration;

/// The options of a client.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    pub clock: Clock,
    pub connect_timeout: Duration,
    pub user_agent: String,
}

impl HttpOptions {
    pub fn new(clock: Clock) -> HttpOptions {
        HttpOptions {
            clock,
            connect_timeout: Duration::from_secs(10),
            user_agent: concat!("hob/", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

/// Idle connections are kept for the next call of the same run, and no longer.
const POOL_IDLE: Duration = Duration::from_mins(1);
const KEEPALIVE: Duration = Duration::from_secs(30);

/// Sends requests; cheap to clone. Clones share their connections.
#[derive(Clone, Debug)]
pub struct HttpClient {
    client: reqwest::Client,
    clock: Clock,
}

impl HttpClient {
    pub fn new(parts: HttpOptions) -> Result<HttpClient, NetError> {
        install_crypto();
        // A compressed event stream arrives in large blocks instead of event by event.
        let client = build(|| builder(&parts).gzip(false).deflate(false))?;
        Ok(HttpClient {
            client,
            clock: parts.clock,
        })
    }

    /// Sends a request once and waits for the head of the response, with any status.
    pub async fn send(&self, request: HttpRequest) -> Result<HttpResponse, NetError> {
        let allowed = egress::check(&request.url)?;
        let mut builder = self.client.request(request.method, allowed.url);
        for (name, value) in &request.headers {
            builder = builder.header(header_name(name)?, header_value(name, value)?);
        }
        for (name, value) in &request.secret_headers {
            let mut value = header_value(name, value.expose())?;
            value.set_sensitive(true);
            builder = builder.header(header_name(name)?, value);
        }
        if let Some(body) = request.body {
            builder = builder.body(body);
        }
        let sent = builder.send();
        HttpResponse::await_head(&self.clock, &allowed.host, sent, request.head_timeout).await
    }
}

/// Builds a client.
pub(crate) fn build(
    parts: impl Fn() -> reqwest::ClientBuilder,
) -> Result<reqwest::Client, NetError> {
    // Building fails on a machine without root certificates. Plain HTTP, for local models, must
    // still work there.
    let built = parts().build().or_else(|_| {
        let trusts_nobody = rustls::ClientConfig::builder()
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        parts().tls_backend_preconfigured(trusts_nobody).build()
    });
    built.map_err(|failure| NetError::of_building(&failure))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place that makes an HTTP client"
)]
pub(crate) fn builder(parts: &HttpOptions) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .user_agent(parts.user_agent.clone())
        .connect_timeout(parts.connect_timeout)
        .pool_idle_timeout(POOL_IDLE)
        .tcp_keepalive(KEEPALIVE)
        // A redirect could carry a key or a prompt to a host that nobody configured.
        .redirect(reqwest::redirect::Policy::none())
        // A proxy of the environment would see keys and prompts.
        .no_proxy()
}

/// A response whose head has arrived.
#[derive(Debug)]
pub struct HttpResponse {
    inner: reqwest::Response,
    host: String,
    received_wall_ms: u64,
}

impl HttpResponse {
    /// Waits for the head of the response.
    pub(crate) async fn await_head(
        clock: &Clock,
        host: &str,
        sent: impl Future<Output = Result<reqwest::Response, reqwest::Error>>,
        limit: Duration,
    ) -> Result<HttpResponse, NetError> {
        match tokio::time::timeout(limit, sent).await {
            Ok(Ok(inner)) => Ok(HttpResponse {
                inner,
                host: host.to_owned(),
                received_wall_ms: clock.wall_ms(),
            }),
            Ok(Err(failure)) => Err(NetError::of_sending(host, &failure)),
            Err(_) => Err(silent(host, limit)),
        }
    }

    pub fn status(&self) -> u16 {
        self.inner.status().as_u16()
    }

    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns a header, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.inner.headers().get(name)?.to_str().ok()
    }

    /// Returns the wait that the server asks for, from `retry-after-ms` or `Retry-After`.
    pub fn retry_after_ms(&self) -> Option<u64> {
        let exact = self.header("retry-after-ms");
        if let Some(wait_ms) = exact.and_then(|text| text.trim().parse().ok()) {
            return Some(wait_ms);
        }
        // A date in `Retry-After` is compared with the server's own `Date`: its clock may differ
        // from ours.
        let theirs = self.header("date").and_then(retry_after::date_ms);
        let now_ms = theirs.unwrap_or(self.received_wall_ms);
        retry_after::wait_ms(self.header("retry-after")?, now_ms)
    }

    /// Reads the whole body as text. Invalid UTF-8 is replaced.
    pub async fn text(mut self, idle: Duration, bytes_max: usize) -> Result<String, NetError> {
        let mut body = Vec::new();
        while let Some(bytes) = self.chunk(idle).await? {
            if body.len() + bytes.len() > bytes_max {
                return Err(NetError::TooLarge {
                    host: self.host,
                    bytes_max,
                });
            }
            body.extend_from_slice(&bytes);
        }
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    /// Reads the body up to a bound. The flag is true if there was more.
    pub async fn bytes(
        mut self,
        idle: Duration,
        bytes_max: usize,
    ) -> Result<(Vec<u8>, bool), NetError> {
        let mut body = Vec::new();
        while let Some(bytes) = self.chunk(idle).await? {
            let left = bytes_max - body.len();
            if bytes.len() > left {
                body.extend_from_slice(&bytes[..left]);
                return Ok((body, true));
            }
            body.extend_from_slice(&bytes);
        }
        Ok((body, false))
    }

    pub(crate) fn remote_address(&self) -> Option<std::net::IpAddr> {
        Some(self.inner.remote_addr()?.ip())
    }

    /// Reads the body as events.
    pub fn events(self, bounds: StreamBounds) -> SseReader {
        SseReader::new(self, bounds)
    }

    /// Reads the next bytes of the body; `None` at its end.
    pub async fn chunk(&mut self, idle: Duration) -> Result<Option<Bytes>, NetError> {
        match tokio::time::timeout(idle, self.inner.chunk()).await {
            Ok(Ok(bytes)) => Ok(bytes),
            Ok(Err(failure)) => Err(NetError::of_reading(&self.host, &failure)),
            Err(_) => Err(silent(&self.host, idle)),
        }
    }
}

fn silent(host: &str, waited: Duration) -> NetError {
    NetError::Silent {
        host: host.to_owned(),
        waited_ms: u64::try_from(waited.as_millis()).unwrap_or(u64::MAX),
    }
}

/// Installs the TLS crypto provider of the process. If one is installed already, that one is used.
pub(crate) fn install_crypto() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

fn header_name(name: &str) -> Result<HeaderName, NetError> {
    HeaderName::try_from(name)
        .map_err(|_| NetError::Refused("the name of a header has an invalid character".into()))
}

fn header_value(name: &str, value: &str) -> Result<HeaderValue, NetError> {
    HeaderValue::try_from(value)
        .map_err(|_| NetError::Refused(format!("the header {name} has an invalid character")))
}
