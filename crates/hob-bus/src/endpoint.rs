//! A party on the bus: a connection, a room, or a caller inside the house. All of them are routed
//! to in the same way; they differ only in where their deliveries wait.

use crate::delivery::{Answer, Delivery};
use crate::filter::Filters;
use crate::outbox::{Outbox, Refused};
use crate::peer::{Closed, Peer};
use crate::pending::Pending;
use crate::routes::Offer;
use crate::waiters::Waiters;
use arc_swap::{ArcSwap, ArcSwapOption};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio_util::sync::CancellationToken;

#[derive(Debug)]
pub(crate) struct Party {
    pub(crate) id: u64,
    pub(crate) name: Arc<str>,
    pub(crate) peer: Peer,
    pub(crate) home: Home,
    pub(crate) mailbox: Mailbox,
    /// Requests given to this party.
    pub(crate) pending: Pending,
    /// Requests made by this party and not yet answered.
    unanswered: AtomicUsize,
    /// Cancelled when this party is closed.
    pub(crate) gone: CancellationToken,
    /// What it registered, if it is a service. Written by the registry only.
    pub(crate) offer: ArcSwapOption<Offer>,
    /// What it subscribed to. Written by the pump only.
    pub(crate) filters: ArcSwap<Filters>,
    pub(crate) connected_at: u64,
}

/// Which side of the wall a party is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    Inside,
    Outside,
}

/// Where a party's deliveries wait.
#[derive(Debug)]
pub(crate) enum Mailbox {
    /// In order, for a connection or a room.
    Outbox(Outbox),
    /// Each by itself, for a caller: it gets nothing but answers.
    Waiters(Waiters),
}

impl Party {
    pub(crate) fn new(id: u64, peer: Peer, home: Home, mailbox: Mailbox, now_ms: u64) -> Arc<Self> {
        Arc::new(Party {
            id,
            name: Arc::from(peer.name.as_str()),
            peer,
            home,
            mailbox,
            pending: Pending::default(),
            unanswered: AtomicUsize::new(0),
            gone: CancellationToken::new(),
            offer: ArcSwapOption::empty(),
            filters: ArcSwap::default(),
            connected_at: now_ms,
        })
    }

    /// The outbox; none for a caller, which can neither serve nor subscribe.
    pub(crate) fn outbox(&self) -> Option<&Outbox> {
        match &self.mailbox {
            Mailbox::Outbox(outbox) => Some(outbox),
            Mailbox::Waiters(_) => None,
        }
    }

    pub(crate) fn push(&self, delivery: Delivery) -> Result<(), Refused> {
        match &self.mailbox {
            Mailbox::Outbox(outbox) => outbox.push(delivery),
            Mailbox::Waiters(waiters) => match delivery {
                Delivery::Response { id, answer } => waiters.answer(&id, answer),
                _ => Err(Refused::Closed),
            },
        }
    }

    pub(crate) fn push_answer(&self, id: Box<str>, answer: Answer) -> Result<(), Refused> {
        self.push(Delivery::Response { id, answer })
    }

    /// Accepts nothing more; false if it was closed before.
    pub(crate) fn close(&self, reason: Closed) -> bool {
        let first = match &self.mailbox {
            Mailbox::Outbox(outbox) => outbox.close(reason),
            Mailbox::Waiters(waiters) => waiters.close(reason),
        };
        self.gone.cancel();
        first
    }

    pub(crate) fn is_closed(&self) -> bool {
        match &self.mailbox {
            Mailbox::Outbox(outbox) => outbox.is_closed(),
            Mailbox::Waiters(waiters) => waiters.closed().is_some(),
        }
    }

    /// Counts a request this party makes; false when it has `max` unanswered already.
    pub(crate) fn begin_request(&self, max: usize) -> bool {
        let before = self.unanswered.fetch_add(1, Ordering::Relaxed);
        if before >= max {
            self.end_request();
        }
        before < max
    }

    pub(crate) fn end_request(&self) {
        self.unanswered.fetch_sub(1, Ordering::Relaxed);
    }
}
