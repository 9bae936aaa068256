//! The declaration of an event. Subscriptions, OpenAPI and docs derive from it.

use crate::scope::Scope;
use schemars::{JsonSchema, Schema};
use serde::{Serialize, de::DeserializeOwned};

/// An event at the type level, shared by emitters and typed subscribers.
pub trait EventTopic: Send + Sync + 'static {
    type Payload: Serialize + DeserializeOwned + JsonSchema + Send + 'static;
    const SPEC: EventSpec;
}

/// An event as a value, read by the bus, `gateway.describe` and the docs.
#[derive(Clone, Copy, Debug)]
pub struct EventSpec {
    pub topic: &'static str,
    /// The service that emits it.
    pub service: &'static str,
    pub summary: &'static str,
    /// The scope a subscriber needs to receive it.
    pub scope: Scope,
    pub durability: Durability,
    /// True if only subscriptions that name the topic receive it, not wildcards: it is frequent,
    /// and only some clients need it.
    pub only_named: bool,
    pub payload: fn() -> Schema,
}

impl EventSpec {
    /// The summary without the doc comment's indentation, for pages.
    pub fn about(&self) -> String {
        crate::method::unindented(self.summary)
    }
}

/// The persistence of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// Numbered by the store in commit order, replayed after `since`.
    Logged,
    /// Sent to current subscribers only, and dropped for a slow consumer.
    Volatile,
}

/// Declares a room's events: one marker type per event, and the list `EVENTS`.
macro_rules! events {
    ($service:literal; $(
        $(#[doc = $doc:literal])*
        $marker:ident = $topic:literal {
            payload: $payload:ty, scope: $scope:ident, durability: $durability:ident
            $(, only_named: $only_named:literal)? $(,)?
        }
    )*) => {
        $(
            $(#[doc = $doc])*
            #[derive(Debug)]
            pub struct $marker;

            impl $crate::event::EventTopic for $marker {
                type Payload = $payload;
                const SPEC: $crate::event::EventSpec = $crate::event::EventSpec {
                    topic: $topic,
                    service: $service,
                    summary: concat!($($doc, "\n"),*).trim_ascii(),
                    scope: $crate::scope::Scope::$scope,
                    durability: $crate::event::Durability::$durability,
                    only_named: false $(|| $only_named)?,
                    payload: || schemars::schema_for!($payload),
                };
            }
        )*

        /// Every event of this room.
        pub const EVENTS: &[$crate::event::EventSpec] =
            &[$(<$marker as $crate::event::EventTopic>::SPEC),*];
    };
}
pub(crate) use events;
