//! Structured answers: whether a text fits the schema that was asked for. Pure.

use hob_tools::schema::Schema;
use serde_json::Value;

/// Why a text does not fit; nothing when it does.
pub(crate) fn misfit(schema: &Value, text: &str) -> Option<String> {
    let value: Value = match serde_json::from_str(text.trim()) {
        Ok(value) => value,
        Err(error) => return Some(format!("It is not JSON: {error}.")),
    };
    let checked = Schema::new(schema).and_then(|schema| schema.check(&value));
    checked.err().map(|unfit| unfit.to_string())
}

/// What the model is told once.
pub(crate) fn ask_again(reason: &str) -> String {
    format!("Your answer does not fit the schema. {reason} Answer again with the JSON alone.")
}
