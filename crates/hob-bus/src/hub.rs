//! What every part of the bus shares, and the one way a party leaves it.
//!
//! Invariant: a party that is closed has no route, no waiting caller and no subscription; each
//! caller that waited for it has been told.

use crate::delivery::Answer;
use crate::event::NewEvent;
use crate::limits::BusLimits;
use crate::log::EventLog;
use crate::outbox::{Outbox, Refused};
use crate::parties::Parties;
use crate::party::{Home, Mailbox, Party};
use crate::peer::{Closed, Peer};
use crate::pending::Waiting;
use crate::pump::PumpHandle;
use crate::registry::Registry;
use crate::room;
use crate::tally::Tally;
use crate::trace::Traces;
use crate::waiters::Waiters;
use bytes::Bytes;
use hob_kit::clock::Clock;
use hob_kit::tasks::Tasks;
use hob_wire::rooms::gateway::{ServiceDisconnected, ServiceNamed};
use hob_wire::{ErrorCode, Topic, WireError};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use tokio::sync::{Notify, Semaphore};

pub(crate) struct Hub {
    pub(crate) log: Arc<dyn EventLog>,
    pub(crate) clock: Clock,
    pub(crate) tasks: Tasks,
    pub(crate) limits: BusLimits,
    pub(crate) version: String,
    pub(crate) registry: Registry,
    pub(crate) tally: Tally,
    pub(crate) traces: Traces,
    pub(crate) pump: PumpHandle,
    /// Tells the sweeper that something may come to wait.
    pub(crate) waiting: Notify,
    /// Refuses requests and connections from outside.
    pub(crate) draining: AtomicBool,
    /// Outlets whose connection has not taken all its frames.
    pub(crate) outlets: AtomicUsize,
    pub(crate) started_ms: u64,
    pub(crate) last_id: AtomicU64,
    pub(crate) parties: Parties,
    /// Bounds the catch-ups that read the log at once.
    pub(crate) log_readers: Semaphore,
}

impl Hub {
    /// A party with an outbox that is not in the list of connections: a room.
    pub(crate) fn room_party(&self, service: &str) -> Arc<Party> {
        let outbox = Outbox::new(self.limits.outbox_frames_max, self.limits.outbox_bytes_max);
        self.party(house_peer(service), Home::Inside, Mailbox::Outbox(outbox))
    }

    pub(crate) fn connect(&self, peer: Peer) -> Result<Arc<Party>, WireError> {
        let outbox = Outbox::new(self.limits.outbox_frames_max, self.limits.outbox_bytes_max);
        let party = self.party(peer, Home::Outside, Mailbox::Outbox(outbox));
        self.join(party)
    }

    pub(crate) fn caller_as(&self, peer: Peer) -> Result<Arc<Party>, WireError> {
        let mailbox = Mailbox::Waiters(Waiters::default());
        let party = self.party(peer, Home::Outside, mailbox);
        self.join(party)
    }

    pub(crate) fn caller(&self, name: &str) -> Arc<Party> {
        let mailbox = Mailbox::Waiters(Waiters::default());
        let party = self.party(house_peer(name), Home::Inside, mailbox);
        self.parties.insert(&party, usize::MAX);
        party
    }

    /// Closes a party, and those that are too slow to hear of it.
    pub(crate) fn close(&self, party: &Arc<Party>, reason: Closed) {
        if party.close(reason) {
            self.retire(Arc::clone(party), reason);
        }
    }

    /// Takes a party that was just closed out of everything. A list instead of recursion: failing
    /// its callers may find some of them too slow.
    pub(crate) fn retire(&self, party: Arc<Party>, reason: Closed) {
        let mut closing = vec![(party, reason)];
        while let Some((party, reason)) = closing.pop() {
            if reason == Closed::Slow {
                self.tally.slow_closed.up();
            }
            self.parties.remove(party.id);
            if let Some(offer) = self.registry.withdraw(&party) {
                self.announce::<ServiceDisconnected>(&offer.service);
            }
            for waiting in party.pending.close() {
                let error = gone(&waiting.method.service);
                if let Err(slow) = self.settle(waiting, Err(encode_error(&error))) {
                    closing.push((slow, Closed::Slow));
                }
            }
            self.pump.forget(party.id);
        }
    }

