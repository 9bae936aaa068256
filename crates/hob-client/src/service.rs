//! [`Service`]: what a program of yours offers on the bus, described once and served until its
//! handle is dropped.

use crate::error::ClientError;
use crate::events::{Event, Item, Subscription};
use bytes::Bytes;
use hob_wire::rooms::gateway::RegisterParams;
use hob_wire::{ErrorCode, WireError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

/// Handlers of one service at work at once, unless it says otherwise.
const CONCURRENCY: usize = 64;

pub(crate) type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;
pub(crate) type MethodHandler =
    Arc<dyn Fn(Incoming, Option<Bytes>) -> BoxFuture<Result<Vec<u8>, WireError>> + Send + Sync>;
pub(crate) type EventHandler = Arc<dyn Fn(Item) -> BoxFuture<()> + Send + Sync>;

/// A request as its handler sees it, beside the params.
#[derive(Clone, Debug)]
pub struct Incoming {
    pub method: String,
    /// Ties the calls that answering this makes to it, in `hob trace`.
    pub trace: Option<String>,
}

/// Methods, events and subscriptions with their handlers.
pub struct Service {
    pub(crate) registration: RegisterParams,
    pub(crate) methods: HashMap<String, MethodHandler>,
    pub(crate) events: Option<(Subscription, EventHandler)>,
    pub(crate) concurrency: usize,
}

impl Service {
    /// `name` is what stands before the dot of its methods.
    pub fn new(name: &str, version: &str) -> Self {
        Service {
            registration: RegisterParams {
                service: name.to_owned(),
                version: version.to_owned(),
                ..RegisterParams::default()
            },
            methods: HashMap::new(),
            events: None,
            concurrency: CONCURRENCY,
        }
    }

    /// Answers `method`. Params that do not fit `P` are refused before the handler is asked; a
    /// handler that panics fails only its own request.
    #[must_use]
    pub fn method<P, R, F, Fut>(mut self, method: &str, handler: F) -> Self
    where
        P: DeserializeOwned + Send + 'static,
        R: Serialize,
        F: Fn(Incoming, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, WireError>> + Send + 'static,
    {
        let handler = Arc::new(handler);
        let answer: MethodHandler = Arc::new(move |incoming, params| {
            let handler = Arc::clone(&handler);
            Box::pin(async move {
                let params = read_params(params.as_deref())?;
                let result = handler(incoming, params).await?;
                serde_json::to_vec(&result).map_err(|error| {
                    let message = format!("The answer cannot be written as JSON: {error}");
                    WireError::new(ErrorCode::MethodError, message)
                })
            })
        });
        self.registration.methods.push(method.to_owned());
        self.methods.insert(method.to_owned(), answer);
        self
    }

    /// Declares an event that the log keeps.
    #[must_use]
    pub fn logged_event(mut self, topic: &str) -> Self {
        self.registration.events.push(topic.to_owned());
        self
    }

    /// Declares an event for whoever listens at that moment.
    #[must_use]
    pub fn volatile_event(mut self, topic: &str) -> Self {
        self.registration.events.push(topic.to_owned());
        self.registration.volatile.push(topic.to_owned());
        self
    }

    /// Hands every item of `subscription` to `handler`, one at a time and in order, resuming after
    /// a lost connection like any [`crate::EventStream`]. Needs the scope those events need.
    #[must_use]
    pub fn on_events<F, Fut>(mut self, subscription: Subscription, handler: F) -> Self
    where
        F: Fn(Item) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let handler: EventHandler = Arc::new(move |item| Box::pin(handler(item)));
        self.events = Some((subscription, handler));
        self
    }

    /// How many handlers may be at work at once; further requests are answered `OVERLOADED`.
    #[must_use]
    pub fn concurrency(mut self, handlers_max: usize) -> Self {
        self.concurrency = handlers_max.max(1);
        self
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service")
            .field("registration", &self.registration)
            .finish_non_exhaustive()
    }
}

fn read_params<P: DeserializeOwned>(params: Option<&[u8]>) -> Result<P, WireError> {
    let missing = params.is_none();
    serde_json::from_slice(params.unwrap_or(b"{}"))
        .or_else(|error| {
            // A method without params may be declared with `()`.
            if missing {
                serde_json::from_slice(b"null").map_err(|_| error)
            } else {
                Err(error)
            }
        })
        .map_err(|error| WireError::new(ErrorCode::InvalidParams, error.to_string()))
}

/// What a service may emit: its declared topics.
pub(crate) fn check_declared(
    registration: &RegisterParams,
    topic: &str,
) -> Result<(), ClientError> {
    if registration.events.iter().any(|declared| declared == topic) {
        return Ok(());
    }
    Err(ClientError::BadTarget {
        reason: format!(
            "The service {} did not declare the event '{topic}'; declare it before serving.",
            registration.service
        ),
    })
}

/// An event that its handler reads as an [`Event`].
impl Item {
    pub fn event(&self) -> Option<&Event> {
        match self {
            Item::Event(event) => Some(event),
            Item::Gap(_) => None,
        }
    }
}
