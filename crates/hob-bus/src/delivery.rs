//! The four kinds of messages that the bus delivers to an endpoint. They are encoded only when a
//! connection writes them; rooms and callers take them as they are.

use crate::endpoint::Endpoint;
use crate::event::NewEvent;
use crate::route_table::MethodInfo;
use bytes::Bytes;
use hob_wire::frame::{self, EventHead, EventPosition, RequestHead};
use hob_wire::limits::{FRAME_BYTES_MAX, NAME_BYTES_MAX};
use hob_wire::rooms::gateway::{GapRange, GapReason};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The longest envelope: four names, in which each byte may be escaped to six, and fixed text.
const ENVELOPE_BYTES_MAX: usize = 4 * 6 * NAME_BYTES_MAX + 256;
/// The largest params or payload that fit a frame with any envelope.
pub(crate) const BODY_BYTES_MAX: usize = FRAME_BYTES_MAX - ENVELOPE_BYTES_MAX;
/// The size that an envelope counts as in an outbox.
const ENVELOPE_BYTES: usize = 128;

/// An encoded payload or an encoded error object.
pub(crate) type EncodedAnswer = Result<Option<Bytes>, Bytes>;

#[derive(Debug)]
pub(crate) enum Delivery {
    Request(ForwardedRequest),
    Response {
        id: Box<str>,
        answer: EncodedAnswer,
    },
    Event {
        event: Arc<NewEvent>,
        place: EventPosition,
        /// The subject of a [`VolatileEvent`](crate::event::VolatileEvent).
        subject: Option<Arc<str>>,
    },
    Gap(GapRange),
}

/// A request under the id of the serving endpoint.
#[derive(Debug)]
pub(crate) struct ForwardedRequest {
    pub(crate) id: u64,
    pub(crate) method: Arc<MethodInfo>,
    pub(crate) params: Option<Bytes>,
    pub(crate) trace: Arc<str>,
    pub(crate) caller: Arc<Endpoint>,
    /// Cancelled when no one waits for the answer any more.
    pub(crate) abandoned: CancellationToken,
}

impl Delivery {
    /// The size it counts as in an outbox.
    pub(crate) fn bytes(&self) -> usize {
        let body = match self {
            Delivery::Request(request) => request.params.as_ref(),
            Delivery::Response { answer, .. } => match answer {
                Ok(payload) => payload.as_ref(),
                Err(error) => Some(error),
            },
            Delivery::Event { event, .. } => event.payload.as_ref(),
            Delivery::Gap(_) => None,
        };
        ENVELOPE_BYTES + body.map_or(0, Bytes::len)
    }

    /// Encodes the frame as it is written to the connection.
    pub(crate) fn encode(&self) -> Bytes {
        let mut out = Vec::with_capacity(self.bytes() + ENVELOPE_BYTES);
        match self {
            Delivery::Request(request) => {
                let head = RequestHead {
                    id: &request.id.to_string(),
                    target: &request.method.service,
                    method: &request.method.name,
                    trace: Some(&request.trace),
                };
                frame::write_request(&mut out, &head, request.params.as_deref());
            }
            Delivery::Response { id, answer } => {
                let outcome = match answer {
                    Ok(payload) => Ok(payload.as_deref()),
                    Err(error) => Err(&**error),
                };
                frame::write_response(&mut out, id, outcome);
            }
            Delivery::Event { event, place, .. } => {
                let head = EventHead {
                    source: &event.source,
                    event: &event.topic,
                    position: Some(*place),
                };
                frame::write_event(&mut out, head, event.payload.as_deref());
            }
            Delivery::Gap(range) => {
                // The gap is placed right before the missing events. A client that uses any `seq`
                // as its cursor then still asks for all of them.
                let seq = range.from.saturating_sub(1);
                let head = EventHead {
                    source: "gateway",
                    event: "gateway.gap",
                    position: Some(EventPosition::Volatile { seq, sub: 1 }),
                };
                frame::write_event(&mut out, head, Some(&encode_gap(range)));
            }
        }
        Bytes::from(out)
    }
}

/// Builds a gap with its reason.
pub(crate) fn gap(from: u64, to: u64, reason: GapReason) -> Delivery {
    Delivery::Gap(GapRange {
        from,
        to,
        reason: Some(reason),
    })
}

/// Builds the delivery of a logged event, or a gap if it does not fit into a frame.
pub(crate) fn logged_delivery(event: &Arc<NewEvent>, seq: u64, prev: Option<u64>) -> Delivery {
    if is_too_large(event) {
        // A gap instead of silence: the subscriber learns that an event exists which it did not
        // get.
        return gap(seq, seq, GapReason::TooLarge);
    }
    Delivery::Event {
        event: Arc::clone(event),
        place: EventPosition::Logged { seq, prev },
        subject: None,
    }
}

/// Returns true if the payload does not fit into a frame with any envelope.
pub(crate) fn is_too_large(event: &NewEvent) -> bool {
    event.payload.as_ref().map_or(0, Bytes::len) > BODY_BYTES_MAX
}

fn encode_gap(range: &GapRange) -> Vec<u8> {
    let GapRange { from, to, .. } = range;
    // Two numbers and a word always encode. Even without the word it is still a valid gap.
    serde_json::to_vec(range)
        .unwrap_or_else(|_| format!(r#"{{"from":{from},"to":{to}}}"#).into_bytes())
}