    /// Gives a caller its answer. Answers the caller itself if it was too slow and is now closed,
    /// but not yet retired.
    pub(crate) fn settle(&self, waiting: Waiting, answer: Answer) -> Result<(), Arc<Party>> {
        self.tally.pending.down();
        waiting.caller.end_request();
        self.conclude(waiting, answer)
    }

    /// As [`Hub::settle`], for a request that was not forwarded.
    pub(crate) fn conclude(&self, waiting: Waiting, answer: Answer) -> Result<(), Arc<Party>> {
        self.record(&waiting, &answer);
        push_answer(&waiting.caller, waiting.caller_id, answer)
    }

    /// Sends an answer to a party; an answer that does not fit closes it.
    pub(crate) fn answer(&self, party: &Arc<Party>, id: &str, answer: Answer) {
        if let Err(slow) = push_answer(party, Box::from(id), answer) {
            self.retire(slow, Closed::Slow);
        }
    }

    pub(crate) fn answer_error(&self, party: &Arc<Party>, id: &str, error: &WireError) {
        self.tally.errors.up();
        self.answer(party, id, Err(encode_error(error)));
    }

    /// Says that a service came or went.
    pub(crate) fn announce<T>(&self, service: &str)
    where
        T: Topic<Payload = ServiceNamed>,
    {
        let payload = ServiceNamed {
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

    /// Hands a volatile event to the pump; one that finds it too busy is left out and counted.
    pub(crate) fn emit_volatile(&self, event: NewEvent) {
        if !self.pump.emit(event) {
            self.tally.coalesced.up();
        }
    }

    fn party(&self, peer: Peer, home: Home, mailbox: Mailbox) -> Arc<Party> {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        Party::new(id, peer, home, mailbox, self.clock.wall_ms())
    }

    fn join(&self, party: Arc<Party>) -> Result<Arc<Party>, WireError> {
        if self.draining.load(Ordering::Relaxed) {
            return Err(stopping());
        }
        if self.parties.insert(&party, self.limits.connections_max) {
            return Ok(party);
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

/// Answers the party itself if this answer did not fit and closed it.
fn push_answer(party: &Arc<Party>, id: Box<str>, answer: Answer) -> Result<(), Arc<Party>> {
    match party.push_answer(id, answer) {
        Err(Refused::Full) if party.close(Closed::Slow) => Err(Arc::clone(party)),
        // A caller that left needs no answer.
        Ok(()) | Err(Refused::Full | Refused::Closed) => Ok(()),
    }
}

pub(crate) fn encode_error(error: &WireError) -> Bytes {
    // An error of strings and numbers always encodes; if not, silence would be worse.
    let bare = || br#"{"code":"INTERNAL","message":"an error could not be written"}"#.to_vec();
    Bytes::from(serde_json::to_vec(error).unwrap_or_else(|_| bare()))
}

pub(crate) fn gone(service: &str) -> WireError {
    let message = format!("the service '{service}' went away before it answered");
    WireError::new(ErrorCode::ServiceUnavailable, message).retry_after(1_000)
}

pub(crate) fn stopping() -> WireError {
    let message = "hob is stopping; try again when it is back";
    WireError::new(ErrorCode::ServiceUnavailable, message).retry_after(1_000)
}

fn house_peer(name: &str) -> Peer {
    Peer {
        name: name.to_owned(),
        surface: "house",
        principal: "house".to_owned(),
        scopes: hob_wire::Scopes::owner(),
    }
}

#[cfg(test)]
#[path = "hub_tests.rs"]
mod tests;
