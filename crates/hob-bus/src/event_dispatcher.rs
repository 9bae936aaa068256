//! The state of the pump: the subscriptions, the position of each subscriber, and the handling of
//! full outboxes.
//!
//! Invariants: each logged event goes to each matching subscriber once; its `prev` is the event
//! delivered before it on that link; the answer to a subscription precedes its first event.

use crate::catch_up::{CatchUp, ResumeOutcome, ResumeRequest, SubscriberCursor};
use crate::delivery::{gap, is_too_large, logged_delivery};
use crate::endpoint::{Endpoint, EndpointOrigin};
use crate::event::{LoggedEvent, NewEvent, VolatileEvent};
use crate::event_filter::{EventAudience, EventFilters};
use crate::event_pump::{SubscribeReply, SubscribeRequest};
use crate::event_ring::EventRing;
use crate::hub::{Hub, encode_error};
use crate::outbox::{PushError, VolatileOutcome};
use crate::peer::CloseReason;
use crate::pending_requests::PendingRequest;
use crate::room;
use crate::since::StartPoint;
use crate::subscription_index::SubscriptionIndex;
use hob_wire::frame::EventPosition;
use hob_wire::rooms::gateway::{GapReason, GatewaySubscribeResult, GatewayUnsubscribeResult};
use hob_wire::{ErrorCode, WireError};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Events of the ring that one resume step checks before the pump does other work.
const RESUME_EVENTS_MAX: usize = 512;

pub(crate) struct EventDispatcher {
    hub: Arc<Hub>,
    subscribers: HashMap<u64, Subscriber>,
    index: SubscriptionIndex,
    ring: EventRing,
    /// The `seq` of the last logged event.
    seq: u64,
    /// Volatile events since the last logged one.
    sub: u64,
    /// A buffer reused for every event.
    found: Vec<u64>,
}

struct Subscriber {
    endpoint: Arc<Endpoint>,
    /// Its position: events at or before this are not due.
    cursor: SubscriberCursor,
    /// Up to this `seq` the start of each filter must be checked. Later events are after all of them.
    check_starts_until: u64,
    /// The cancel flag of the catch-up that serves it, if one does.
    catching_up: Option<Arc<AtomicBool>>,
}

/// A subscription that was accepted.
struct AcceptedSubscription {
    /// The last event when it started.
    last: u64,
    /// The position where it resumes; `None` if it starts with new events.
    start_point: Option<StartPoint>,
}

impl EventDispatcher {
    /// Creates a dispatcher for the events after `seq`.
    pub(crate) fn new(hub: Arc<Hub>, seq: u64) -> Self {
        EventDispatcher {
            subscribers: HashMap::new(),
            index: SubscriptionIndex::default(),
            ring: EventRing::after(seq),
            seq,
            sub: 0,
            found: Vec::new(),
            hub,
        }
    }

    pub(crate) fn subscribe(&mut self, subscription: SubscribeRequest) {
        let endpoint = Arc::clone(&subscription.endpoint);
        let admitted = self.admit(&subscription);
        let start_point = admitted
            .as_ref()
            .ok()
            .and_then(|admitted| admitted.start_point);
        let answer = match (&subscription.reply, admitted) {
            (_, Err(error)) => Err(error),
            (SubscribeReply::Registered(_, table), Ok(_)) => Ok(table.clone()),
            (_, Ok(AcceptedSubscription { last, .. })) => room::encode(&GatewaySubscribeResult {
                seq: last,
                log_id: Some(self.hub.log.id().to_string()),
            }),
        };
        // The answer goes into the outbox before the first event of the subscription: only the
        // pump, which runs this, can begin to serve it.
        match subscription.reply {
            SubscribeReply::Subscribed(pending) | SubscribeReply::Registered(pending, _) => {
                self.complete(pending, answer);
            }
            SubscribeReply::Nobody => {}
        }
        match start_point {
            Some(StartPoint::After(since)) if since < self.seq => self.catch_up(endpoint.id),
            Some(StartPoint::OtherLog { from, to }) => self.send_other_log_gap(&endpoint, from, to),
            // Everyone else begins with the next event, which `fan_out` delivers.
            _ => {}
        }
    }

