//! How hob reaches out: the one HTTP client, and event streams with a bound on everything.
//!
//! - [`Http`], [`Request`], [`Response`]: one attempt at one address
//! - [`SseReader`]: the events of an answer, as they come
//! - [`SseParser`]: bytes to events, pure
//! - [`retry_after`]: how long a server asks to be left alone, pure
//!
//! Invariants: nothing is read without a bound on its bytes and on the silence between them; no
//! redirect is followed and no proxy is taken from the environment; an error never holds a header
//! that was sent. Dropping a response or its reader closes the connection: that is how an abort
//! reaches the other side.

mod egress;
mod error;
mod http;
mod reader;
mod request;
pub mod retry_after;
mod sse;

pub use error::NetError;
pub use http::{Http, NetParts, Response};
pub use reader::{SseReader, StreamBounds};
pub use request::Request;
pub use sse::{EVENT_BYTES_MAX, LINE_BYTES_MAX, SseEvent, SseFault, SseParser};
