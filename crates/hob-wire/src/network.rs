//! Which network a command may use: `false`, `true` or `"host"` on the wire.
//!
//! Invariant: what was stored as `true` before there was a choice is the narrower of the two.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

const HOST: &str = "host";

/// Which network a command may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum NetworkGrant {
    /// `false`: none.
    #[default]
    Off,
    /// `true`: hosts of the open internet, through hob's proxy.
    Proxy,
    /// `"host"`: the network of this machine, with every service that listens on it.
    Host,
}

impl NetworkGrant {
    /// Takes `true`, `false` or `host`, as a command line has them.
    pub fn from_word(word: &str) -> Option<NetworkGrant> {
        match word {
            "true" => Some(NetworkGrant::Proxy),
            "false" => Some(NetworkGrant::Off),
            HOST => Some(NetworkGrant::Host),
            _ => None,
        }
    }

    pub fn is_on(self) -> bool {
        self != NetworkGrant::Off
    }
}

impl Serialize for NetworkGrant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            NetworkGrant::Off => serializer.serialize_bool(false),
            NetworkGrant::Proxy => serializer.serialize_bool(true),
            NetworkGrant::Host => serializer.serialize_str(HOST),
        }
    }
}

impl<'de> Deserialize<'de> for NetworkGrant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(GrantVisitor)
    }
}

struct GrantVisitor;

impl Visitor<'_> for GrantVisitor {
    type Value = NetworkGrant;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true, false or \"host\"")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<NetworkGrant, E> {
        Ok(if value {
            NetworkGrant::Proxy
        } else {
            NetworkGrant::Off
        })
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<NetworkGrant, E> {
        if value == HOST {
            return Ok(NetworkGrant::Host);
        }
        Err(E::invalid_value(de::Unexpected::Str(value), &self))
    }
}

impl JsonSchema for NetworkGrant {
    fn schema_name() -> Cow<'static, str> {
        "NetworkGrant".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "`true`: hosts of the open internet, through hob's proxy. `\"host\"`: this machine's own network, services on it included.",
            "anyOf": [{ "type": "boolean" }, { "type": "string", "enum": [HOST] }],
        })
    }
}

#[cfg(test)]
#[path = "network_tests.rs"]
mod tests;
