//! An external connection: frames come in by [`BusLink`] and go out by [`BusOutlet`]. The transport
//! only moves bytes between them and its socket.

use crate::delivery::{BODY_BYTES_MAX, Delivery};
use crate::endpoint::Endpoint;
use crate::event::{NewEvent, SessionTag};
use crate::event_filter::{first_segment, is_name};
use crate::hub::Hub;
use crate::peer::CloseReason;
use crate::router::CallerRequest;
use bytes::Bytes;
use hob_wire::frame::{self, Envelope, EventEnvelope, MalformedFrame, RequestEnvelope, UNKNOWN_ID};
use hob_wire::limits::JSON_DEPTH_MAX;
use hob_wire::scope::is_service_name;
use hob_wire::{Durability, ErrorCode, WireError};
use serde_json::value::RawValue;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A body of at least this size that makes up most of its frame shares the frame's memory. Smaller
/// ones are copied, so that a few queued bytes do not keep a whole read buffer alive.
const SHARED_BYTES_MIN: usize = 64 * 1024;

/// The receiving half of a connection. Dropping it closes the link.
#[derive(Debug)]
pub struct BusLink {
    hub: Arc<Hub>,
    endpoint: Arc<Endpoint>,
}

/// The sending half of a connection. Dropping it closes the link.
#[derive(Debug)]
pub struct BusOutlet {
    hub: Arc<Hub>,
    endpoint: Arc<Endpoint>,
    batch: Vec<Delivery>,
    finished: bool,
}

pub(crate) fn open(hub: &Arc<Hub>, endpoint: &Arc<Endpoint>) -> (BusLink, BusOutlet) {
    hub.open_outlets.fetch_add(1, Ordering::Relaxed);
    let link = BusLink {
        hub: Arc::clone(hub),
        endpoint: Arc::clone(endpoint),
    };
    let outlet = BusOutlet {
        hub: Arc::clone(hub),
        endpoint: Arc::clone(endpoint),
        batch: Vec::new(),
        finished: false,
    };
    (link, outlet)
}

impl BusLink {
    /// Handles one frame, whose size the transport has checked. Waits only for this connection's own
    /// requests: a place in a queue, or an event being made durable.
    pub async fn receive(&self, frame: Bytes) {
        // The answers of a closed link could not be delivered, so it begins no work.
        if self.endpoint.is_closed() {
            return;
        }
        let text = match read_text(&frame) {
            Ok(text) => text,
            Err(message) => return self.answer_malformed(None, message),
        };
        match frame::read(text) {
            // Reading the envelope does not recurse, so it is safe on a frame that nests too deep,
            // and gives the id for the error.
            _ if !frame::is_depth_within(text, JSON_DEPTH_MAX) => {
                let message = format!("a frame must not nest deeper than {JSON_DEPTH_MAX} levels");
                self.answer_malformed(id_of(text).as_deref(), &message);
            }
            Ok(Envelope::Request(request)) => self.request(&frame, request).await,
            Ok(Envelope::Response(response)) => {
                let answer = match response.outcome {
                    Ok(payload) => Ok(payload.map(|payload| retain_bytes(&frame, payload))),
                    Err(error) => Err(retain_bytes(&frame, error)),
                };
                self.hub.handle_answer(&self.endpoint, &response.id, answer);
            }
            Ok(Envelope::Event(event)) => self.emit(&frame, event).await,
            Err(MalformedFrame { id, message }) => self.answer_malformed(id.as_deref(), &message),
        }
    }

    pub fn id(&self) -> u64 {
        self.endpoint.id
    }

    /// Closes the link because the peer left.
    pub fn close(&self) {
        self.hub.close(&self.endpoint, CloseReason::Normal);
    }

    /// Answers a message that is not a frame, such as a binary one, with `error` under the id
    /// `unknown`.
    pub fn refuse(&self, error: &WireError) {
        self.hub.answer_error(&self.endpoint, UNKNOWN_ID, error);
    }

    /// Waits until either side closes the link. Frames may still be queued: a transport whose peer
    /// does not read must not wait for those.
    pub async fn closed(&self) -> CloseReason {
        match self.endpoint.outbox() {
            Some(outbox) => outbox.wait_closed().await,
            // Only a caller has no outbox, and a caller has no link.
            None => std::future::pending().await,
        }
    }

    async fn request(&self, frame: &Bytes, request: RequestEnvelope<'_>) {
        let request = CallerRequest {
            id: &request.id,
            target: &request.target,
            method: &request.method,
            params: request.params.map(|params| retain_bytes(frame, params)),
            trace: request.trace.as_deref(),
            abandoned: self.endpoint.closed_token.clone(),
        };
        self.hub.route_request(&self.endpoint, request).await;
    }

    async fn emit(&self, frame: &Bytes, event: EventEnvelope<'_>) {
        if let Err(error) = self.try_emit(frame, event).await {
            self.hub.answer_error(&self.endpoint, UNKNOWN_ID, &error);
        }
    }

