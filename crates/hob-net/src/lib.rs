//! Outbound HTTP: the only HTTP client of hob, event streams, and the proxy for sandboxed commands.
//!
//! - [`HttpClient`], [`HttpRequest`], [`HttpResponse`]: one attempt at one address
//! - [`WebClient`], [`PrivateHosts`], [`address`]: pages that a model named, on the open internet only
//! - [`FileClient`], [`FileOrigin`]: large files of a configured origin that redirects elsewhere
//! - [`EgressProxy`]: the only exit of a command's network: HTTP and SOCKS5, under the same policy
//! - [`check_listener`]: checks the owner of a server on this machine
//! - [`SseReader`]: the events of a response, as they arrive
//! - [`SseParser`]: bytes to events, pure
//! - [`retry_after`]: parses the `Retry-After` header, pure
//!
//! Invariants: every read is bounded in bytes and in idle time; a redirect is followed only within
//! the host of a page, or, for a file, where `file_client` allows it; no proxy is taken from the
//! environment; an error never contains a header that was sent. Dropping a response or its reader
//! closes the connection, which aborts the request.

pub mod address;
mod egress;
mod error;
mod file_client;
mod http_client;
mod http_request;
mod listener_owner;
mod listening_sockets;
mod own_listener;
mod private_hosts;
mod proxy;
pub mod retry_after;
mod sse;
mod sse_reader;
mod web_client;

pub use error::NetError;
pub use file_client::{FileClient, FileOrigin, FileResponse};
pub use http_client::{HttpClient, HttpOptions, HttpResponse};
pub use http_request::HttpRequest;
pub use listener_owner::{
    TrustedUsers, UntrustedListener, check_listener, check_listener_async, is_own_server,
};
pub use private_hosts::PrivateHosts;
pub use proxy::{AllowedHosts, EgressProxy, HOSTS_MAX, REFUSED_MAX};
pub use reqwest::Url;
pub use sse::{EVENT_BYTES_MAX, LINE_BYTES_MAX, SseError, SseEvent, SseParser};
pub use sse_reader::{SseReader, StreamBounds};
pub use web_client::{
    DnsLookup, DnsLookupFuture, PageOutcome, PageRequest, REDIRECTS_MAX, WebClient,
};
