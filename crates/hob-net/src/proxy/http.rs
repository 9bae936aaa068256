//! The HTTP protocol of the proxy: `CONNECT host:port`, and requests for absolute `http:` URLs.
//! Pure.
//!
//! Invariants: a head is read only up to a bound; a plain request is forwarded as one head with the
//! host of its URL and `Connection: close`, so that the connection cannot be reused for another
//! host.

use super::destination::ProxyDestination;
use reqwest::Url;

/// The longest head of a request.
pub(super) const HEAD_BYTES_MAX: usize = 32 * 1024;
/// The most header lines of a request.
const HEADERS_MAX: usize = 128;

/// Headers that concern the connection to the proxy and are not forwarded.
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

/// A parsed request to the proxy.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ProxyRequest {
    pub(super) destination: ProxyDestination,
    /// The head to forward; `None` for a tunnel.
    pub(super) forwarded: Option<Vec<u8>>,
    /// The length of the head in the bytes that were read.
    pub(super) head_bytes: usize,
}

/// The result of parsing a head.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HeadParse {
    Whole(ProxyRequest),
    /// More bytes are needed.
    Partial,
    /// Not a proxy request, for this reason.
    Wrong(&'static str),
}

/// Parses the head at the beginning of `bytes`.
pub(super) fn read_head(bytes: &[u8]) -> HeadParse {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    let head_bytes = match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return HeadParse::Partial,
        Err(httparse::Error::TooManyHeaders) => {
            return HeadParse::Wrong("It has too many headers.");
        }
        Err(_) => return HeadParse::Wrong("It is not an HTTP request."),
    };
    let (Some(method), Some(target)) = (request.method, request.path) else {
        return HeadParse::Wrong("It is not an HTTP request.");
    };
    if method == "CONNECT" {
        return HeadParse::Whole(ProxyRequest {
            destination: ProxyDestination::Authority(target.to_owned()),
            forwarded: None,
            head_bytes,
        });
    }
    let is_http = |text: &str| {
        text.get(..7)
            .is_some_and(|it| it.eq_ignore_ascii_case("http://"))
    };
    if !is_http(target) {
        return HeadParse::Wrong(
            "This is hob's proxy: it takes CONNECT and requests for whole http:// addresses.",
        );
    }
    let Ok(url) = Url::parse(target) else {
        return HeadParse::Wrong("Its address is not a URL.");
    };
    let version = u8::from(request.version != Some(0));
    // Built from the parsed URL, so that the host receives what was checked.
    let forwarded = forwarded(method, &url, version, request.headers);
    HeadParse::Whole(ProxyRequest {
        destination: ProxyDestination::Url(target.to_owned()),
        forwarded: Some(forwarded),
        head_bytes,
    })
}

/// Builds an answer of the proxy itself.
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

/// Returns the headers that `Connection` declares as hop-by-hop.
fn of_connection(headers: &[httparse::Header<'_>]) -> Vec<String> {
    let lists = headers
        .iter()
        .filter(|header| header.name.eq_ignore_ascii_case("connection"));
    let texts = lists.filter_map(|header| std::str::from_utf8(header.value).ok());
    let names = texts.flat_map(|text| text.split(','));
    let names = names.map(|name| name.trim().to_ascii_lowercase());
    // Removing the length of the body would let the rest of it be read as another request.
    let framing = ["content-length", "transfer-encoding"];
    names
        .filter(|name| !framing.contains(&name.as_str()))
        .collect()
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