    /// Emits an event of a registered service. Refuses events that it did not declare, unless the
    /// bus relays those.
    async fn try_emit(&self, frame: &Bytes, event: EventEnvelope<'_>) -> Result<(), WireError> {
        let offer = self.endpoint.offer.load_full();
        let declared = offer
            .as_ref()
            .and_then(|offer| offer.events.get_key_value(&*event.event));
        let (source, topic, durability) = match (&offer, declared) {
            (Some(offer), Some((topic, info))) => (
                Arc::clone(&offer.service),
                Arc::clone(topic),
                info.durability,
            ),
            _ if self.may_relay(&event.event) => (
                self.source_of(&event),
                Arc::from(&*event.event),
                Durability::Volatile,
            ),
            _ => {
                let message = format!(
                    "this connection has not registered the event '{}'",
                    event.event
                );
                return Err(WireError::new(ErrorCode::Forbidden, message));
            }
        };
        let payload = event.payload.map(|payload| retain_bytes(frame, payload));
        if payload.as_ref().map_or(0, Bytes::len) > BODY_BYTES_MAX {
            let message = format!("a payload must not exceed {BODY_BYTES_MAX} bytes");
            return Err(WireError::new(ErrorCode::InvalidParams, message));
        }
        let event = NewEvent {
            source,
            topic,
            session: event.payload.and_then(session_of),
            payload,
        };
        // Waiting for the commit slows down only this connection: its next frame is read after it.
        match durability {
            Durability::Volatile => self.hub.emit_volatile(event),
            Durability::Logged => {
                self.hub.log.append(event).await?;
            }
        }
        Ok(())
    }

    /// Returns true if an event that was not declared is relayed: on a bus that does so, from a
    /// peer that could register the event anyway.
    fn may_relay(&self, topic: &str) -> bool {
        self.hub.relays_undeclared.load(Ordering::Relaxed)
            && self.endpoint.peer.scopes.allow_any_service()
            && is_name(topic)
            && first_segment(topic) != "gateway"
            && self.hub.registry.routes().builtin_event(topic).is_none()
    }

    /// The source of an event that was not declared: the registered service, or the name in the
    /// frame if no other service has it, or the name of the connection.
    fn source_of(&self, event: &EventEnvelope<'_>) -> Arc<str> {
        if let Some(offer) = self.endpoint.offer.load().as_ref() {
            return Arc::clone(&offer.service);
        }
        let routes = self.hub.registry.routes();
        if is_service_name(&event.source) && routes.holders(&event.source).next().is_none() {
            return Arc::from(&*event.source);
        }
        Arc::clone(&self.endpoint.name)
    }

    fn answer_malformed(&self, id: Option<&str>, message: &str) {
        let error = WireError::new(ErrorCode::ParseError, message);
        self.hub
            .answer_error(&self.endpoint, id.unwrap_or(UNKNOWN_ID), &error);
    }
}

impl Drop for BusLink {
    fn drop(&mut self) {
        self.close();
    }
}

impl BusOutlet {
    /// Waits for frames and adds them to `into`. Returns `Some` once the link is closed and every
    /// frame was taken. Cancel safe.
    pub async fn next(&mut self, into: &mut Vec<Bytes>) -> Option<CloseReason> {
        let outbox = self.endpoint.outbox()?;
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
            self.hub.open_outlets.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for BusOutlet {
    fn drop(&mut self) {
        // Counted down here too: a drain must not wait for an outlet whose transport is gone.
        self.finish();
        self.hub.close(&self.endpoint, CloseReason::Normal);
        // Freed now, because requests of this connection may keep the endpoint alive for long.
        if let Some(outbox) = self.endpoint.outbox() {
            outbox.discard();
        }
    }
}

fn read_text(frame: &Bytes) -> Result<&str, &'static str> {
    let text = std::str::from_utf8(frame).map_err(|_| "a frame must be UTF-8 text")?;
    // serde accepts an array for a struct and takes its items as the fields in their order.
    if text.trim_ascii_start().starts_with('{') {
        Ok(text)
    } else {
        Err("a frame must be a JSON object")
    }
}

fn id_of(text: &str) -> Option<String> {
    match frame::read(text) {
        Ok(Envelope::Request(request)) => Some(request.id.into_owned()),
        Ok(_) => None,
        Err(malformed) => malformed.id,
    }
}

/// Returns the bytes of a value inside `frame`, shared or copied.
fn retain_bytes(frame: &Bytes, value: &RawValue) -> Bytes {
    let value = value.get().as_bytes();
    if value.len() >= SHARED_BYTES_MIN && value.len() * 2 >= frame.len() {
        frame.slice_ref(value)
    } else {
        Bytes::copy_from_slice(value)
    }
}

/// Reads the session from the payload of an external event.
fn session_of(payload: &RawValue) -> Option<SessionTag> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct SessionFields<'a> {
        #[serde(borrow, default)]
        session_key: Option<&'a RawValue>,
        #[serde(borrow, default)]
        session_id: Option<&'a RawValue>,
    }
    // serde would take the items of an array for the fields.
    if !payload.get().starts_with('{') {
        return None;
    }
    let tagged: SessionFields<'_> = serde_json::from_str(payload.get()).ok()?;
    // Each field is read by itself: one that is not a string does not hide the other.
    let text = |value: Option<&RawValue>| -> Option<Arc<str>> {
        let text: String = serde_json::from_str(value?.get()).ok()?;
        Some(Arc::from(text))
    };
    let key = text(tagged.session_key);
    // A service may know only the key, which then stands in for the id.
    let id = text(tagged.session_id).or_else(|| key.clone())?;
    Some(SessionTag { id, key })
}
