//! What of a setting's value may be told. Pure.
//!
//! Invariant: when in doubt it is hidden. A setting's name decides first, then each text of the
//! value goes without what an address carries as a credential and without the secrets of the house.

use hob_kit::mask::{MASKED, Mask};
use serde_json::Value;

/// What stands where a whole value is kept back.
pub(super) const HIDDEN: &str = "(not shown)";

/// Parts of a setting's name that keep its value from being shown.
const SECRET_PARTS: &[&str] = &[
    "token",
    "secret",
    "passw",
    "passphrase",
    "credential",
    "apikey",
];
/// Whole words of a setting's name that do; inside other words they say nothing.
const SECRET_WORDS: &[&str] = &["key", "keys", "pin", "auth"];
/// A setting of this name holds the name of a variable.
const VARIABLE_SUFFIX: &str = "_env";

/// The value as it may be told.
pub(super) fn shown(name: &str, value: &Value, mask: &Mask) -> Value {
    let name = name.to_ascii_lowercase();
    // A bound such as `agent.tokens` is a number, and a number opens nothing.
    let is_plain = matches!(value, Value::Number(_) | Value::Bool(_) | Value::Null);
    if speaks_of_a_secret(&name) && !is_plain && !is_variable(&name, value) {
        return Value::String(HIDDEN.to_owned());
    }
    masked(value, mask)
}

fn speaks_of_a_secret(name: &str) -> bool {
    let mut words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    SECRET_PARTS.iter().any(|part| name.contains(part))
        || words.any(|word| SECRET_WORDS.contains(&word))
}

/// Whether this is the name of a variable where one belongs, and not a key put there by mistake.
fn is_variable(name: &str, value: &Value) -> bool {
    let is_name = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    };
    name.ends_with(VARIABLE_SUFFIX) && value.as_str().is_some_and(is_name)
}

fn masked(value: &Value, mask: &Mask) -> Value {
    match value {
        Value::String(text) => Value::String(mask.apply(&without_credentials(text)).into_owned()),
        Value::Array(items) => items.iter().map(|item| masked(item, mask)).collect(),
        // No kind of setting is a table; one that comes to be is told when it is known here.
        Value::Object(_) => Value::String(HIDDEN.to_owned()),
        plain => plain.clone(),
    }
}

/// An address without the name and password before its host and without what follows `?`.
fn without_credentials(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    let (rest, has_query) = match rest.split_once('?') {
        Some((before, _)) => (before, true),
        None => (rest, false),
    };
    let (user, place) = match rest.rsplit_once('@') {
        Some((_, place)) => (format!("{MASKED}@"), place),
        None => (String::new(), rest),
    };
    let query = if has_query {
        format!("?{MASKED}")
    } else {
        String::new()
    };
    format!("{scheme}://{user}{place}{query}")
}

#[cfg(test)]
#[path = "secrets_tests.rs"]
mod tests;
