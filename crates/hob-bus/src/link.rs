//! A connection from outside: frames in by [`Link`], frames out by [`Outlet`]. The transport
//! moves bytes between the two and its socket and knows nothing else.

use crate::delivery::{BODY_BYTES_MAX, Delivery};
use crate::event::{NewEvent, SessionTag};
use crate::hub::Hub;
use crate::party::Party;
use crate::peer::Closed;
use crate::router::Ask;
use bytes::Bytes;
use hob_kit::failpoint;
use hob_wire::frame::{self, Envelope, EventEnvelope, Malformed, RequestEnvelope, UNKNOWN_ID};
use hob_wire::limits::JSON_DEPTH_MAX;
use hob_wire::{Durability, ErrorCode, WireError};
use serde_json::value::RawValue;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A body this large is shared with the frame it came in, if it is most of it. Smaller ones are
/// copied: a few bytes must not hold a transport's whole read buffer while they wait.
const SHARED_BYTES_MIN: usize = 64 * 1024;

/// Where a connection's frames come in. Dropping it closes the link.
#[derive(Debug)]
pub struct Link {
    hub: Arc<Hub>,
    party: Arc<Party>,
}

/// Where a connection's frames go out. Dropping it closes the link: nobody reads any more.
#[derive(Debug)]
pub struct Outlet {
    hub: Arc<Hub>,
    party: Arc<Party>,
    batch: Vec<Delivery>,
    finished: bool,
}

pub(crate) fn join(hub: &Arc<Hub>, party: &Arc<Party>) -> (Link, Outlet) {
    hub.outlets.fetch_add(1, Ordering::Relaxed);
    let link = Link {
        hub: Arc::clone(hub),
        party: Arc::clone(party),
    };
    let outlet = Outlet {
        hub: Arc::clone(hub),
        party: Arc::clone(party),
        batch: Vec::new(),
        finished: false,
    };
    (link, outlet)
}

impl Link {
    /// Takes one frame as the transport received it; its size is checked already. Waits only for
    /// what this connection itself asked: a place in a queue, or an event being made durable.
    pub async fn receive(&self, frame: Bytes) {
        if self.party.is_closed() {
            return;
        }
        let text = match read_text(&frame) {
            Ok(text) => text,
            Err(message) => return self.malformed(None, message),
        };
        match frame::read(text) {
            // Reading an envelope never recurses, so it can tell the id of a frame too deep.
            _ if !frame::depth_within(text, JSON_DEPTH_MAX) && !failpoint::broken(32) => {
                let message = format!("a frame may nest {JSON_DEPTH_MAX} deep");
                self.malformed(id_of(text).as_deref(), &message);
            }
            Ok(Envelope::Request(request)) => self.request(&frame, request).await,
            Ok(Envelope::Response(response)) => {
                let answer = match response.outcome {
                    Ok(payload) => Ok(payload.map(|payload| keep(&frame, payload))),
                    Err(error) => Err(keep(&frame, error)),
                };
                self.hub.answered(&self.party, &response.id, answer);
            }
            Ok(Envelope::Event(event)) => self.emit(&frame, event).await,
            Err(Malformed { id, message }) => self.malformed(id.as_deref(), &message),
        }
    }

    pub fn id(&self) -> u64 {
        self.party.id
    }

    /// Closes the link as one whose peer left.
    pub fn close(&self) {
        self.hub.close(&self.party, Closed::Normal);
    }

    /// Answers a message that is no frame at all, such as a binary one: `error` under the id
    /// `unknown`.
    pub fn refuse(&self, error: &WireError) {
        self.hub.answer_error(&self.party, UNKNOWN_ID, error);
    }

    /// Ends as soon as the link is closed by either side, while frames may still wait in its
    /// outlet: a transport whose peer does not read cannot wait for those.
    pub async fn closed(&self) -> Closed {
        match self.party.outbox() {
            Some(outbox) => outbox.ended().await,
            // Only a caller has none, and a caller has no link.
            None => std::future::pending().await,
        }
    }

    async fn request(&self, frame: &Bytes, request: RequestEnvelope<'_>) {
        let ask = Ask {
            id: &request.id,
            target: &request.target,
            method: &request.method,
            params: request.params.map(|params| keep(frame, params)),
            trace: request.trace.as_deref(),
            abandoned: self.party.gone.clone(),
        };
        self.hub.request(&self.party, ask).await;
    }

