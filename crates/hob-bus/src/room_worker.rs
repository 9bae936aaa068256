//! Runs a room: takes requests from its outbox, hands each to its handler, sends the answer back
//! the way any service does. Events go to a link of their own, so that neither waits for the other.
//!
//! Invariant: a handler that panics fails its own request or event and nothing else.

use crate::delivery::{Delivery, Request};
use crate::hub::{Hub, encode_error};
use crate::log::BoxFuture;
use crate::party::Party;
use crate::room::{Call, Handler, Listener, Notice, Outcome};
use hob_wire::rooms::gateway::GapRange;
use hob_wire::{ErrorCode, WireError};
use std::any::Any;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use tokio::sync::Semaphore;
use tokio::task::coop::unconstrained;

pub(crate) struct RoomWorker {
    pub(crate) hub: Arc<Hub>,
    pub(crate) party: Arc<Party>,
    pub(crate) handlers: HashMap<&'static str, Handler>,
    /// One permit for each handler that may be at work.
    pub(crate) turns: Arc<Semaphore>,
}

impl RoomWorker {
    pub(crate) async fn run(self) {
        let worker = Arc::new(self);
        let mut next = Vec::with_capacity(1);
        while let Ok(turn) = Arc::clone(&worker.turns).acquire_owned().await {
            let Some(outbox) = worker.party.outbox() else {
                return;
            };
            if outbox.take(&mut next, 1).await.is_some() {
                return;
            }
            let Some(Delivery::Request(request)) = next.pop() else {
                continue;
            };
            let mut work = Box::pin(Arc::clone(&worker).serve(request));
            // Begun here, one after the other: what one peer sends in a row is taken up in that
            // order. Most answers that need no waiting are given at once.
            if begin(work.as_mut()).await.is_pending() {
                worker.hub.tasks.spawn("bus handler", async move {
                    work.await;
                    drop(turn);
                });
            }
        }
    }

    async fn serve(self: Arc<Self>, request: Request) {
        let outcome = match self.handlers.get(&*request.method.name) {
            Some(handler) => self.handle(handler, &request).await,
            None => Err(internal("the method is declared but has no handler")),
        };
        let answer = outcome.map_err(|error| encode_error(&error));
        self.hub
            .answered(&self.party, &request.id.to_string(), answer);
    }

    async fn handle(&self, handler: &Handler, request: &Request) -> Outcome {
        let caller = &request.caller;
        let call = Call {
            caller: caller.peer.name.clone(),
            principal: caller.peer.principal.clone(),
            surface: caller.peer.surface,
            scopes: caller.peer.scopes.clone(),
            trace: Arc::clone(&request.trace),
            connection: caller.id,
            abandoned: request.abandoned.clone(),
        };
        match caught(handler(call, request.params.clone())).await {
            Ok(outcome) => outcome,
            Err(panic) => {
                self.hub.tally.handler_panics.up();
                let method = &*request.method.name;
                tracing::error!(method, "a handler panicked: {}", message_of(&*panic));
                Err(internal("the handler failed; hob's log says more"))
            }
        }
    }
}

pub(crate) struct RoomListener {
    pub(crate) hub: Arc<Hub>,
    pub(crate) party: Arc<Party>,
    pub(crate) listeners: Vec<(String, Listener)>,
}

impl RoomListener {
    /// Hears one event after the other.
    pub(crate) async fn run(self) {
        let mut batch = Vec::new();
        while let Some(outbox) = self.party.outbox() {
            if outbox.take(&mut batch, usize::MAX).await.is_some() {
                return;
            }
            for delivery in batch.drain(..) {
                self.hear(delivery).await;
            }
        }
    }

    async fn hear(&self, delivery: Delivery) {
        let (event, place) = match delivery {
            Delivery::Event { event, place } => (event, place),
            Delivery::Gap(GapRange { from, to, .. }) => {
                let room = &*self.party.name;
                tracing::error!(
                    room,
                    from,
                    to,
                    "events left the log before the room heard them"
                );
                return;
            }
            Delivery::Request(_) | Delivery::Response { .. } => return,
        };
        for (pattern, listener) in &self.listeners {
            if !crate::filter::pattern_matches(pattern, &event.topic) {
                continue;
            }
            let notice = Notice {
                source: Arc::clone(&event.source),
                topic: Arc::clone(&event.topic),
                session: event.session.clone(),
                place,
                payload: event.payload.clone(),
            };
            if let Err(panic) = caught(listener(notice)).await {
                self.hub.tally.handler_panics.up();
                let topic = &*event.topic;
                tracing::error!(topic, "a listener panicked: {}", message_of(&*panic));
            }
        }
    }
}

/// Polls a future once, with a budget of its own: one that the others before it have used up
/// would make it wait, and be overtaken.
async fn begin<F: Future>(mut work: Pin<&mut F>) -> Poll<F::Output> {
    let once = std::future::poll_fn(|context| Poll::Ready(work.as_mut().poll(context)));
    unconstrained(once).await
}

/// Runs a future and catches its panic. What it leaves behind is dropped, never used again.
async fn caught<T>(mut work: BoxFuture<'_, T>) -> Result<T, Box<dyn Any + Send>> {
    std::future::poll_fn(|context| {
        match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
            Ok(Poll::Ready(done)) => Poll::Ready(Ok(done)),
            Ok(Poll::Pending) => Poll::Pending,
            Err(panic) => Poll::Ready(Err(panic)),
        }
    })
    .await
}

fn message_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&'static str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

fn internal(message: &str) -> WireError {
    WireError::new(ErrorCode::Internal, message)
}
