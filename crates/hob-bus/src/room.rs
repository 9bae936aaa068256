//! A room: a built-in service, declared by its methods, events and subscriptions. The bus carries
//! the same bytes to it as to an external service; this file decodes them.

use crate::event::SessionTag;
use crate::event_log::BoxFuture;
use bytes::Bytes;
use hob_wire::frame::EventPosition;
use hob_wire::{ErrorCode, EventSpec, EventTopic, Method, MethodSpec, Scopes, WireError};
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Handlers of one room that run at the same time by default.
const CONCURRENCY: usize = 64;

/// The caller and the circumstances of a request, for its handler.
#[derive(Clone, Debug)]
pub struct RequestContext {
    pub caller: String,
    /// The id of the caller's credential.
    pub principal: String,
    pub surface: &'static str,
    pub scopes: Scopes,
    pub trace: Arc<str>,
    /// The id of the caller's connection.
    pub connection: u64,
    /// Cancelled when no one waits for the answer any more: the connection closed, or the caller
    /// dropped the call. A handler of a long method should end then.
    pub abandoned: CancellationToken,
}

/// An event as a room receives it.
#[derive(Clone, Debug)]
pub struct ReceivedEvent {
    pub source: Arc<str>,
    pub topic: Arc<str>,
    pub session: Option<SessionTag>,
    pub place: EventPosition,
    /// Undecoded JSON.
    pub payload: Option<Bytes>,
}

pub(crate) type RoomHandler =
    Arc<dyn Fn(RequestContext, Option<Bytes>) -> BoxFuture<'static, HandlerResult> + Send + Sync>;
pub(crate) type EventListener = Arc<dyn Fn(ReceivedEvent) -> BoxFuture<'static, ()> + Send + Sync>;
pub(crate) type HandlerResult = Result<Option<Bytes>, WireError>;

/// A built-in service, before it is served.
pub struct Room {
    pub(crate) service: &'static str,
    pub(crate) methods: Vec<(MethodSpec, RoomHandler)>,
    pub(crate) events: Vec<EventSpec>,
    pub(crate) listeners: Vec<(String, EventListener)>,
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
        F: Fn(RequestContext, M::Params) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<M::Result, WireError>> + Send + 'static,
    {
        let handler = Arc::new(handler);
        let handle: RoomHandler = Arc::new(move |call, params| {
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
    pub fn event<T: EventTopic>(mut self) -> Self {
        self.events.push(T::SPEC);
        self
    }

    /// Declares all `EVENTS` of a wire module.
    #[must_use]
    pub fn events(mut self, specs: &[EventSpec]) -> Self {
        self.events.extend_from_slice(specs);
        self
    }

    /// Subscribes to `T`. The events of a room are handled one at a time, in order.
    #[must_use]
    pub fn on<T, F, Fut>(self, handler: F) -> Self
    where
        T: EventTopic,
        F: Fn(ReceivedEvent, T::Payload) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let handler = Arc::new(handler);
        self.subscribe(T::SPEC.topic, move |notice: ReceivedEvent| {
            let handler = Arc::clone(&handler);
            async move {
                match decode::<T::Payload>(notice.payload.as_deref()) {
                    Ok(payload) => handler(notice, payload).await,
                    Err(error) => {
                        tracing::error!(
                            topic = &*notice.topic,
                            "the payload of an event could not be decoded: {error}"
                        );
                    }
                }
            }
        })
    }

    /// Subscribes to every event that `pattern` matches. The payload is not decoded.
    #[must_use]
    pub fn subscribe<F, Fut>(mut self, pattern: &str, handler: F) -> Self
    where
        F: Fn(ReceivedEvent) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let listener: EventListener = Arc::new(move |notice| Box::pin(handler(notice)));
        self.listeners.push((pattern.to_owned(), listener));
        self
    }

    /// Sets how many requests are handled at once. Others wait in the room's outbox.
    #[must_use]
    pub fn concurrency(mut self, handlers: usize) -> Self {
        // A room without a permit would never take a request.
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

/// Decodes params or a payload. Missing ones and `null` count as an empty object.
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
