//! The network access of a command: `false`, `true` or `"host"` on the wire.
//!
//! Invariant: `true` means the proxy, the narrower access, also in values that were stored before
//! `"host"` existed.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

const HOST: &str = "host";

/// The network access of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum NetworkGrant {
    /// `false`: no network.
    #[default]
    Off,
    /// `true`: public internet hosts through hob's proxy.
    Proxy,
    /// `"host"`: the network of this machine, including all local services.
    Host,
}

impl NetworkGrant {
    /// Parses `true`, `false` or `host` from a command line.
    pub fn parse(word: &str) -> Option<NetworkGrant> {
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
            "description": "`true`: public internet hosts through hob's proxy. `\"host\"`: the network of this machine, including all local services.",
            "anyOf": [{ "type": "boolean" }, { "type": "string", "enum": [HOST] }],
        })
    }
}

#[cfg(test)]
#[path = "network_tests.rs"]
mod tests;
