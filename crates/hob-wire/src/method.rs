//! The declaration of a method. CLI, REST, OpenAPI and docs derive from it.

use crate::scope::Scope;
pub use crate::work::Idempotency;
use schemars::{JsonSchema, Schema};
use serde::{Serialize, de::DeserializeOwned};

/// A method at the type level, shared by typed callers and the handler.
pub trait Method: Send + Sync + 'static {
    type Params: Serialize + DeserializeOwned + JsonSchema + Send + 'static;
    type Result: Serialize + DeserializeOwned + JsonSchema + Send + 'static;
    const SPEC: MethodSpec;
}

/// A method as a value, read by CLI, REST, OpenAPI, `gateway.describe` and the docs.
#[derive(Clone, Copy, Debug)]
pub struct MethodSpec {
    pub name: &'static str,
    /// The service that owns it.
    pub service: &'static str,
    /// The doc comment of the declaration. Lists show only its first line.
    pub summary: &'static str,
    pub scope: Scope,
    pub effect: Idempotency,
    pub cli: CliExposure,
    pub params: fn() -> Schema,
    pub result: fn() -> Schema,
}

impl MethodSpec {
    /// The summary without the doc comment's indentation, for pages.
    pub fn about(&self) -> String {
        unindented(self.summary)
    }
}

/// Removes the leading space of each doc comment line.
pub(crate) fn unindented(summary: &str) -> String {
    let lines: Vec<&str> = summary.lines().map(str::trim).collect();
    lines.join("\n")
}

/// The way a method is reached from the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CliExposure {
    /// Only with `hob rpc`.
    Hidden,
    /// As `hob ROOM VERB`. The named params are positional, the others are flags.
    Verb(&'static [&'static str]),
}

/// Declares a room's methods: one marker type per method, and the list `METHODS`.
macro_rules! methods {
    ($service:literal; $(
        $(#[doc = $doc:literal])*
        $marker:ident = $name:literal {
            params: $params:ty, result: $result:ty, scope: $scope:ident, effect: $effect:ident,
            cli: $cli:expr $(,)?
        }
    )*) => {
        $(
            $(#[doc = $doc])*
            #[derive(Debug)]
            pub struct $marker;

            impl $crate::method::Method for $marker {
                type Params = $params;
                type Result = $result;
                const SPEC: $crate::method::MethodSpec = $crate::method::MethodSpec {
                    name: $name,
                    service: $service,
                    summary: concat!($($doc, "\n"),*).trim_ascii(),
                    scope: $crate::scope::Scope::$scope,
                    effect: $crate::method::Idempotency::$effect,
                    cli: $cli,
                    params: || schemars::schema_for!($params),
                    result: || schemars::schema_for!($result),
                };
            }
        )*

        /// Every method of this room.
        pub const METHODS: &[$crate::method::MethodSpec] =
            &[$(<$marker as $crate::method::Method>::SPEC),*];
    };
}
pub(crate) use methods;
