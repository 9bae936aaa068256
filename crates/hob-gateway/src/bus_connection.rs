//! A separate link to the bus for one answer, so that the events of that answer arrive on it alone.
//!
//! Invariant: events that arrive while a call waits for its response are held back and delivered
//! later, in order.

use crate::http::HttpState;
use crate::token_cache::Principal;
use bytes::Bytes;
use hob_bus::{BusLink, BusOutlet, CloseReason};
use hob_wire::frame::{self, Envelope, RequestHead};
use hob_wire::limits::FRAME_BYTES_MAX;
use hob_wire::rooms::gateway;
use hob_wire::{ErrorCode, Method, WireError};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

/// Maximum bytes that the envelope adds to a request's params.
const ENVELOPE_BYTES_MAX: usize = 8 * 1024;
/// Maximum events held back during a call; the agent accepts a run within a few.
const HELD_FRAMES_MAX: usize = 4_096;

/// A parsed frame from the bus.
#[derive(Debug)]
pub enum BusMessage<'a> {
    Event {
        topic: Cow<'a, str>,
        payload: &'a str,
        /// The number in the event log; volatile events have none.
        seq: Option<u64>,
    },
    Answer {
        id: Cow<'a, str>,
        outcome: Result<&'a str, WireError>,
    },
}

#[derive(Debug)]
pub struct BusConnection {
    link: BusLink,
    outlet: BusOutlet,
    /// Received frames that were not consumed yet.
    frames: VecDeque<Bytes>,
    batch: Vec<Bytes>,
    trace: Arc<str>,
}

impl BusConnection {
    /// Opens a connection for an authenticated client.
    pub fn open(
        state: &HttpState,
        principal: &Principal,
        surface: &'static str,
        trace: Arc<str>,
    ) -> Result<BusConnection, WireError> {
        let (link, outlet) = state.connect(principal, surface)?;
        Ok(BusConnection {
            link,
            outlet,
            frames: VecDeque::new(),
            batch: Vec::new(),
            trace,
        })
    }

    /// Sends a request. Its response arrives later as a frame with this id.
    pub async fn send_request<M: Method>(
        &self,
        id: &str,
        params: &M::Params,
    ) -> Result<(), WireError> {
        let params = serde_json::to_vec(params)
            .map_err(|error| WireError::new(ErrorCode::Internal, error.to_string()))?;
        // Checked here, where the error can still name the limit to the caller.
        if params.len() > FRAME_BYTES_MAX - ENVELOPE_BYTES_MAX {
            let message = format!("A request has at most {FRAME_BYTES_MAX} bytes.");
            return Err(WireError::new(ErrorCode::InvalidParams, message));
        }
        let head = RequestHead {
            id,
            target: "",
            method: M::SPEC.name,
            trace: Some(&self.trace),
        };
        let mut frame = Vec::with_capacity(params.len() + 512);
        frame::write_request(&mut frame, &head, Some(&params));
        // The link takes frames as a transport does, so scopes and limits apply unchanged.
        self.link.receive(Bytes::from(frame)).await;
        Ok(())
    }

    /// Sends a request and waits for its response. Events that arrive meanwhile are held back.
    pub async fn call<M: Method>(&mut self, params: &M::Params) -> Result<M::Result, WireError> {
        let id = M::SPEC.name;
        self.send_request::<M>(id, params).await?;
        let mut held = VecDeque::new();
        let answer = loop {
            let frame = match self.next_frame().await {
                Ok(frame) => frame,
                Err(error) => break Err(error),
            };
            match parse_message(&frame) {
                Some(BusMessage::Answer { id: of, outcome }) if of == id => {
                    break outcome.and_then(decode);
                }
                Some(BusMessage::Event { .. }) if held.len() < HELD_FRAMES_MAX => {
                    held.push_back(frame);
                }
                // Answers that nobody waits for, and events beyond the bound, are dropped.
                _ => {}
            }
        };
        // Held events are older than what is still queued, so they go in front.
        held.append(&mut self.frames);
        self.frames = held;
        answer
    }

    /// Subscribes to `topics` of one session, from now on.
    pub async fn subscribe_session(
        &mut self,
        topics: &[&str],
        session: &str,
    ) -> Result<(), WireError> {
        let params = gateway::GatewaySubscribeParams {
            events: topics.iter().map(|&topic| topic.to_owned()).collect(),
            session_key: Some(session.to_owned()),
            since: None,
            log_id: None,
        };
        self.call::<gateway::Subscribe>(&params).await?;
        Ok(())
    }

    /// Subscribes to `topics` of all sessions, from now on or after the logged event `since`.
    /// Returns the number of the last logged event.
    pub async fn subscribe_all(
        &mut self,
        topics: &[&str],
        since: Option<u64>,
    ) -> Result<u64, WireError> {
        let params = gateway::GatewaySubscribeParams {
            events: topics.iter().map(|&topic| topic.to_owned()).collect(),
            session_key: None,
            since,
            log_id: None,
        };
        let subscribed = self.call::<gateway::Subscribe>(&params).await?;
        Ok(subscribed.seq)
    }

    /// Returns the next frame, or the reason why none will come. Cancel-safe.
    pub async fn next_frame(&mut self) -> Result<Bytes, WireError> {
        loop {
            if let Some(frame) = self.frames.pop_front() {
                return Ok(frame);
            }
            let closed = self.outlet.next(&mut self.batch).await;
            self.frames.extend(self.batch.drain(..));
            // Frames that were queued before the close are delivered first.
            if let (Some(reason), true) = (closed, self.frames.is_empty()) {
                return Err(close_error(reason));
            }
        }
    }

    /// Returns a frame that has already arrived.
    pub fn try_next_frame(&mut self) -> Option<Bytes> {
        self.frames.pop_front()
    }
}

/// Parses a frame. A request gives `None`: this connection serves nothing.
pub fn parse_message(frame: &Bytes) -> Option<BusMessage<'_>> {
    let text = std::str::from_utf8(frame).ok()?;
    match frame::read(text).ok()? {
        Envelope::Event(event) => Some(BusMessage::Event {
            topic: event.event,
            payload: event.payload.map_or("null", RawValue::get),
            // A sub-number marks a volatile event between two logged ones; its seq is not its own.
            seq: event.seq.filter(|_| event.sub.is_none()),
        }),
        Envelope::Response(response) => Some(BusMessage::Answer {
            id: response.id,
            outcome: match response.outcome {
                Ok(payload) => Ok(payload.map_or("null", RawValue::get)),
                Err(error) => Err(wire_error(error.get())),
            },
        }),
        Envelope::Request(_) => None,
    }
}

pub fn decode<T: serde::de::DeserializeOwned>(payload: &str) -> Result<T, WireError> {
    serde_json::from_str(payload).map_err(|error| {
        let message = format!("an answer on the bus is not of its form: {error}");
        WireError::new(ErrorCode::Internal, message)
    })
}

fn close_error(reason: CloseReason) -> WireError {
    let (code, message) = match reason {
        CloseReason::Revoked => (ErrorCode::Unauthorized, "This token was revoked."),
        CloseReason::Slow => (
            ErrorCode::Overloaded,
            "The answer was not read fast enough; ask again.",
        ),
        CloseReason::Normal | CloseReason::Replaced | CloseReason::ShuttingDown => {
            (ErrorCode::ServiceUnavailable, "hob is stopping; ask again.")
        }
    };
    WireError::new(code, message)
}

fn wire_error(error: &str) -> WireError {
    serde_json::from_str(error)
        .unwrap_or_else(|_| WireError::new(ErrorCode::MethodError, "the service failed"))
}
