//! How an event is declared: once, with all that its surfaces derive from.

use crate::scope::Scope;
use schemars::{JsonSchema, Schema};
use serde::{Serialize, de::DeserializeOwned};

/// An event's type-level face.
pub trait Topic: Send + Sync + 'static {
    type Payload: Serialize + DeserializeOwned + JsonSchema + Send + 'static;
    const SPEC: EventSpec;
}

/// An event's value-level face.
#[derive(Clone, Copy, Debug)]
pub struct EventSpec {
    pub topic: &'static str,
    /// The service that emits it.
    pub service: &'static str,
    pub summary: &'static str,
    /// What a subscriber needs to be shown it.
    pub scope: Scope,
    pub durability: Durability,
    pub payload: fn() -> Schema,
}

impl EventSpec {
    /// The summary as a page shows it.
    pub fn about(&self) -> String {
        crate::method::unindented(self.summary)
    }
}

/// Whether an event survives in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// Numbered by the store in commit order, replayed after `since`.
    Logged,
    /// For whoever listens now; coalesced for a slow consumer.
    Volatile,
}

/// Declares a room's events: a marker type each, and the list `EVENTS`.
macro_rules! events {
    ($service:literal; $(
        $(#[doc = $doc:literal])*
        $marker:ident = $topic:literal {
            payload: $payload:ty, scope: $scope:ident, durability: $durability:ident $(,)?
        }
    )*) => {
        $(
            $(#[doc = $doc])*
            #[derive(Debug)]
            pub struct $marker;

            impl $crate::event::Topic for $marker {
                type Payload = $payload;
                const SPEC: $crate::event::EventSpec = $crate::event::EventSpec {
                    topic: $topic,
                    service: $service,
                    summary: concat!($($doc, "\n"),*).trim_ascii(),
                    scope: $crate::scope::Scope::$scope,
                    durability: $crate::event::Durability::$durability,
                    payload: || schemars::schema_for!($payload),
                };
            }
        )*

        /// Every event of this room.
        pub const EVENTS: &[$crate::event::EventSpec] =
            &[$(<$marker as $crate::event::Topic>::SPEC),*];
    };
}
pub(crate) use events;
