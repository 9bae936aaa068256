//! How a method is declared: once, with all that its surfaces derive from.

use crate::scope::Scope;
pub use crate::work::Effect;
use schemars::{JsonSchema, Schema};
use serde::{Serialize, de::DeserializeOwned};

/// A method's type-level face: what a typed caller and its handler share.
pub trait Method: Send + Sync + 'static {
    type Params: Serialize + DeserializeOwned + JsonSchema + Send + 'static;
    type Result: Serialize + DeserializeOwned + JsonSchema + Send + 'static;
    const SPEC: MethodSpec;
}

/// A method's value-level face: what CLI, REST, OpenAPI, `gateway.describe` and the docs read.
#[derive(Clone, Copy, Debug)]
pub struct MethodSpec {
    pub name: &'static str,
    /// The service that owns it.
    pub service: &'static str,
    /// One or more sentences, as they stand in the source; the first line stands alone in lists.
    pub summary: &'static str,
    pub scope: Scope,
    pub effect: Effect,
    pub cli: Cli,
    pub params: fn() -> Schema,
    pub result: fn() -> Schema,
}

impl MethodSpec {
    /// The summary as a page shows it.
    pub fn about(&self) -> String {
        unindented(self.summary)
    }
}

/// Takes away the space that each line of a doc comment begins with.
pub(crate) fn unindented(summary: &str) -> String {
    let lines: Vec<&str> = summary.lines().map(str::trim).collect();
    lines.join("\n")
}

/// Whether the method is a command of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cli {
    /// Reached with `hob rpc` only.
    Hidden,
    /// `hob ROOM VERB`; the named params are positional, the others are flags.
    Verb(&'static [&'static str]),
}

/// Declares a room's methods: a marker type each, and the list `METHODS`.
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
                    effect: $crate::method::Effect::$effect,
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
