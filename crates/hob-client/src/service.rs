//! [`ServiceDefinition`]: the methods and events that a program offers on the bus, with their
//! handlers. `Client::serve` registers it.

use crate::error::ClientError;
use crate::events::{BusEvent, StreamItem, SubscribeOptions};
use bytes::Bytes;
use hob_wire::rooms::gateway::GatewayRegisterParams;
use hob_wire::{ErrorCode, WireError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

/// The default limit of concurrent handlers.
const CONCURRENCY: usize = 64;

pub(crate) type HandlerFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;
pub(crate) type MethodHandler = Arc<
    dyn Fn(IncomingRequest, Option<Bytes>) -> HandlerFuture<Result<Vec<u8>, WireError>>
        + Send
        + Sync,
>;
pub(crate) type EventHandler = Arc<dyn Fn(StreamItem) -> HandlerFuture<()> + Send + Sync>;

/// A request as its handler sees it, without the params.
#[derive(Clone, Debug)]
pub struct IncomingRequest {
    pub method: String,
    /// The trace id. Pass it to calls that the handler makes, so that `hob trace` groups them.
    pub trace: Option<String>,
}

/// The methods, events and subscriptions of a service, with their handlers.
pub struct ServiceDefinition {
    pub(crate) registration: GatewayRegisterParams,
    pub(crate) methods: HashMap<String, MethodHandler>,
    pub(crate) events: Option<(SubscribeOptions, EventHandler)>,
    pub(crate) concurrency: usize,
}

impl ServiceDefinition {
    /// Creates a service. `name` is the prefix of its methods before the dot.
    pub fn new(name: &str, version: &str) -> Self {
        ServiceDefinition {
            registration: GatewayRegisterParams {
                service: name.to_owned(),
                version: version.to_owned(),
                ..GatewayRegisterParams::default()
            },
            methods: HashMap::new(),
            events: None,
            concurrency: CONCURRENCY,
        }
    }

    /// Adds a method. Params that do not fit `P` are refused before the handler is called. A
    /// handler that panics fails only its own request.
    #[must_use]
    pub fn method<P, R, F, Fut>(mut self, method: &str, handler: F) -> Self
    where
        P: DeserializeOwned + Send + 'static,
        R: Serialize,
        F: Fn(IncomingRequest, P) -> Fut + Send + Sync + 'static,
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

    /// Declares a logged event.
    #[must_use]
    pub fn logged_event(mut self, topic: &str) -> Self {
        self.registration.events.push(topic.to_owned());
        self
    }

    /// Declares a volatile event.
    #[must_use]
    pub fn volatile_event(mut self, topic: &str) -> Self {
        self.registration.events.push(topic.to_owned());
        self.registration.volatile.push(topic.to_owned());
        self
    }

    /// Calls `handler` with every item of `subscription`, one at a time and in order. Resumes after
    /// a lost connection like any [`crate::EventStream`]. Needs the scope of those events.
    #[must_use]
    pub fn on_events<F, Fut>(mut self, subscription: SubscribeOptions, handler: F) -> Self
    where
        F: Fn(StreamItem) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let handler: EventHandler = Arc::new(move |item| Box::pin(handler(item)));
        self.events = Some((subscription, handler));
        self
    }

    /// Sets the limit of concurrent handlers. Further requests are answered with `OVERLOADED`.
    #[must_use]
    pub fn concurrency(mut self, handlers_max: usize) -> Self {
        self.concurrency = handlers_max.max(1);
        self
    }
}

impl fmt::Debug for ServiceDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceDefinition")
            .field("registration", &self.registration)
            .finish_non_exhaustive()
    }
}

fn read_params<P: DeserializeOwned>(params: Option<&[u8]>) -> Result<P, WireError> {
    let missing = params.is_none();
    serde_json::from_slice(params.unwrap_or(b"{}"))
        .or_else(|error| {
            // A method without params may be declared with `()`, which only reads `null`.
            if missing {
                serde_json::from_slice(b"null").map_err(|_| error)
            } else {
                Err(error)
            }
        })
        .map_err(|error| WireError::new(ErrorCode::InvalidParams, error.to_string()))
}

/// Checks that a service declared the topic. It may emit no other.
pub(crate) fn check_declared(
    registration: &GatewayRegisterParams,
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

impl StreamItem {
    /// Returns the event, or none for a gap.
    pub fn event(&self) -> Option<&BusEvent> {
        match self {
            StreamItem::Event(event) => Some(event),
            StreamItem::Gap(_) => None,
        }
    }
}
