//! The proxy's HTTP: `CONNECT host:port`, and requests whose target is a whole `http:` URL. Pure.
//!
//! Invariants: a head is read only up to a bound; what is forwarded of a plain request is one head
//! with the host of its URL and `Connection: close`, so that nothing is asked of another host over
//! the same connection.

use super::destination::Destination;
use reqwest::Url;

/// The longest head of a request.
pub(super) const HEAD_BYTES_MAX: usize = 32 * 1024;
/// Header lines of one request.
const HEADERS_MAX: usize = 128;

/// Headers that are about the connection to the proxy, not about the request.
const HOP_BY_HOP: &[&str] = &[
    "connection",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
];

/// The answer to a `CONNECT` that was granted.
pub(super) const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// What a head asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ProxyRequest {
    pub(super) destination: Destination,
    /// What is sent on instead of the head; none for a tunnel.
    pub(super) forwarded: Option<Vec<u8>>,
    /// Bytes that the head takes of what was read.
    pub(super) head_bytes: usize,
}

/// How far reading a head came.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Head {
    Whole(ProxyRequest),
    /// More is to come.
    Partial,
    /// It is no request to a proxy, for this reason.
    Wrong(&'static str),
}

/// Reads the head at the beginning of `bytes`.
pub(super) fn read_head(bytes: &[u8]) -> Head {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    let head_bytes = match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Head::Partial,
        Err(httparse::Error::TooManyHeaders) => return Head::Wrong("It has too many headers."),
        Err(_) => return Head::Wrong("It is not an HTTP request."),
    };
    let (Some(method), Some(target)) = (request.method, request.path) else {
        return Head::Wrong("It is not an HTTP request.");
    };
    if method == "CONNECT" {
        return Head::Whole(ProxyRequest {
            destination: Destination::Authority(target.to_owned()),
            forwarded: None,
            head_bytes,
        });
    }
    let is_http = |text: &str| {
        text.get(..7)
            .is_some_and(|it| it.eq_ignore_ascii_case("http://"))
    };
    if !is_http(target) {
        return Head::Wrong(
            "This is hob's proxy: it takes CONNECT and requests for whole http:// addresses.",
        );
    }
    let Ok(url) = Url::parse(target) else {
        return Head::Wrong("Its address is not a URL.");
    };
    let version = u8::from(request.version != Some(0));
    let forwarded = forwarded(method, &url, version, request.headers);
    Head::Whole(ProxyRequest {
        destination: Destination::Url(target.to_owned()),
        forwarded: Some(forwarded),
        head_bytes,
    })
}

/// An answer of the proxy's own.
pub(super) fn answer(status: u16, reason: &str, text: &str) -> Vec<u8> {
    let length = text.len() + 1;
    format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain; charset=utf-8\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{text}\n"
    )
    .into_bytes()
}

fn forwarded(method: &str, url: &Url, version: u8, headers: &[httparse::Header<'_>]) -> Vec<u8> {
    let target = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let host = url.host_str().unwrap_or_default();
    let host = match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    };
    let mut head = format!("{method} {target} HTTP/1.{version}\r\nHost: {host}\r\n").into_bytes();
    let named = of_connection(headers);
    for header in headers {
        let name = header.name.to_ascii_lowercase();
        if HOP_BY_HOP.contains(&name.as_str()) || named.contains(&name) {
            continue;
        }
        head.extend_from_slice(header.name.as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(header.value);
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"Connection: close\r\n\r\n");
    head
}

/// Names of headers that `Connection` says are for the proxy.
fn of_connection(headers: &[httparse::Header<'_>]) -> Vec<String> {
    let lists = headers
        .iter()
        .filter(|header| header.name.eq_ignore_ascii_case("connection"));
    let texts = lists.filter_map(|header| std::str::from_utf8(header.value).ok());
    let names = texts.flat_map(|text| text.split(','));
    let names = names.map(|name| name.trim().to_ascii_lowercase());
    // How long the body is must not be taken away.
    let framing = ["content-length", "transfer-encoding"];
    names
        .filter(|name| !framing.contains(&name.as_str()))
        .collect()
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
