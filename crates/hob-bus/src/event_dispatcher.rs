//! The pump's state: who is subscribed to what, where each stands in the order of events, and
//! what to do when an event does not fit.
//!
//! Invariants: each logged event goes to each matching subscriber once; its `prev` is the one
//! matched before it on that link; the answer to a subscription precedes its first event.

use crate::catch_up::{CatchUp, Cursor, Resume, Resumed};
use crate::delivery::{BODY_BYTES_MAX, Delivery, gap};
use crate::event::{LoggedEvent, NewEvent};
use crate::filter::{Audience, Filters};
use crate::hub::{Hub, encode_error};
use crate::index::Index;
use crate::outbox::{Passed, Refused};
use crate::party::{Home, Party};
use crate::peer::Closed;
use crate::pending::Waiting;
use crate::pump::{Reply, Subscription};
use crate::ring::Ring;
use crate::room;
use crate::since::Begins;
use hob_wire::frame::Place;
use hob_wire::rooms::gateway::{GapReason, Subscribed, Unsubscribed};
use hob_wire::{ErrorCode, WireError};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Events of the ring looked at before other work of the pump has its turn.
const RESUME_EVENTS_MAX: usize = 512;

pub(crate) struct Board {
    hub: Arc<Hub>,
    subscribers: HashMap<u64, Subscriber>,
    index: Index,
    ring: Ring,
    /// The last logged event.
    seq: u64,
    /// Volatile events since then.
    sub: u64,
    /// Reused by every event.
    found: Vec<u64>,
}

struct Subscriber {
    party: Arc<Party>,
    /// How far it was served: nothing at or before this is due.
    cursor: Cursor,
    /// Up to here, when each of its subscriptions began must be looked at.
    settled: u64,
    /// Set while a catch-up serves it; raising the flag ends that.
    catching_up: Option<Arc<AtomicBool>>,
}

/// A subscription that was taken up.
struct Admitted {
    /// The last event when it began.
    last: u64,
    /// Where it goes on; none when it begins with what is new.
    begins: Option<Begins>,
}

impl Board {
    /// A board for the events after `seq`.
    pub(crate) fn new(hub: Arc<Hub>, seq: u64) -> Self {
        Board {
            subscribers: HashMap::new(),
            index: Index::default(),
            ring: Ring::after(seq),
            seq,
            sub: 0,
            found: Vec::new(),
            hub,
        }
    }

    pub(crate) fn subscribe(&mut self, subscription: Subscription) {
        let party = Arc::clone(&subscription.party);
        let admitted = self.admit(&subscription);
        let begins = admitted.as_ref().ok().and_then(|admitted| admitted.begins);
        let answer = match (&subscription.reply, admitted) {
            (_, Err(error)) => Err(error),
            (Reply::Registered(_, table), Ok(_)) => Ok(table.clone()),
            (_, Ok(Admitted { last, .. })) => room::encode(&Subscribed {
                seq: last,
                log_id: Some(self.hub.log.id().to_string()),
            }),
        };
        match subscription.reply {
            Reply::Subscribed(waiting) | Reply::Registered(waiting, _) => {
                self.conclude(waiting, answer);
            }
            Reply::Nobody => {}
        }
        match begins {
            Some(Begins::After(since)) if since < self.seq => self.catch_up(party.id),
            Some(Begins::InAnotherLog { from, to }) => self.tell_other_log(&party, from, to),
            _ => {}
        }
    }

    /// Tells a subscriber that what it knows comes from another log; what is new follows.
    fn tell_other_log(&mut self, party: &Arc<Party>, from: u64, to: u64) {
        let told = || gap(from, to, GapReason::OtherLog);
        if party.push(told()) == Err(Refused::Full)
            && let Some(outbox) = party.outbox()
            && outbox.close_after(told(), Closed::Slow)
        {
            self.forget(party.id);
            self.hub.retire(Arc::clone(party), Closed::Slow);
        }
    }

    pub(crate) fn unsubscribe(&mut self, patterns: Option<&[String]>, waiting: Waiting) {
        let party = Arc::clone(&waiting.caller);
        let left = party.filters.load().without(patterns);
        let remaining = left.patterns();
        self.set_filters(&party, left);
        self.conclude(waiting, room::encode(&Unsubscribed { remaining }));
    }

    pub(crate) fn forget(&mut self, link: u64) {
        if let Some(subscriber) = self.subscribers.get(&link) {
            let party = Arc::clone(&subscriber.party);
            self.set_filters(&party, Filters::default());
        }
    }

    /// Forgets every link that is closed.
    pub(crate) fn reap(&mut self) {
        let parties = self.subscribers.values().map(|it| &it.party);
        let closed = parties.filter(|party| party.is_closed()).map(|it| it.id);
        for link in closed.collect::<Vec<_>>() {
            self.forget(link);
        }
    }