    /// Sends a gap that says that the subscriber's position is in another log. New events follow.
    fn send_other_log_gap(&mut self, endpoint: &Arc<Endpoint>, from: u64, to: u64) {
        let notice = || gap(from, to, GapReason::OtherLog);
        if endpoint.push(notice()) == Err(PushError::Full)
            && let Some(outbox) = endpoint.outbox()
            && outbox.close_with_last(notice(), CloseReason::Slow)
        {
            self.forget(endpoint.id);
            self.hub.retire(Arc::clone(endpoint), CloseReason::Slow);
        }
    }

    pub(crate) fn unsubscribe(&mut self, patterns: Option<&[String]>, pending: PendingRequest) {
        let endpoint = Arc::clone(&pending.caller);
        let left = endpoint.filters.load().without(patterns);
        let remaining = left.patterns();
        self.set_filters(&endpoint, left);
        self.complete(
            pending,
            room::encode(&GatewayUnsubscribeResult { remaining }),
        );
    }

    pub(crate) fn forget(&mut self, link: u64) {
        if let Some(subscriber) = self.subscribers.get(&link) {
            let endpoint = Arc::clone(&subscriber.endpoint);
            self.set_filters(&endpoint, EventFilters::default());
        }
    }

    /// Removes every subscriber that is closed.
    pub(crate) fn remove_closed(&mut self) {
        let endpoints = self.subscribers.values().map(|it| &it.endpoint);
        let closed = endpoints
            .filter(|endpoint| endpoint.is_closed())
            .map(|it| it.id);
        for link in closed.collect::<Vec<_>>() {
            self.forget(link);
        }
    }

    /// The last logged event that was published.
    pub(crate) fn seq(&self) -> u64 {
        self.seq
    }

    /// Publishes a committed event. Must be called in `seq` order.
    pub(crate) fn publish_logged(&mut self, event: LoggedEvent) {
        let seq = event.seq;
        if seq <= self.seq {
            // Committed before the bus started. Subscribers read it from the log.
            return;
        }
        self.seq = seq;
        self.sub = 0;
        self.hub.counters.seq.set(seq);
        self.hub.counters.events.increment();
        let event = Arc::new(event.into_new());
        // Into the ring before the outboxes: an endpoint that falls behind on this very event must
        // find it there.
        self.ring.push(seq, Arc::clone(&event));
        for link in self.fan_out(seq, &event) {
            self.handle_full_outbox(link, seq);
        }
    }

    pub(crate) fn publish_volatile(&mut self, volatile: &VolatileEvent) {
        let event = &volatile.event;
        self.sub += 1;
        self.hub.counters.events.increment();
        let place = EventPosition::Volatile {
            seq: self.seq,
            sub: self.sub,
        };
        if is_too_large(event) {
            self.hub.counters.coalesced.increment();
            return;
        }
        let routes = self.hub.registry.routes();
        let audience = EventAudience::of(&event.topic, &routes);
        let mut found = std::mem::take(&mut self.found);
        let session = event.session.as_ref();
        if volatile.subject.is_some() {
            self.index.find_named(&event.topic, session, &mut found);
        } else {
            self.index.find(&event.topic, session, &mut found);
        }
        let mut behind = Vec::new();
        for link in &found {
            // A subscriber that is catching up gets no volatile events: they would arrive before
            // older logged ones.
            if let Some(subscriber) = self.subscribers.get(link)
                && subscriber.catching_up.is_none()
                && audience.admits(&subscriber.endpoint.peer.scopes)
                && let Some(outbox) = subscriber.endpoint.outbox()
            {
                match outbox.push_volatile(volatile, place) {
                    Ok(VolatileOutcome::Queued) | Err(PushError::Closed) => {}
                    Ok(VolatileOutcome::Coalesced) => {
                        self.hub.counters.coalesced.increment();
                    }
                    Err(PushError::Full) => behind.push(*link),
                }
            }
        }
        self.found = found;
        // A follower would wait for ever for a change that was dropped in silence.
        for link in behind {
            self.handle_full_outbox(link, self.seq + 1);
        }
    }

    /// Serves a catch-up from the ring, and attaches the subscriber once it has every event.
    pub(crate) fn resume(&mut self, resume: ResumeRequest) {
        let resumed = self.serve_from_ring(resume.link, resume.cursor, &resume.cancelled);
        // The receiver is gone only if the catch-up was stopped together with the bus.
        let _ = resume.reply.send(resumed);
    }

