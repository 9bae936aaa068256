//! The state shared by all parts of the bus, and the single path by which an endpoint leaves it.
//!
//! Invariant: a retired endpoint has no route, no pending request and no subscription; every caller
//! that waited for it has been answered.

use crate::counters::BusCounters;
use crate::delivery::EncodedAnswer;
use crate::endpoint::{Endpoint, EndpointOrigin, Mailbox};
use crate::endpoint_list::EndpointList;
use crate::event::{NewEvent, VolatileEvent};
use crate::event_log::EventLog;
use crate::event_pump::PumpHandle;
use crate::followers::FollowerCounts;
use crate::limits::BusLimits;
use crate::outbox::{Outbox, PushError};
use crate::peer::{CloseReason, PeerIdentity};
use crate::pending_requests::PendingRequest;
use crate::registry::RouteRegistry;
use crate::request_traces::RequestTraces;
use crate::response_waiters::ResponseWaiters;
use crate::room;
use bytes::Bytes;
use hob_kit::clock::Clock;
use hob_kit::tasks::TaskGroup;
use hob_wire::rooms::gateway::{ServiceConnectionPayload, ServiceDisconnected};
use hob_wire::{ErrorCode, EventTopic, WireError};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use tokio::sync::{Notify, Semaphore};

pub(crate) struct Hub {
    pub(crate) log: Arc<dyn EventLog>,
    pub(crate) clock: Clock,
    pub(crate) tasks: TaskGroup,
    pub(crate) limits: BusLimits,
    pub(crate) version: String,
    pub(crate) registry: RouteRegistry,
    pub(crate) counters: BusCounters,
    pub(crate) traces: RequestTraces,
    pub(crate) pump: PumpHandle,
    /// Wakes the sweeper when the first request becomes pending.
    pub(crate) pending_added: Notify,
    /// True while external requests and connections are refused.
    pub(crate) draining: AtomicBool,
    /// True if events that nobody declared are relayed; see [`Bus::relay_undeclared_events`].
    ///
    /// [`Bus::relay_undeclared_events`]: crate::Bus::relay_undeclared_events
    pub(crate) relays_undeclared: AtomicBool,
    /// Outlets that still have frames to flush.
    pub(crate) open_outlets: AtomicUsize,
    pub(crate) started_ms: u64,
    pub(crate) last_id: AtomicU64,
    pub(crate) endpoints: EndpointList,
    pub(crate) followers: FollowerCounts,
    /// Bounds the catch-ups that read the log at the same time.
    pub(crate) log_readers: Semaphore,
}

impl Hub {
    /// Creates the endpoint of a room. It is not in the list of connections.
    pub(crate) fn room_endpoint(&self, service: &str) -> Arc<Endpoint> {
        let outbox = Outbox::new(self.limits.outbox_frames_max, self.limits.outbox_bytes_max);
        self.new_endpoint(
            internal_peer(service),
            EndpointOrigin::Internal,
            Mailbox::Outbox(outbox),
        )
    }

    pub(crate) fn connect(&self, peer: PeerIdentity) -> Result<Arc<Endpoint>, WireError> {
        let outbox = Outbox::new(self.limits.outbox_frames_max, self.limits.outbox_bytes_max);
        let endpoint = self.new_endpoint(peer, EndpointOrigin::External, Mailbox::Outbox(outbox));
        self.admit_endpoint(endpoint)
    }

    pub(crate) fn caller_as(&self, peer: PeerIdentity) -> Result<Arc<Endpoint>, WireError> {
        let mailbox = Mailbox::Waiters(ResponseWaiters::default());
        let endpoint = self.new_endpoint(peer, EndpointOrigin::External, mailbox);
        self.admit_endpoint(endpoint)
    }

    pub(crate) fn caller(&self, name: &str) -> Arc<Endpoint> {
        let mailbox = Mailbox::Waiters(ResponseWaiters::default());
        let endpoint = self.new_endpoint(internal_peer(name), EndpointOrigin::Internal, mailbox);
        // The bound counts external endpoints only, so this never fails.
        self.endpoints.insert(&endpoint, usize::MAX);
        endpoint
    }

    /// Closes an endpoint, and every caller that is too slow to take the resulting error.
    pub(crate) fn close(&self, endpoint: &Arc<Endpoint>, reason: CloseReason) {
        // Only the first to close an endpoint retires it.
        if endpoint.close(reason) {
            self.retire(Arc::clone(endpoint), reason);
        }
    }

    /// Removes a closed endpoint from the routes, the pending requests and the subscriptions.
    pub(crate) fn retire(&self, endpoint: Arc<Endpoint>, reason: CloseReason) {
        // A work list instead of recursion: failing the callers of one endpoint may close others
        // whose outboxes are full, and a chain of those could be long.
        let mut closing = vec![(endpoint, reason)];
        while let Some((endpoint, reason)) = closing.pop() {
            if reason == CloseReason::Slow {
                self.counters.slow_closed.increment();
            }
            self.endpoints.remove(endpoint.id);
            if let Some(service) = self.registry.withdraw(&endpoint) {
                self.announce::<ServiceDisconnected>(&service);
            }
            // The route is gone before the pending requests are failed, so a retry by a caller
            // cannot reach the same dead endpoint.
            for pending in endpoint.pending.close() {
                let error = service_gone(&pending.method.service);
                if let Err(slow) = self.complete_forwarded(pending, Err(encode_error(&error))) {
                    closing.push((slow, CloseReason::Slow));
                }
            }
            self.pump.forget(endpoint.id);
        }
    }

