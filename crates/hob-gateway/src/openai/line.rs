//! One client's line to the bus: a link of its own, so that the pieces of its answer come on it.
//!
//! Invariant: a run that this surface started and whose end it has not heard is stopped when its
//! client goes away, however that happens: the [`Leash`] is dropped with the request.

use crate::book::Principal;
use crate::http::Desk;
use crate::openai::SURFACE;
use crate::openai::fault::Fault;
use crate::shared;
use axum::http::StatusCode;
use bytes::Bytes;
use hob_bus::{Bus, Closed, Link, Outlet, Peer};
use hob_kit::tasks::Tasks;
use hob_wire::frame::{self, Envelope, RequestHead};
use hob_wire::id::RunId;
use hob_wire::limits::FRAME_BYTES_MAX;
use hob_wire::rooms::{agent, gateway};
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
    pub(crate) fn open(desk: &Desk, principal: &Principal, trace: Arc<str>) -> Result<Line, Fault> {
        let (link, outlet) = desk.shared.bus.connect(shared::peer(principal, SURFACE))?;
        // A token revoked after it was verified may have missed the closing of its links.
        if !desk.door.still_admits(principal) {
            let revoked =
                WireError::new(ErrorCode::Unauthorized, "This token was revoked just now.");
            return Err(Fault::from(revoked));
        }
        Ok(Line {
            link,
            outlet,
            frames: VecDeque::new(),
            batch: Vec::new(),
            trace,
        })
    }

    /// Sends a request whose answer will come as a frame with this id.
    pub(crate) async fn ask<M: Method>(&self, id: &str, params: &M::Params) -> Result<(), Fault> {
        let params =
            serde_json::to_vec(params).map_err(|error| Fault::internal(error.to_string()))?;
        if params.len() > FRAME_BYTES_MAX - ENVELOPE_BYTES_MAX {
            let message = format!("A request has at most {FRAME_BYTES_MAX} bytes.");
            let error = WireError::new(ErrorCode::InvalidParams, message);
            return Err(Fault::from(error).with_status(StatusCode::PAYLOAD_TOO_LARGE));
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
        self.ask::<M>(id, params)
            .await
            .map_err(|fault| WireError::new(ErrorCode::InvalidParams, fault.message))?;
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
    pub(crate) async fn hear(&mut self, topics: &[&str], session: &str) -> Result<(), Fault> {
        let params = gateway::SubscribeParams {
            events: topics.iter().map(|&topic| topic.to_owned()).collect(),
            session_key: Some(session.to_owned()),
            since: None,
        };
        self.call::<gateway::Subscribe>(&params).await?;
        Ok(())
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

/// Holds a run to its client: dropped while the run goes on, it stops it.
#[derive(Debug)]
pub(crate) struct Leash {
    bus: Bus,
    peer: Peer,
    tasks: Tasks,
    run: Option<RunId>,
}

impl Leash {
    pub(crate) fn new(desk: &Desk, principal: &Principal) -> Leash {
        Leash {
            bus: desk.shared.bus.clone(),
            peer: shared::peer(principal, SURFACE),
            tasks: desk.shared.tasks.clone(),
            run: None,
        }
    }

    pub(crate) fn hold(&mut self, run: RunId) {
        self.run = Some(run);
    }

    /// The run has ended by itself.
    pub(crate) fn release(&mut self) {
        self.run = None;
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        let Some(run_id) = self.run else { return };
        let (bus, peer) = (self.bus.clone(), self.peer.clone());
        self.tasks.spawn("openai-abort", async move {
            let selector = agent::RunSelector {
                run_id: Some(run_id),
                session_key: None,
            };
            let stopped = match bus.caller_as(peer) {
                Ok(caller) => caller.call::<agent::Abort>(&selector).await.map(drop),
                Err(error) => Err(error),
            };
            match stopped {
                Ok(()) => tracing::debug!(%run_id, "a run was stopped: its client went away"),
                // It ended meanwhile.
                Err(error) if error.code == ErrorCode::NotFound => {}
                Err(error) => tracing::warn!(%run_id, "a run could not be stopped: {error}"),
            }
        });
    }
}
