//! Structured answers: checks a text against the requested schema. Pure.

use hob_tools::schema::Schema;
use serde_json::Value;

/// The reason why a text does not fit; `None` if it fits.
pub(crate) fn mismatch(schema: &Value, text: &str) -> Option<String> {
    let value: Value = match serde_json::from_str(text.trim()) {
        Ok(value) => value,
        Err(error) => return Some(format!("It is not JSON: {error}.")),
    };
    let checked = Schema::new(schema).and_then(|schema| schema.check(&value));
    checked.err().map(|unfit| unfit.to_string())
}

/// The request for a corrected answer, sent once.
pub(crate) fn retry_request(reason: &str) -> String {
    format!("Your answer does not fit the schema. {reason} Answer again with the JSON alone.")
}
