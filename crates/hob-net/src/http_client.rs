//! The one HTTP client of the house.

use crate::egress;
use crate::reader::{SseReader, StreamBounds};
use crate::{NetError, Request, retry_after};
use bytes::Bytes;
use hob_kit::clock::Clock;
use hob_kit::failpoint;
use reqwest::header::{HeaderName, HeaderValue};
use std::time::Duration;

/// What the client is made of.
#[derive(Clone, Debug)]
pub struct NetParts {
    pub clock: Clock,
    pub connect_timeout: Duration,
    pub user_agent: String,
}

impl NetParts {
    pub fn new(clock: Clock) -> NetParts {
        NetParts {
            clock,
            connect_timeout: Duration::from_secs(10),
            user_agent: concat!("hob/", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

/// An idle connection is kept for the next call of a run, not for the next day.
const POOL_IDLE: Duration = Duration::from_mins(1);
const KEEPALIVE: Duration = Duration::from_secs(30);

/// Sends requests; cheap to clone, all clones share their connections.
#[derive(Clone, Debug)]
pub struct Http {
    client: reqwest::Client,
    clock: Clock,
}

impl Http {
    pub fn new(parts: NetParts) -> Result<Http, NetError> {
        install_crypto();
        // A stream that is packed comes in lumps.
        let client = build(|| builder(&parts).gzip(false).deflate(false))?;
        Ok(Http {
            client,
            clock: parts.clock,
        })
    }

    /// Sends one request, once, and waits for the head of its answer, whatever its status.
    pub async fn send(&self, request: Request) -> Result<Response, NetError> {
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
        Response::await_head(&self.clock, &allowed.host, sent, request.head_timeout).await
    }
}

/// Makes a client. A machine without certificates can still ask over plain HTTP.
pub(crate) fn build(
    parts: impl Fn() -> reqwest::ClientBuilder,
) -> Result<reqwest::Client, NetError> {
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
pub(crate) fn builder(parts: &NetParts) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .user_agent(parts.user_agent.clone())
        .connect_timeout(parts.connect_timeout)
        .pool_idle_timeout(POOL_IDLE)
        .tcp_keepalive(KEEPALIVE)
        // A redirect could carry a key or a prompt to a host nobody named.
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
}

/// An answer whose head has come.
#[derive(Debug)]
pub struct Response {
    inner: reqwest::Response,
    host: String,
    received_wall_ms: u64,
}

impl Response {
    /// Waits for the head of what was sent.
    pub(crate) async fn await_head(
        clock: &Clock,
        host: &str,
        sent: impl Future<Output = Result<reqwest::Response, reqwest::Error>>,
        limit: Duration,
    ) -> Result<Response, NetError> {
        match tokio::time::timeout(limit, sent).await {
            Ok(Ok(inner)) => Ok(Response {
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

    /// A header's text, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.inner.headers().get(name)?.to_str().ok()
    }

    /// How long the other side asks to be left alone.
    pub fn retry_after_ms(&self) -> Option<u64> {
        let exact = self.header("retry-after-ms");
        if let Some(wait_ms) = exact.and_then(|text| text.trim().parse().ok()) {
            return Some(wait_ms);
        }
        // Both dates then come from the same clock, which need not agree with ours.
        let theirs = self.header("date").and_then(retry_after::date_ms);
        let now_ms = theirs.unwrap_or(self.received_wall_ms);
        retry_after::wait_ms(self.header("retry-after")?, now_ms)
    }

    /// The whole body as text; what is no UTF-8 is replaced.
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

    /// The body up to a bound, and whether there was more.
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

    /// The body as events.
    pub fn events(self, bounds: StreamBounds) -> SseReader {
        SseReader::new(self, bounds)
    }

    /// The next bytes of the body; none at its end.
    pub(crate) async fn chunk(&mut self, idle: Duration) -> Result<Option<Bytes>, NetError> {
        let idle = idle * if failpoint::broken(55) { 1_000 } else { 1 };
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

/// TLS needs a provider of ciphers, chosen once for the process; whoever chose first is right too.
pub(crate) fn install_crypto() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

fn header_name(name: &str) -> Result<HeaderName, NetError> {
    HeaderName::try_from(name)
        .map_err(|_| NetError::Refused("a header's name has a character no header may have".into()))
}

fn header_value(name: &str, value: &str) -> Result<HeaderValue, NetError> {
    HeaderValue::try_from(value).map_err(|_| {
        NetError::Refused(format!(
            "the header {name} has a character no header may have"
        ))
    })
}