    async fn emit(&self, frame: &Bytes, event: EventEnvelope<'_>) {
        if let Err(error) = self.try_emit(frame, event).await {
            self.hub.answer_error(&self.party, UNKNOWN_ID, &error);
        }
    }

    /// Only a registered service emits, and only what it declared.
    async fn try_emit(&self, frame: &Bytes, event: EventEnvelope<'_>) -> Result<(), WireError> {
        let offer = self.party.offer.load_full();
        let declared = offer
            .as_ref()
            .and_then(|offer| offer.events.get_key_value(&*event.event));
        let (Some(offer), Some((topic, info))) = (&offer, declared) else {
            let message = format!(
                "this connection has not registered the event '{}'",
                event.event
            );
            return Err(WireError::new(ErrorCode::Forbidden, message));
        };
        let payload = event.payload.map(|payload| keep(frame, payload));
        if payload.as_ref().map_or(0, Bytes::len) > BODY_BYTES_MAX {
            let message = format!("a payload may be {BODY_BYTES_MAX} bytes at the most");
            return Err(WireError::new(ErrorCode::InvalidParams, message));
        }
        let event = NewEvent {
            source: Arc::clone(&offer.service),
            topic: Arc::clone(topic),
            session: event.payload.and_then(session_of),
            payload,
        };
        match info.durability {
            Durability::Volatile => self.hub.emit_volatile(event),
            Durability::Logged => {
                self.hub.log.append(event).await?;
            }
        }
        Ok(())
    }

    fn malformed(&self, id: Option<&str>, message: &str) {
        let error = WireError::new(ErrorCode::ParseError, message);
        self.hub
            .answer_error(&self.party, id.unwrap_or(UNKNOWN_ID), &error);
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.close();
    }
}

impl Outlet {
    /// Waits for frames and adds them to `into`; `Some` once the link is closed and all its frames
    /// were taken. Cancelling it loses nothing.
    pub async fn next(&mut self, into: &mut Vec<Bytes>) -> Option<Closed> {
        let outbox = self.party.outbox()?;
        let closed = outbox.take(&mut self.batch, usize::MAX).await;
        into.extend(self.batch.drain(..).map(|delivery| delivery.encode()));
        if closed.is_some() {
            self.finish();
        }
        closed
    }

    fn finish(&mut self) {
        if !self.finished {
            self.finished = true;
            self.hub.outlets.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        self.finish();
        self.hub.close(&self.party, Closed::Normal);
        if let Some(outbox) = self.party.outbox() {
            outbox.abandon();
        }
    }
}

fn read_text(frame: &Bytes) -> Result<&str, &'static str> {
    let text = std::str::from_utf8(frame).map_err(|_| "a frame is UTF-8 text")?;
    // An array would be read as the fields of a frame in their order.
    if text.trim_ascii_start().starts_with('{') {
        Ok(text)
    } else {
        Err("a frame is a JSON object")
    }
}

fn id_of(text: &str) -> Option<String> {
    match frame::read(text) {
        Ok(Envelope::Request(request)) => Some(request.id.into_owned()),
        Ok(_) => None,
        Err(malformed) => malformed.id,
    }
}

/// The bytes of a value inside `frame`, for keeping.
fn keep(frame: &Bytes, value: &RawValue) -> Bytes {
    let value = value.get().as_bytes();
    if value.len() >= SHARED_BYTES_MIN && value.len() * 2 >= frame.len() {
        frame.slice_ref(value)
    } else {
        Bytes::copy_from_slice(value)
    }
}

/// The session an outside event names in its payload.
fn session_of(payload: &RawValue) -> Option<SessionTag> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Tagged<'a> {
        #[serde(borrow, default)]
        session_key: Option<&'a RawValue>,
        #[serde(borrow, default)]
        session_id: Option<&'a RawValue>,
    }
    if !payload.get().starts_with('{') {
        return None;
    }
    let tagged: Tagged<'_> = serde_json::from_str(payload.get()).ok()?;
    let text = |value: Option<&RawValue>| -> Option<Arc<str>> {
        let text: String = serde_json::from_str(value?.get()).ok()?;
        Some(Arc::from(text))
    };
    let key = text(tagged.session_key);
    let id = text(tagged.session_id).or_else(|| key.clone())?;
    Some(SessionTag { id, key })
}
