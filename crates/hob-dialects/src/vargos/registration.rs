//! The registration of a service. A Vargos service does not say which of its events must be kept,
//! and its gateway keeps none, so they are volatile: they wait for no commit. A service that wants
//! an event to be logged names it in `durable`.
//!
//! Invariant: a registration that names `volatile` knows hob's form and is not changed.

use crate::vargos::params::VargosParams;
use hob_wire::WireError;
use serde_json::Value;
use serde_json::value::RawValue;

/// Returns the params for `gateway.register`.
pub(crate) fn translate(params: Option<&RawValue>) -> Result<Vec<u8>, WireError> {
    let mut params = VargosParams::parse(params)?;
    let durable = params.take("durable");
    let mut fields = params.into_fields();
    if !fields.contains_key("volatile") {
        let durable = durable.as_ref().and_then(Value::as_array);
        let is_volatile = |event: &&Value| !durable.is_some_and(|list| list.contains(event));
        let events = fields.get("events").and_then(Value::as_array);
        let volatile: Vec<Value> = events
            .into_iter()
            .flatten()
            .filter(is_volatile)
            .cloned()
            .collect();
        fields.insert("volatile".to_owned(), Value::Array(volatile));
    }
    // An object of JSON values always encodes.
    Ok(serde_json::to_vec(&Value::Object(fields)).unwrap_or_default())
}

#[cfg(test)]
#[path = "registration_tests.rs"]
mod tests;