    fn serve_from_ring(
        &mut self,
        link: u64,
        mut cursor: SubscriberCursor,
        cancelled: &Arc<AtomicBool>,
    ) -> ResumeOutcome {
        let Some(subscriber) = self.subscribers.get_mut(&link) else {
            return ResumeOutcome::Ended;
        };
        // The flag also identifies the catch-up. An older one that was replaced must not attach.
        let current = subscriber.catching_up.as_ref();
        if !current.is_some_and(|current| Arc::ptr_eq(current, cancelled)) {
            return ResumeOutcome::Ended;
        }
        let Some(outbox) = subscriber.endpoint.outbox() else {
            return ResumeOutcome::Ended;
        };
        if cursor.seq < self.seq {
            let Some(events) = self.ring.since(cursor.seq) else {
                return ResumeOutcome::ReadLog;
            };
            let routes = self.hub.registry.routes();
            for (seq, event) in events.take(RESUME_EVENTS_MAX) {
                if cursor.should_deliver(*seq, event, &subscriber.endpoint, &routes) {
                    let delivery = logged_delivery(event, *seq, cursor.prev);
                    match outbox.push_catching_up(delivery, cancelled) {
                        Ok(()) => cursor.prev = Some(*seq),
                        Err((PushError::Full, _)) => return ResumeOutcome::Paused(cursor),
                        Err((PushError::Closed, _)) => return ResumeOutcome::Ended,
                    }
                }
                cursor.seq = *seq;
            }
            if cursor.seq < self.seq {
                return ResumeOutcome::Paused(cursor);
            }
        }
        // The pump publishes from the next event on. No event can fall in between, because this
        // runs in the pump's own task.
        subscriber.cursor = cursor;
        subscriber.catching_up = None;
        ResumeOutcome::Attached
    }

    /// Delivers a logged event. Returns the endpoints whose outboxes were full.
    fn fan_out(&mut self, seq: u64, event: &Arc<NewEvent>) -> Vec<u64> {
        let routes = self.hub.registry.routes();
        let audience = EventAudience::of(&event.topic, &routes);
        let mut behind = Vec::new();
        // Taken out of `self`, because the loop borrows the subscribers.
        let mut found = std::mem::take(&mut self.found);
        self.index
            .find(&event.topic, event.session.as_ref(), &mut found);
        for link in &found {
            let Some(subscriber) = self.subscribers.get_mut(link) else {
                continue;
            };
            if !subscriber.is_due(seq, event) || !audience.admits(&subscriber.endpoint.peer.scopes)
            {
                continue;
            }
            let delivery = logged_delivery(event, seq, subscriber.cursor.prev);
            match subscriber.endpoint.push(delivery) {
                Ok(()) => {
                    subscriber.cursor = SubscriberCursor {
                        seq,
                        prev: Some(seq),
                    };
                }
                Err(PushError::Full) => behind.push(*link),
                // Its `Forget` command is on the way to the pump.
                Err(PushError::Closed) => {}
            }
        }
        self.found = found;
        behind
    }

    /// Handles a subscriber whose outbox had no room for event `seq`. A connection gets a gap and is
    /// closed. A room cannot reconnect, so it catches up from the log.
    fn handle_full_outbox(&mut self, link: u64, seq: u64) {
        let Some(subscriber) = self.subscribers.get_mut(&link) else {
            return;
        };
        if subscriber.endpoint.origin == EndpointOrigin::Internal {
            // Every event before this one was delivered or did not match, so the catch-up need not
            // look at them.
            subscriber.cursor.seq = seq - 1;
            self.catch_up(link);
            return;
        }
        let endpoint = Arc::clone(&subscriber.endpoint);
        let gap = gap(seq, seq, GapReason::Slow);
        let first = endpoint
            .outbox()
            .is_some_and(|outbox| outbox.close_with_last(gap, CloseReason::Slow));
        // Not left to the command that `retire` queues: events published before it would find the
        // endpoint again.
        self.forget(link);
        if first {
            self.hub.retire(endpoint, CloseReason::Slow);
        }
    }