    /// The last logged event that was shown.
    pub(crate) fn seq(&self) -> u64 {
        self.seq
    }

    /// Takes committed events, one by one in their order.
    pub(crate) fn logged(&mut self, event: LoggedEvent) {
        let seq = event.seq;
        if seq <= self.seq {
            // Committed before the bus began; the log has it.
            return;
        }
        self.seq = seq;
        self.sub = 0;
        self.hub.tally.seq.set(seq);
        self.hub.tally.events.up();
        let event = Arc::new(event.into_new());
        self.ring.push(seq, Arc::clone(&event));
        for link in self.fan_out(seq, &event) {
            self.fell_behind(link, seq);
        }
    }

    pub(crate) fn volatile(&mut self, event: NewEvent) {
        self.sub += 1;
        self.hub.tally.events.up();
        let place = Place::Volatile {
            seq: self.seq,
            sub: self.sub,
        };
        let event = Arc::new(event);
        if too_large(&event) {
            self.hub.tally.coalesced.up();
            return;
        }
        let routes = self.hub.registry.routes();
        let audience = Audience::of(&event.topic, &routes);
        let mut found = std::mem::take(&mut self.found);
        self.index
            .find(&event.topic, event.session.as_ref(), &mut found);
        for link in &found {
            if let Some(subscriber) = self.subscribers.get(link)
                && subscriber.catching_up.is_none()
                && audience.admits(&subscriber.party.peer.scopes)
                && let Some(outbox) = subscriber.party.outbox()
                && outbox.push_volatile(&event, place) == Ok(Passed::Coalesced)
            {
                self.hub.tally.coalesced.up();
            }
        }
        self.found = found;
    }

    /// Serves a catch-up from the ring and, once it has all, attaches its link.
    pub(crate) fn resume(&mut self, resume: Resume) {
        let resumed = self.serve_from_ring(resume.link, resume.cursor, &resume.cancelled);
        // A catch-up that is gone was stopped with the bus.
        let _ = resume.reply.send(resumed);
    }

    fn serve_from_ring(
        &mut self,
        link: u64,
        mut cursor: Cursor,
        cancelled: &Arc<AtomicBool>,
    ) -> Resumed {
        let Some(subscriber) = self.subscribers.get_mut(&link) else {
            return Resumed::Ended;
        };
        let current = subscriber.catching_up.as_ref();
        if !current.is_some_and(|current| Arc::ptr_eq(current, cancelled)) {
            return Resumed::Ended;
        }
        let Some(outbox) = subscriber.party.outbox() else {
            return Resumed::Ended;
        };
        if cursor.seq < self.seq {
            let Some(events) = self.ring.since(cursor.seq) else {
                return Resumed::ReadLog;
            };
            let routes = self.hub.registry.routes();
            for (seq, event) in events.take(RESUME_EVENTS_MAX) {
                if cursor.wants(*seq, event, &subscriber.party, &routes) {
                    let delivery = logged_delivery(event, *seq, cursor.prev);
                    match outbox.push_catching_up(delivery, cancelled) {
                        Ok(()) => cursor.prev = Some(*seq),
                        Err((Refused::Full, _)) => return Resumed::Paused(cursor),
                        Err((Refused::Closed, _)) => return Resumed::Ended,
                    }
                }
                cursor.seq = *seq;
            }
            if cursor.seq < self.seq {
                return Resumed::Paused(cursor);
            }
        }
        subscriber.cursor = cursor;
        subscriber.catching_up = None;
        Resumed::Attached
    }

    /// Delivers a logged event; answers the links it did not fit.
    fn fan_out(&mut self, seq: u64, event: &Arc<NewEvent>) -> Vec<u64> {
        let routes = self.hub.registry.routes();
        let audience = Audience::of(&event.topic, &routes);
        let mut behind = Vec::new();
        let mut found = std::mem::take(&mut self.found);
        self.index
            .find(&event.topic, event.session.as_ref(), &mut found);
        for link in &found {
            let Some(subscriber) = self.subscribers.get_mut(link) else {
                continue;
            };
            if !subscriber.awaits(seq, event) || !audience.admits(&subscriber.party.peer.scopes) {
                continue;
            }
            let delivery = logged_delivery(event, seq, subscriber.cursor.prev);
            match subscriber.party.push(delivery) {
                Ok(()) => {
                    subscriber.cursor = Cursor {
                        seq,
                        prev: Some(seq),
                    };
                }
                Err(Refused::Full) => behind.push(*link),
                // Its end is on the way to the pump.
                Err(Refused::Closed) => {}
            }
        }
        self.found = found;
        behind
    }

