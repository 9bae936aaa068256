//! An endpoint on the bus: a connection, a room or an in-process caller. All are routed to in the
//! same way; they differ only in where their deliveries wait.

use crate::delivery::{Delivery, EncodedAnswer};
use crate::event_filter::EventFilters;
use crate::outbox::{Outbox, PushError};
use crate::peer::{CloseReason, PeerIdentity};
use crate::pending_requests::PendingRequests;
use crate::response_waiters::ResponseWaiters;
use crate::route_table::ServiceOffer;
use arc_swap::{ArcSwap, ArcSwapOption};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio_util::sync::CancellationToken;

#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) id: u64,
    pub(crate) name: Arc<str>,
    pub(crate) peer: PeerIdentity,
    pub(crate) origin: EndpointOrigin,
    pub(crate) mailbox: Mailbox,
    /// Requests forwarded to this endpoint.
    pub(crate) pending: PendingRequests,
    /// Requests made by this endpoint and not yet answered.
    unanswered: AtomicUsize,
    /// Cancelled when this endpoint is closed.
    pub(crate) closed_token: CancellationToken,
    /// The offer it registered, if it is a service. Written by the registry only.
    pub(crate) offer: ArcSwapOption<ServiceOffer>,
    /// Its subscriptions. Written by the pump only.
    pub(crate) filters: ArcSwap<EventFilters>,
    pub(crate) connected_at: u64,
}

/// The side an endpoint is on: inside the daemon's process or outside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndpointOrigin {
    Internal,
    External,
}

/// The place where deliveries to an endpoint wait.
#[derive(Debug)]
pub(crate) enum Mailbox {
    /// A queue, for a connection or a room.
    Outbox(Outbox),
    /// One slot for each call, for a caller: it receives only answers.
    Waiters(ResponseWaiters),
}

impl Endpoint {
    pub(crate) fn new(
        id: u64,
        peer: PeerIdentity,
        origin: EndpointOrigin,
        mailbox: Mailbox,
        now_ms: u64,
    ) -> Arc<Self> {
        Arc::new(Endpoint {
            id,
            name: Arc::from(peer.name.as_str()),
            peer,
            origin,
            mailbox,
            pending: PendingRequests::default(),
            unanswered: AtomicUsize::new(0),
            closed_token: CancellationToken::new(),
            offer: ArcSwapOption::empty(),
            filters: ArcSwap::default(),
            connected_at: now_ms,
        })
    }

    /// The outbox; `None` for a caller, which can neither serve nor subscribe.
    pub(crate) fn outbox(&self) -> Option<&Outbox> {
        match &self.mailbox {
            Mailbox::Outbox(outbox) => Some(outbox),
            Mailbox::Waiters(_) => None,
        }
    }

    pub(crate) fn push(&self, delivery: Delivery) -> Result<(), PushError> {
        match &self.mailbox {
            Mailbox::Outbox(outbox) => outbox.push(delivery),
            Mailbox::Waiters(waiters) => match delivery {
                Delivery::Response { id, answer } => waiters.answer(&id, answer),
                // A caller serves nothing and subscribes to nothing, so only answers are sent to
                // it.
                _ => Err(PushError::Closed),
            },
        }
    }

    pub(crate) fn push_answer(&self, id: Box<str>, answer: EncodedAnswer) -> Result<(), PushError> {
        self.push(Delivery::Response { id, answer })
    }

    /// Closes the mailbox. Returns false if it was closed before.
    pub(crate) fn close(&self, reason: CloseReason) -> bool {
        let first = match &self.mailbox {
            Mailbox::Outbox(outbox) => outbox.close(reason),
            Mailbox::Waiters(waiters) => waiters.close(reason),
        };
        // After the mailbox: a handler that stops because of the token finds it closed already.
        self.closed_token.cancel();
        first
    }

    pub(crate) fn is_closed(&self) -> bool {
        match &self.mailbox {
            Mailbox::Outbox(outbox) => outbox.is_closed(),
            Mailbox::Waiters(waiters) => waiters.closed().is_some(),
        }
    }

    /// Counts a request by this endpoint. Returns false if `max` are unanswered already.
    pub(crate) fn begin_request(&self, max: usize) -> bool {
        let before = self.unanswered.fetch_add(1, Ordering::Relaxed);
        // Add first, then undo: two concurrent requests can never both take the last place.
        if before >= max {
            self.end_request();
        }
        before < max
    }

    pub(crate) fn end_request(&self) {
        self.unanswered.fetch_sub(1, Ordering::Relaxed);
    }
}
