//! How hob reaches out: the one HTTP client, and event streams with a bound on everything.
//!
//! - [`Http`], [`Request`], [`Response`]: one attempt at one address
//! - [`Web`], [`Openings`], [`address`]: pages that a model named, of the open internet only
//! - [`Proxy`]: the only exit of a command's own network: HTTP and SOCKS5, under the same policy
//! - [`check_listener`]: whose server listens at an address of this machine
//! - [`SseReader`]: the events of an answer, as they come
//! - [`SseParser`]: bytes to events, pure
//! - [`retry_after`]: how long a server asks to be left alone, pure
//!
//! Invariants: nothing is read without a bound on its bytes and on the silence between them; no
//! redirect is followed but within the host of a page, and no proxy is taken from the environment;
//! an error never holds a header that was sent. Dropping a response or its reader closes the connection: that is how an abort
//! reaches the other side.

pub mod address;
mod egress;
mod error;
mod http;
mod listener_owner;
mod openings;
mod own_listener;
mod proxy;
mod reader;
mod request;
pub mod retry_after;
mod sse;
mod web;

pub use error::NetError;
pub use http::{Http, NetParts, Response};
pub use listener_owner::{TrustedUsers, UntrustedListener, check_listener, check_listener_of};
pub use openings::Openings;
pub use proxy::{AllowedHosts, HOSTS_MAX, Proxy, REFUSED_MAX};
pub use reader::{SseReader, StreamBounds};
pub use request::Request;
pub use reqwest::Url;
pub use sse::{EVENT_BYTES_MAX, LINE_BYTES_MAX, SseEvent, SseFault, SseParser};
pub use web::{LookingUp, Lookup, PageRequest, REDIRECTS_MAX, Visit, Web};
