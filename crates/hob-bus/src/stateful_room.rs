//! A room whose handlers share a state. It is written as a table, one line for each method: the
//! wire type and its handler.

use crate::event_log::BoxFuture;
use crate::room::{RequestContext, Room};
use hob_wire::{EventTopic, Method, WireError};
use std::fmt;
use std::future::Future;
use std::sync::Arc;

/// An async function that answers the method `M` in a room with the state `S`.
///
/// It takes the state as `&S` or `&Arc<S>`, then the [`RequestContext`] if it needs that, then the
/// params. Any error that converts to a `WireError` will do. `Shape` names the parameters: without
/// it the implementations for the four shapes would overlap.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot answer `{M}` in a room with the state `{S}`",
    label = "not a handler of this method",
    note = "a handler is an async function of the state (`&S` or `&Arc<S>`), the `RequestContext` if it needs that, and the params of the method"
)]
pub trait BoundHandler<'s, S, M: Method, Shape>: Copy + Send + Sync + 'static {
    fn answer(
        self,
        state: &'s Arc<S>,
        call: RequestContext,
        params: M::Params,
    ) -> impl Future<Output = Result<M::Result, WireError>> + Send;
}

macro_rules! bound_handler {
    ($shape:ty, ($state:ident, $call:ident, $params:ident) => ($($value:ident: $argument:ty),*)) => {
        impl<'s, S, M, F, Fut, E> BoundHandler<'s, S, M, $shape> for F
        where
            S: Send + Sync + 'static,
            M: Method,
            F: Fn($($argument),*) -> Fut + Copy + Send + Sync + 'static,
            Fut: Future<Output = Result<M::Result, E>> + Send,
            E: Into<WireError>,
        {
            async fn answer(
                self,
                $state: &'s Arc<S>,
                $call: RequestContext,
                $params: M::Params,
            ) -> Result<M::Result, WireError> {
                self($($value),*).await.map_err(Into::into)
            }
        }
    };
}

bound_handler!((S, M::Params),
    (state, _call, params) => (state: &'s S, params: M::Params));
bound_handler!((Arc<S>, M::Params),
    (state, _call, params) => (state: &'s Arc<S>, params: M::Params));
bound_handler!((S, RequestContext, M::Params),
    (state, call, params) => (state: &'s S, call: RequestContext, params: M::Params));
bound_handler!((Arc<S>, RequestContext, M::Params),
    (state, call, params) => (state: &'s Arc<S>, call: RequestContext, params: M::Params));

type BeforeHook<S> = Arc<dyn Fn(Arc<S>) -> BoxFuture<'static, ()> + Send + Sync>;

/// A room with the state that its handlers share, before it is served.
pub struct StatefulRoom<S> {
    room: Room,
    state: Arc<S>,
    before: Option<BeforeHook<S>>,
}

impl Room {
    /// Gives the room a state for the handlers that follow.
    pub fn state<S>(self, state: Arc<S>) -> StatefulRoom<S> {
        StatefulRoom {
            room: self,
            state,
            before: None,
        }
    }
}

impl<S: Send + Sync + 'static> StatefulRoom<S> {
    /// Waits for `hook` before each call of the handlers that follow.
    #[must_use]
    pub fn before<F, Fut>(mut self, hook: F) -> Self
    where
        F: Fn(Arc<S>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.before = Some(Arc::new(move |state| Box::pin(hook(state))));
        self
    }

    /// Answers `M` with `handler`.
    #[must_use]
    pub fn method<M, Shape>(
        mut self,
        _: M,
        handler: impl for<'s> BoundHandler<'s, S, M, Shape>,
    ) -> Self
    where
        M: Method,
    {
        let (state, before) = (Arc::clone(&self.state), self.before.clone());
        self.room = self.room.method::<M, _, _>(move |call, params| {
            // The future outlives this call of the closure, so it holds references of its own.
            let (state, before) = (Arc::clone(&state), before.clone());
            async move {
                if let Some(before) = before {
                    before(Arc::clone(&state)).await;
                }
                handler.answer(&state, call, params).await
            }
        });
        self
    }

    /// Subscribes to `T`. The events of a room are handled one at a time, in order.
    #[must_use]
    pub fn on<T, F, Fut>(mut self, _: T, handler: F) -> Self
    where
        T: EventTopic,
        F: Fn(Arc<S>, T::Payload) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let state = Arc::clone(&self.state);
        let listener = move |_, payload| handler(Arc::clone(&state), payload);
        self.room = self.room.on::<T, _, _>(listener);
        self
    }
}

impl<S> From<StatefulRoom<S>> for Room {
    fn from(stateful: StatefulRoom<S>) -> Room {
        stateful.room
    }
}

impl<S> fmt::Debug for StatefulRoom<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.room.fmt(f)
    }
}
