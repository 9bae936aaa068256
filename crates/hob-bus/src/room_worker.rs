//! Runs a room: takes requests from its outbox, calls their handlers and returns the answers.
//! Events use a separate endpoint, so that requests and events do not wait for each other.
//!
//! Invariant: a handler that panics fails its own request or event and nothing else.

use crate::delivery::{Delivery, ForwardedRequest};
use crate::endpoint::Endpoint;
use crate::event_log::BoxFuture;
use crate::hub::{Hub, encode_error};
use crate::room::{EventListener, HandlerResult, ReceivedEvent, RequestContext, RoomHandler};
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
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) handlers: HashMap<&'static str, RoomHandler>,
    /// One permit for each handler that may run.
    pub(crate) permits: Arc<Semaphore>,
}

impl RoomWorker {
    pub(crate) async fn run(self) {
        let worker = Arc::new(self);
        let mut next = Vec::with_capacity(1);
        // The permit comes first: while every handler is busy, requests stay in the outbox, whose
        // bound tells callers that the service is overloaded.
        while let Ok(permit) = Arc::clone(&worker.permits).acquire_owned().await {
            let Some(outbox) = worker.endpoint.outbox() else {
                return;
            };
            // One at a time: a request that is taken early would wait outside the outbox's bound.
            if outbox.take(&mut next, 1).await.is_some() {
                return;
            }
            // This endpoint neither subscribes nor calls, so nothing but requests arrives.
            let Some(Delivery::Request(request)) = next.pop() else {
                continue;
            };
            let mut work = Box::pin(Arc::clone(&worker).serve(request));
            // Polled here first, so that requests of one peer start in the order they were sent.
            // A handler that does not wait finishes here, without the cost of a task.
            if poll_once(work.as_mut()).await.is_pending() {
                worker.hub.tasks.spawn("bus handler", async move {
                    work.await;
                    drop(permit);
                });
            }
        }
    }

    async fn serve(self: Arc<Self>, request: ForwardedRequest) {
        let outcome = match self.handlers.get(&*request.method.name) {
            Some(handler) => self.handle(handler, &request).await,
            None => Err(internal_error("the method is declared but has no handler")),
        };
        let answer = outcome.map_err(|error| encode_error(&error));
        // Matched by its id like an answer from outside: a drain may have taken the request out and
        // failed it.
        self.hub
            .handle_answer(&self.endpoint, &request.id.to_string(), answer);
    }

    async fn handle(&self, handler: &RoomHandler, request: &ForwardedRequest) -> HandlerResult {
        let caller = &request.caller;
        let call = RequestContext {
            caller: caller.peer.name.clone(),
            principal: caller.peer.principal.clone(),
            surface: caller.peer.surface,
            scopes: caller.peer.scopes.clone(),
            trace: Arc::clone(&request.trace),
            connection: caller.id,
            abandoned: request.abandoned.clone(),
        };
        match catch_panic(handler(call, request.params.clone())).await {
            Ok(outcome) => outcome,
            Err(panic) => {
                self.hub.counters.handler_panics.increment();
                let method = &*request.method.name;
                tracing::error!(method, "a handler panicked: {}", message_of(&*panic));
                Err(internal_error("the handler failed; see hob's log"))
            }
        }
    }
}

pub(crate) struct RoomListener {
    pub(crate) hub: Arc<Hub>,
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) listeners: Vec<(String, EventListener)>,
}

impl RoomListener {
    /// Handles one event after the other until the endpoint closes.
    pub(crate) async fn run(self) {
        let mut batch = Vec::new();
        while let Some(outbox) = self.endpoint.outbox() {
            if outbox.take(&mut batch, usize::MAX).await.is_some() {
                return;
            }
            for delivery in batch.drain(..) {
                self.handle_delivery(delivery).await;
            }
        }
    }

    async fn handle_delivery(&self, delivery: Delivery) {
        let (event, place) = match delivery {
            Delivery::Event { event, place, .. } => (event, place),
            Delivery::Gap(GapRange { from, to, .. }) => {
                let room = &*self.endpoint.name;
                tracing::error!(
                    room,
                    from,
                    to,
                    "events were deleted from the log before the room received them"
                );
                return;
            }
            // This endpoint is in no route and makes no calls.
            Delivery::Request(_) | Delivery::Response { .. } => return,
        };
        for (pattern, listener) in &self.listeners {
            if !crate::event_filter::pattern_matches(pattern, &event.topic) {
                continue;
            }
            let notice = ReceivedEvent {
                source: Arc::clone(&event.source),
                topic: Arc::clone(&event.topic),
                session: event.session.clone(),
                place,
                payload: event.payload.clone(),
            };
            if let Err(panic) = catch_panic(listener(notice)).await {
                self.hub.counters.handler_panics.increment();
                let topic = &*event.topic;
                tracing::error!(topic, "a listener panicked: {}", message_of(&*panic));
            }
        }
    }
}

/// Polls a future once.
async fn poll_once<F: Future>(mut work: Pin<&mut F>) -> Poll<F::Output> {
    // Unconstrained: with tokio's cooperative budget used up by earlier requests, this one would
    // return pending without having started, and later requests could overtake it.
    let once = std::future::poll_fn(|context| Poll::Ready(work.as_mut().poll(context)));
    unconstrained(once).await
}

/// Runs a future and catches a panic in it.
async fn catch_panic<T>(mut work: BoxFuture<'_, T>) -> Result<T, Box<dyn Any + Send>> {
    std::future::poll_fn(|context| {
        // Unwind safe: after a panic the future is never polled again, only dropped.
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

fn internal_error(message: &str) -> WireError {
    WireError::new(ErrorCode::Internal, message)
}
