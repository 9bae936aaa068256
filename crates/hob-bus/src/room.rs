//! A room: a service inside the house, declared by its methods, events and subscriptions. The
//! bus carries the same bytes to it as to a service on another machine; decoding them is here.

use crate::event::SessionTag;
use crate::log::BoxFuture;
use bytes::Bytes;
use hob_wire::frame::Place;
use hob_wire::{ErrorCode, EventSpec, Method, MethodSpec, Scopes, Topic, WireError};
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Handlers of one room at work at once, unless told otherwise.
const CONCURRENCY: usize = 64;

/// What a handler knows of the request beside its params.
#[derive(Clone, Debug)]
pub struct Call {
    pub caller: String,
    /// The id of the caller's credential.
    pub principal: String,
    pub surface: &'static str,
    pub scopes: Scopes,
    pub trace: Arc<str>,
    /// The caller's connection.
    pub connection: u64,
    /// Cancelled when nobody waits for the answer any more: the caller's connection is closed, or
    /// it gave up this call. A handler of a long method ends then.
    pub abandoned: CancellationToken,
}

/// An event as a room receives it.
#[derive(Clone, Debug)]
pub struct Notice {
    pub source: Arc<str>,
    pub topic: Arc<str>,
    pub session: Option<SessionTag>,
    pub place: Place,
    /// JSON, not yet read.
    pub payload: Option<Bytes>,
}

pub(crate) type Handler =
    Arc<dyn Fn(Call, Option<Bytes>) -> BoxFuture<'static, Outcome> + Send + Sync>;
pub(crate) type Listener = Arc<dyn Fn(Notice) -> BoxFuture<'static, ()> + Send + Sync>;
pub(crate) type Outcome = Result<Option<Bytes>, WireError>;

/// A built-in service, before it is served.
pub struct Room {
    pub(crate) service: &'static str,
    pub(crate) methods: Vec<(MethodSpec, Handler)>,
    pub(crate) events: Vec<EventSpec>,
    pub(crate) listeners: Vec<(String, Listener)>,
    pub(crate) concurrency: usize,
}

impl Room {
    pub fn new(service: &'static str) -> Self {
        Room {
            service,
            methods: Vec::new(),
            events: Vec::new(),
            listeners: Vec::new(),
            concurrency: CONCURRENCY,
        }
    }

    /// Answers `M` with `handler`.
    #[must_use]
    pub fn method<M, F, Fut>(mut self, handler: F) -> Self
    where
        M: Method,
        F: Fn(Call, M::Params) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<M::Result, WireError>> + Send + 'static,
    {
        let handler = Arc::new(handler);
        let handle: Handler = Arc::new(move |call, params| {
            let handler = Arc::clone(&handler);
            Box::pin(async move {
                let params = decode::<M::Params>(params.as_deref())?;
                encode(&handler(call, params).await?).map(Some)
            })
        });
        self.methods.push((M::SPEC, handle));
        self
    }

    /// Declares an event this room emits; its scope and durability come from `T`.
    #[must_use]
    pub fn event<T: Topic>(mut self) -> Self {
        self.events.push(T::SPEC);
        self
    }

    /// Hears `T`. The room's events are handled one at a time, in order.
    #[must_use]
    pub fn on<T, F, Fut>(self, handler: F) -> Self
    where
        T: Topic,
        F: Fn(Notice, T::Payload) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let handler = Arc::new(handler);
        self.subscribe(T::SPEC.topic, move |notice: Notice| {
            let handler = Arc::clone(&handler);
            async move {
                match decode::<T::Payload>(notice.payload.as_deref()) {
                    Ok(payload) => handler(notice, payload).await,
                    Err(error) => {
                        tracing::error!(
                            topic = &*notice.topic,
                            "an event is not of its form: {error}"
                        );
                    }
                }
            }
        })
    }

    /// Hears every event that `pattern` matches, payload unread.
    #[must_use]
    pub fn subscribe<F, Fut>(mut self, pattern: &str, handler: F) -> Self
    where
        F: Fn(Notice) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let listener: Listener = Arc::new(move |notice| Box::pin(handler(notice)));
        self.listeners.push((pattern.to_owned(), listener));
        self
    }

    /// Lets `handlers` requests be handled at once; the others wait in the room's outbox.
    #[must_use]
    pub fn concurrency(mut self, handlers: usize) -> Self {
        self.concurrency = handlers.max(1);
        self
    }
}

impl fmt::Debug for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let methods: Vec<_> = self.methods.iter().map(|(spec, _)| spec.name).collect();
        f.debug_struct("Room")
            .field("service", &self.service)
            .field("methods", &methods)
            .finish_non_exhaustive()
    }
}

/// Reads params or a payload; missing ones, or `null`, are an empty object.
pub(crate) fn decode<T: serde::de::DeserializeOwned>(json: Option<&[u8]>) -> Result<T, WireError> {
    let json = json.filter(|json| *json != b"null");
    serde_json::from_slice(json.unwrap_or(b"{}"))
        .map_err(|error| WireError::new(ErrorCode::InvalidParams, error.to_string()))
}

pub(crate) fn encode<T: serde::Serialize>(value: &T) -> Result<Bytes, WireError> {
    match serde_json::to_vec(value) {
        Ok(json) => Ok(Bytes::from(json)),
        Err(error) => Err(WireError::new(ErrorCode::Internal, error.to_string())),
    }
}