    /// Answers a forwarded request. Returns the caller if its outbox was full: it is closed then,
    /// but not yet retired.
    pub(crate) fn complete_forwarded(
        &self,
        pending: PendingRequest,
        answer: EncodedAnswer,
    ) -> Result<(), Arc<Endpoint>> {
        self.counters.pending.decrement();
        pending.caller.end_request();
        self.complete(pending, answer)
    }

    /// Like [`Hub::complete_forwarded`], for a request that was never counted as pending.
    pub(crate) fn complete(
        &self,
        pending: PendingRequest,
        answer: EncodedAnswer,
    ) -> Result<(), Arc<Endpoint>> {
        self.record_trace(&pending, &answer);
        push_answer(&pending.caller, pending.caller_id, answer)
    }

    /// Sends an answer to an endpoint, and closes the endpoint if it does not fit.
    pub(crate) fn answer(&self, endpoint: &Arc<Endpoint>, id: &str, answer: EncodedAnswer) {
        if let Err(slow) = push_answer(endpoint, Box::from(id), answer) {
            self.retire(slow, CloseReason::Slow);
        }
    }

    pub(crate) fn answer_error(&self, endpoint: &Arc<Endpoint>, id: &str, error: &WireError) {
        self.counters.errors.increment();
        self.answer(endpoint, id, Err(encode_error(error)));
    }

    /// Emits the event that a service connected or disconnected.
    pub(crate) fn announce<T>(&self, service: &str)
    where
        T: EventTopic<Payload = ServiceConnectionPayload>,
    {
        let payload = ServiceConnectionPayload {
            service: service.to_owned(),
        };
        let Ok(payload) = room::encode(&payload) else {
            return;
        };
        let event = NewEvent {
            source: Arc::from("gateway"),
            topic: Arc::from(T::SPEC.topic),
            session: None,
            payload: Some(payload),
        };
        self.emit_volatile(event);
    }

    /// Hands a volatile event to the pump. If the pump is too busy, the event is dropped and counted.
    pub(crate) fn emit_volatile(&self, event: NewEvent) {
        self.emit(VolatileEvent::new(event));
    }

    /// Like [`Hub::emit_volatile`]. Returns false if the event was dropped.
    pub(crate) fn emit(&self, event: VolatileEvent) -> bool {
        let sent = self.pump.emit(event);
        if !sent {
            self.counters.coalesced.increment();
        }
        sent
    }

    fn new_endpoint(
        &self,
        peer: PeerIdentity,
        origin: EndpointOrigin,
        mailbox: Mailbox,
    ) -> Arc<Endpoint> {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        Endpoint::new(id, peer, origin, mailbox, self.clock.wall_ms())
    }

    fn admit_endpoint(&self, endpoint: Arc<Endpoint>) -> Result<Arc<Endpoint>, WireError> {
        if self.draining.load(Ordering::Relaxed) {
            return Err(stopping_error());
        }
        if self
            .endpoints
            .insert(&endpoint, self.limits.connections_max)
        {
            return Ok(endpoint);
        }
        let message = "too many connections; close some and try again";
        Err(WireError::new(ErrorCode::Overloaded, message).retry_after(1_000))
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub")
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

/// Pushes an answer. Returns the endpoint if its outbox was full and this call closed it.
fn push_answer(
    endpoint: &Arc<Endpoint>,
    id: Box<str>,
    answer: EncodedAnswer,
) -> Result<(), Arc<Endpoint>> {
    match endpoint.push_answer(id, answer) {
        Err(PushError::Full) if endpoint.close(CloseReason::Slow) => Err(Arc::clone(endpoint)),
        // A caller that left needs no answer. One that another task closed is retired by that task.
        Ok(()) | Err(PushError::Full | PushError::Closed) => Ok(()),
    }
}

pub(crate) fn encode_error(error: &WireError) -> Bytes {
    // Strings and numbers always encode. If they ever did not, a fixed error is better than none:
    // the caller would wait for its timeout.
    let bare = || br#"{"code":"INTERNAL","message":"an error could not be written"}"#.to_vec();
    Bytes::from(serde_json::to_vec(error).unwrap_or_else(|_| bare()))
}

pub(crate) fn service_gone(service: &str) -> WireError {
    let message = format!("the service '{service}' disconnected before it answered");
    WireError::new(ErrorCode::ServiceUnavailable, message).retry_after(1_000)
}

pub(crate) fn stopping_error() -> WireError {
    let message = "hob is stopping; try again when it is back";
    WireError::new(ErrorCode::ServiceUnavailable, message).retry_after(1_000)
}

fn internal_peer(name: &str) -> PeerIdentity {
    PeerIdentity {
        name: name.to_owned(),
        surface: "house",
        principal: "house".to_owned(),
        scopes: hob_wire::Scopes::owner(),
    }
}

#[cfg(test)]
#[path = "hub_tests.rs"]
mod tests;
