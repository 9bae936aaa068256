//! A line to the bus for one answer: a link of its own, so that the pieces of the answer come on it.
//!
//! Invariant: what comes while an answer is awaited is kept for later, in its order.

use crate::book::Principal;
use crate::http::Desk;
use crate::shared;
use bytes::Bytes;
use hob_bus::{Closed, Link, Outlet};
use hob_wire::frame::{self, Envelope, RequestHead};
use hob_wire::limits::FRAME_BYTES_MAX;
use hob_wire::rooms::gateway;
use hob_wire::{ErrorCode, Method, WireError};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

/// What a request's envelope adds to its params.
const ENVELOPE_BYTES_MAX: usize = 8 * 1024;
/// Frames kept while an answer is awaited; the agent accepts a run within a few.
const KEPT_FRAMES_MAX: usize = 4_096;

/// What a frame on the line is.
#[derive(Debug)]
pub(crate) enum Heard<'a> {
    Event {
        topic: Cow<'a, str>,
        payload: &'a str,
        /// Its place in the log; a volatile one has none.
        seq: Option<u64>,
    },
    Answer {
        id: Cow<'a, str>,
        outcome: Result<&'a str, WireError>,
    },
}

#[derive(Debug)]
pub(crate) struct Line {
    link: Link,
    outlet: Outlet,
    /// Frames that came and were not taken yet.
    frames: VecDeque<Bytes>,
    batch: Vec<Bytes>,
    trace: Arc<str>,
}

impl Line {
    /// A line for a holder of a token.
    pub(crate) fn open(
        desk: &Desk,
        principal: &Principal,
        surface: &'static str,
        trace: Arc<str>,
    ) -> Result<Line, WireError> {
        let line = Line::open_granted(desk, principal, surface, trace)?;
        // A token revoked after it was verified may have missed the closing of its links.
        if !desk.door.still_admits(principal) {
            let message = "This token was revoked just now.";
            return Err(WireError::new(ErrorCode::Unauthorized, message));
        }
        Ok(line)
    }

    /// A line for whoever was let in without a token.
    pub(crate) fn open_granted(
        desk: &Desk,
        principal: &Principal,
        surface: &'static str,
        trace: Arc<str>,
    ) -> Result<Line, WireError> {
        let (link, outlet) = desk.shared.bus.connect(shared::peer(principal, surface))?;
        Ok(Line {
            link,
            outlet,
            frames: VecDeque::new(),
            batch: Vec::new(),
            trace,
        })
    }

    /// Sends a request whose answer will come as a frame with this id.
    pub(crate) async fn ask<M: Method>(
        &self,
        id: &str,
        params: &M::Params,
    ) -> Result<(), WireError> {
        let params = serde_json::to_vec(params)
            .map_err(|error| WireError::new(ErrorCode::Internal, error.to_string()))?;
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
        self.link.receive(Bytes::from(frame)).await;
        Ok(())
    }

    /// Asks and waits for the answer; what else comes meanwhile is kept for later.
    pub(crate) async fn call<M: Method>(
        &mut self,
        params: &M::Params,
    ) -> Result<M::Result, WireError> {
        let id = M::SPEC.name;
        self.ask::<M>(id, params).await?;
        let mut kept = VecDeque::new();
        let answer = loop {
            let frame = match self.frame().await {
                Ok(frame) => frame,
                Err(error) => break Err(error),
            };
            match read(&frame) {
                Some(Heard::Answer { id: of, outcome }) if of == id => {
                    break outcome.and_then(decode);
                }
                Some(Heard::Event { .. }) if kept.len() < KEPT_FRAMES_MAX => kept.push_back(frame),
                _ => {}
            }
        };
        kept.append(&mut self.frames);
        self.frames = kept;
        answer
    }

    /// Hears `topics` of one session from now on.
    pub(crate) async fn hear(&mut self, topics: &[&str], session: &str) -> Result<(), WireError> {
        let params = gateway::SubscribeParams {
            events: topics.iter().map(|&topic| topic.to_owned()).collect(),
            session_key: Some(session.to_owned()),
            since: None,
            log_id: None,
        };
        self.call::<gateway::Subscribe>(&params).await?;
        Ok(())
    }

    /// Hears `topics` of everybody: from now on, or after the logged event `since`. Answers the
    /// last one there is.
    pub(crate) async fn hear_all(
        &mut self,
        topics: &[&str],
        since: Option<u64>,
    ) -> Result<u64, WireError> {
        let params = gateway::SubscribeParams {
            events: topics.iter().map(|&topic| topic.to_owned()).collect(),
            session_key: None,
            since,
            log_id: None,
        };
        let subscribed = self.call::<gateway::Subscribe>(&params).await?;
        Ok(subscribed.seq)
    }

    /// The next frame, or why none will come. Cancelling it loses nothing.
    pub(crate) async fn frame(&mut self) -> Result<Bytes, WireError> {
        loop {
            if let Some(frame) = self.frames.pop_front() {
                return Ok(frame);
            }
            let closed = self.outlet.next(&mut self.batch).await;
            self.frames.extend(self.batch.drain(..));
            if let (Some(reason), true) = (closed, self.frames.is_empty()) {
                return Err(why_closed(reason));
            }
        }
    }

    /// A frame that is already here.
    pub(crate) fn ready_frame(&mut self) -> Option<Bytes> {
        self.frames.pop_front()
    }
}

/// Reads a frame of the line; a line gets no requests.
pub(crate) fn read(frame: &Bytes) -> Option<Heard<'_>> {
    let text = std::str::from_utf8(frame).ok()?;
    match frame::read(text).ok()? {
        Envelope::Event(event) => Some(Heard::Event {
            topic: event.event,
            payload: event.payload.map_or("null", RawValue::get),
            seq: event.seq.filter(|_| event.sub.is_none()),
        }),
        Envelope::Response(response) => Some(Heard::Answer {
            id: response.id,
            outcome: match response.outcome {
                Ok(payload) => Ok(payload.map_or("null", RawValue::get)),
                Err(error) => Err(wire_error(error.get())),
            },
        }),
        Envelope::Request(_) => None,
    }
}

pub(crate) fn decode<T: serde::de::DeserializeOwned>(payload: &str) -> Result<T, WireError> {
    serde_json::from_str(payload).map_err(|error| {
        let message = format!("an answer on the bus is not of its form: {error}");
        WireError::new(ErrorCode::Internal, message)
    })
}

fn why_closed(reason: Closed) -> WireError {
    let (code, message) = match reason {
        Closed::Revoked => (ErrorCode::Unauthorized, "This token was revoked."),
        Closed::Slow => (
            ErrorCode::Overloaded,
            "The answer was not read fast enough; ask again.",
        ),
        Closed::Normal | Closed::Replaced | Closed::ShuttingDown => {
            (ErrorCode::ServiceUnavailable, "hob is stopping; ask again.")
        }
    };
    WireError::new(code, message)
}

fn wire_error(error: &str) -> WireError {
    serde_json::from_str(error)
        .unwrap_or_else(|_| WireError::new(ErrorCode::MethodError, "the service failed"))
}
