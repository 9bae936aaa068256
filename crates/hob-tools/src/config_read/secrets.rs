//! Redacts secrets in values of settings. Pure.
//!
//! Invariant: in doubt a value is hidden. The name of a setting decides first; then credentials in
//! URLs and known secrets are removed from each string of the value.

use hob_kit::mask::{MASKED, SecretMask};
use serde_json::Value;

/// The placeholder of a hidden value.
pub(super) const HIDDEN: &str = "(not shown)";

/// Parts of a name that hide the value.
const SECRET_PARTS: &[&str] = &[
    "token",
    "secret",
    "passw",
    "passphrase",
    "credential",
    "apikey",
];
/// Whole words of a name that hide the value; inside other words they mean nothing.
const SECRET_WORDS: &[&str] = &["key", "keys", "pin", "auth"];
/// A setting with this suffix holds the name of an environment variable.
const VARIABLE_SUFFIX: &str = "_env";

/// The value as a model may see it.
pub(super) fn redact(name: &str, value: &Value, mask: &SecretMask) -> Value {
    let name = name.to_ascii_lowercase();
    // A limit such as `agent.tokens` is a number, and a number is no credential.
    let is_plain = matches!(value, Value::Number(_) | Value::Bool(_) | Value::Null);
    if names_a_secret(&name) && !is_plain && !is_variable(&name, value) {
        return Value::String(HIDDEN.to_owned());
    }
    masked(value, mask)
}

fn names_a_secret(name: &str) -> bool {
    let mut words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    SECRET_PARTS.iter().any(|part| name.contains(part))
        || words.any(|word| SECRET_WORDS.contains(&word))
}

/// Returns true for the name of a variable, and false for a key that was put there by mistake.
fn is_variable(name: &str, value: &Value) -> bool {
    let is_name = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    };
    name.ends_with(VARIABLE_SUFFIX) && value.as_str().is_some_and(is_name)
}

fn masked(value: &Value, mask: &SecretMask) -> Value {
    match value {
        Value::String(text) => Value::String(mask.apply(&without_credentials(text)).into_owned()),
        Value::Array(items) => items.iter().map(|item| masked(item, mask)).collect(),
        // No setting is a table today; a new kind stays hidden until it is handled here.
        Value::Object(_) => Value::String(HIDDEN.to_owned()),
        plain => plain.clone(),
    }
}

/// A URL without user, password and query.
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