    /// What happens to a subscriber that event `seq` did not fit: a connection is told so and
    /// closed; a room, which cannot come back by itself, goes on from the log at its own pace.
    fn fell_behind(&mut self, link: u64, seq: u64) {
        let Some(subscriber) = self.subscribers.get_mut(&link) else {
            return;
        };
        if subscriber.party.home == Home::Inside {
            subscriber.cursor.seq = seq - 1;
            self.catch_up(link);
            return;
        }
        let party = Arc::clone(&subscriber.party);
        let gap = gap(seq, seq, GapReason::Slow);
        let first = party
            .outbox()
            .is_some_and(|outbox| outbox.close_after(gap, Closed::Slow));
        self.forget(link);
        if first {
            self.hub.retire(party, Closed::Slow);
        }
    }

    fn catch_up(&mut self, link: u64) {
        let Some(subscriber) = self.subscribers.get_mut(&link) else {
            return;
        };
        let cancelled = Arc::new(AtomicBool::new(false));
        subscriber.catching_up = Some(Arc::clone(&cancelled));
        let party = Arc::clone(&subscriber.party);
        let mut cursor = subscriber.cursor;
        // Most often the little that is missing is at hand.
        match self.serve_from_ring(link, cursor, &cancelled) {
            Resumed::Attached | Resumed::Ended => return,
            Resumed::Paused(served) => cursor = served,
            Resumed::ReadLog => {}
        }
        let work = CatchUp::new(Arc::clone(&self.hub), party, cursor, cancelled);
        self.hub.tasks.spawn_until_stop("bus catch-up", work.run());
    }

    /// Takes up a subscription, or says why not.
    fn admit(&mut self, subscription: &Subscription) -> Result<Admitted, WireError> {
        let party = &subscription.party;
        let held = party.filters.load_full();
        // The log may be a little ahead of what was published.
        let last = self.seq.max(self.hub.log.bounds().last);
        let since = subscription.since.as_ref();
        let begins = since.map(|since| since.begins(&*self.hub.log, last));
        if begins.is_some() && !held.is_empty() {
            let message = "`since` may be given only while the connection has no subscription";
            return Err(WireError::new(ErrorCode::Conflict, message));
        }
        let cursor = match begins {
            None => Cursor {
                seq: last,
                prev: None,
            },
            Some(Begins::After(seq) | Begins::InAnotherLog { to: seq, .. }) => Cursor {
                seq,
                prev: Some(seq),
            },
        };
        let mut filters = subscription.filters.clone();
        for filter in &mut filters {
            filter.after = cursor.seq;
        }
        let filters = match &subscription.reply {
            Reply::Registered(..) => held.with_registered(filters),
            Reply::Subscribed(_) | Reply::Nobody => held.with_requested(filters)?,
        };
        if !filters.is_empty() {
            let new = || Subscriber {
                party: Arc::clone(party),
                cursor,
                settled: 0,
                catching_up: None,
            };
            let subscriber = self.subscribers.entry(party.id).or_insert_with(new);
            subscriber.settled = last;
        }
        self.set_filters(party, filters);
        if party.is_closed() {
            // It closed after it asked; its end may have passed the pump already.
            self.forget(party.id);
        }
        Ok(Admitted { last, begins })
    }

    /// Changes what a link is subscribed to; without anything left it is no subscriber.
    fn set_filters(&mut self, party: &Party, filters: Filters) {
        let held = party.filters.load_full();
        self.index.remove(party.id, &held);
        if filters.is_empty() {
            let ended = self.subscribers.remove(&party.id);
            if let Some(cancelled) = ended.and_then(|it| it.catching_up) {
                cancelled.store(true, Ordering::Relaxed);
            }
        } else {
            self.index.insert(party.id, &filters);
        }
        party.filters.store(Arc::new(filters));
    }

    fn conclude(&self, waiting: Waiting, answer: Result<bytes::Bytes, WireError>) {
        let answer = answer.map(Some).map_err(|error| encode_error(&error));
        if let Err(slow) = self.hub.conclude(waiting, answer) {
            self.hub.retire(slow, Closed::Slow);
        }
    }
}

impl Subscriber {
    /// Whether this event is due, given that the index found it.
    fn awaits(&self, seq: u64, event: &NewEvent) -> bool {
        let begun = || {
            let filters = self.party.filters.load();
            filters.match_logged(seq, &event.topic, event.session.as_ref())
        };
        self.catching_up.is_none() && seq > self.cursor.seq && (seq > self.settled || begun())
    }
}

/// A logged event, or the gap it leaves when no frame can hold it.
pub(crate) fn logged_delivery(event: &Arc<NewEvent>, seq: u64, prev: Option<u64>) -> Delivery {
    if too_large(event) {
        return gap(seq, seq, GapReason::TooLarge);
    }
    Delivery::Event {
        event: Arc::clone(event),
        place: Place::Logged { seq, prev },
    }
}

fn too_large(event: &NewEvent) -> bool {
    event.payload.as_ref().map_or(0, bytes::Bytes::len) > BODY_BYTES_MAX
}
