//! Parsers of argument values that several commands share.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use hob_wire::NetworkGrant;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Parses one of `names`, which are names on the wire, to the value it stands for.
pub fn wire_name<T>(names: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names).try_map(|name| serde_json::from_value(Value::String(name)))
}

/// Parses the value of a network flag: `host` is this machine's own network, `true` hob's proxy.
pub fn network_grant() -> impl TypedValueParser<Value = NetworkGrant> {
    PossibleValuesParser::new(["true", "false", "host"])
        .try_map(|word| NetworkGrant::parse(&word).ok_or("expected true, false or host"))
}

/// Parses `NAME=REST`, split at the first `=`.
pub fn name_value_pair(text: &str) -> Result<(String, String), &'static str> {
    match text.split_once('=') {
        Some((name, rest)) if !name.is_empty() => Ok((name.to_owned(), rest.to_owned())),
        _ => Err("it takes NAME=VALUE, such as path=notes.txt"),
    }
}