    fn catch_up(&mut self, link: u64) {
        let Some(subscriber) = self.subscribers.get_mut(&link) else {
            return;
        };
        let cancelled = Arc::new(AtomicBool::new(false));
        subscriber.catching_up = Some(Arc::clone(&cancelled));
        let endpoint = Arc::clone(&subscriber.endpoint);
        let mut cursor = subscriber.cursor;
        // Usually the ring holds the few missing events, and no task is needed.
        match self.serve_from_ring(link, cursor, &cancelled) {
            ResumeOutcome::Attached | ResumeOutcome::Ended => return,
            ResumeOutcome::Paused(served) => cursor = served,
            ResumeOutcome::ReadLog => {}
        }
        let work = CatchUp::new(Arc::clone(&self.hub), endpoint, cursor, cancelled);
        self.hub.tasks.spawn_until_stop("bus catch-up", work.run());
    }

    /// Accepts a subscription or returns the reason for refusing it.
    fn admit(
        &mut self,
        subscription: &SubscribeRequest,
    ) -> Result<AcceptedSubscription, WireError> {
        let endpoint = &subscription.endpoint;
        let held = endpoint.filters.load_full();
        // The log may be ahead of the pump. Events in between are not new to this subscriber.
        let last = self.seq.max(self.hub.log.bounds().last);
        let since = subscription.since.as_ref();
        let start_point = since.map(|since| since.start_point(&*self.hub.log, last));
        if start_point.is_some() && !held.is_empty() {
            // Two positions on one connection would break the order of `seq` and `prev`.
            let message = "`since` may be given only while the connection has no subscription";
            return Err(WireError::new(ErrorCode::Conflict, message));
        }
        let cursor = match start_point {
            // Without `since` the client names no earlier event, so its first event has no `prev`.
            None => SubscriberCursor {
                seq: last,
                prev: None,
            },
            Some(StartPoint::After(seq) | StartPoint::OtherLog { to: seq, .. }) => {
                SubscriberCursor {
                    seq,
                    prev: Some(seq),
                }
            }
        };
        let mut filters = subscription.filters.clone();
        for filter in &mut filters {
            filter.after = cursor.seq;
        }
        let filters = match &subscription.reply {
            SubscribeReply::Registered(..) => held.with_registered(filters),
            SubscribeReply::Subscribed(_) | SubscribeReply::Nobody => {
                held.with_requested(filters)?
            }
        };
        if !filters.is_empty() {
            let new = || Subscriber {
                endpoint: Arc::clone(endpoint),
                cursor,
                check_starts_until: 0,
                catching_up: None,
            };
            // A subscriber that exists keeps its position; the start of each new filter holds back
            // older events.
            let subscriber = self.subscribers.entry(endpoint.id).or_insert_with(new);
            subscriber.check_starts_until = last;
        }
        self.set_filters(endpoint, filters);
        if endpoint.is_closed() {
            // It closed after it sent the request, and its `Forget` may have been handled already.
            self.forget(endpoint.id);
        }
        Ok(AcceptedSubscription { last, start_point })
    }

    /// Replaces the filters of an endpoint. Without filters it is no longer a subscriber.
    fn set_filters(&mut self, endpoint: &Endpoint, filters: EventFilters) {
        let held = endpoint.filters.load_full();
        self.index.remove(endpoint.id, &held);
        // Before the answer to the subscription, which the caller of this sends.
        self.hub.followers.replace(&held, &filters);
        if filters.is_empty() {
            let ended = self.subscribers.remove(&endpoint.id);
            if let Some(cancelled) = ended.and_then(|it| it.catching_up) {
                cancelled.store(true, Ordering::Relaxed);
            }
        } else {
            self.index.insert(endpoint.id, &filters);
        }
        endpoint.filters.store(Arc::new(filters));
    }

    fn complete(&self, pending: PendingRequest, answer: Result<bytes::Bytes, WireError>) {
        let answer = answer.map(Some).map_err(|error| encode_error(&error));
        if let Err(slow) = self.hub.complete(pending, answer) {
            self.hub.retire(slow, CloseReason::Slow);
        }
    }
}

impl Subscriber {
    /// Returns true if an event that the index found is due for this subscriber.
    fn is_due(&self, seq: u64, event: &NewEvent) -> bool {
        let begun = || {
            let filters = self.endpoint.filters.load();
            filters.match_logged(seq, &event.topic, event.session.as_ref())
        };
        // The catch-up delivers this event in its turn.
        self.catching_up.is_none()
            && seq > self.cursor.seq
            && (seq > self.check_starts_until || begun())
    }
}
