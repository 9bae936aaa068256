//! What travels to a party: the same four things for a connection, a room and a caller. A
//! connection's are encoded when they are written; the house takes them as they are.

use crate::event::NewEvent;
use crate::party::Party;
use crate::routes::MethodInfo;
use bytes::Bytes;
use hob_wire::frame::{self, EventHead, Place, RequestHead};
use hob_wire::limits::{FRAME_BYTES_MAX, NAME_BYTES_MAX};
use hob_wire::rooms::gateway::{GapRange, GapReason};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The longest envelope: four names, each byte of which may be escaped to six, and the rest.
const ENVELOPE_BYTES_MAX: usize = 4 * 6 * NAME_BYTES_MAX + 256;
/// The largest params or payload that fit a frame with any envelope.
pub(crate) const BODY_BYTES_MAX: usize = FRAME_BYTES_MAX - ENVELOPE_BYTES_MAX;
/// What an envelope is taken to weigh in an outbox.
const ENVELOPE_BYTES: usize = 128;

/// A payload, or an error object; JSON already.
pub(crate) type Answer = Result<Option<Bytes>, Bytes>;

#[derive(Debug)]
pub(crate) enum Delivery {
    Request(Request),
    Response { id: Box<str>, answer: Answer },
    Event { event: Arc<NewEvent>, place: Place },
    Gap(GapRange),
}

/// A request under the id its serving link gave it.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) id: u64,
    pub(crate) method: Arc<MethodInfo>,
    pub(crate) params: Option<Bytes>,
    pub(crate) trace: Arc<str>,
    pub(crate) caller: Arc<Party>,
    /// Cancelled when nobody waits for the answer any more.
    pub(crate) abandoned: CancellationToken,
}

impl Delivery {
    /// What it weighs in an outbox.
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

    /// The frame, as it is written.
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
            Delivery::Event { event, place } => {
                let head = EventHead {
                    source: &event.source,
                    event: &event.topic,
                    place: Some(*place),
                };
                frame::write_event(&mut out, head, event.payload.as_deref());
            }
            Delivery::Gap(range) => {
                // Placed right before what is missing: a reader that takes any `seq` for its
                // cursor still asks again for all of it.
                let seq = range.from.saturating_sub(1);
                let head = EventHead {
                    source: "gateway",
                    event: "gateway.gap",
                    place: Some(Place::Volatile { seq, sub: 1 }),
                };
                frame::write_event(&mut out, head, Some(&encode_gap(range)));
            }
        }
        Bytes::from(out)
    }
}

/// A gap that is told why.
pub(crate) fn gap(from: u64, to: u64, reason: GapReason) -> Delivery {
    Delivery::Gap(GapRange {
        from,
        to,
        reason: Some(reason),
    })
}

fn encode_gap(range: &GapRange) -> Vec<u8> {
    let GapRange { from, to, .. } = range;
    // Two numbers and a word always fit JSON; without the word it is still a gap.
    serde_json::to_vec(range)
        .unwrap_or_else(|_| format!(r#"{{"from":{from},"to":{to}}}"#).into_bytes())
}
