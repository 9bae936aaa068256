//! The form of everything that goes to a client over the WebSocket.

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;

/// An event in Pryx's words, not addressed yet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PryxEvent {
    pub(crate) event: &'static str,
    pub(crate) payload: Value,
}

impl PryxEvent {
    pub(crate) fn new(event: &'static str, payload: Value) -> PryxEvent {
        PryxEvent { event, payload }
    }
}

/// An event as it is sent.
#[derive(Debug, Serialize)]
pub(crate) struct PryxEnvelope<'a> {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) event: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) session_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) surface: Option<&'a str>,
    pub(crate) payload: &'a Value,
    pub(crate) timestamp: String,
    pub(crate) version: u64,
}

impl PryxEnvelope<'_> {
    pub(crate) const KIND: &'static str = "event";

    /// Encodes the event; `None` if it cannot be, which is a fault of the program.
    pub(crate) fn encode(&self) -> Option<Bytes> {
        match serde_json::to_vec(self) {
            Ok(bytes) => Some(Bytes::from(bytes)),
            Err(failure) => {
                tracing::error!("dropped an event: {failure}");
                None
            }
        }
    }
}
