//! The params of a request, as Vargos's clients write them. Pure.
//!
//! Invariants: `null` counts as missing, because JavaScript writes it for an empty field; what is
//! not taken out by its name reaches hob, which refuses an unknown field by that name.

use hob_wire::{ErrorCode, WireError};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

#[derive(Debug, Default)]
pub(crate) struct VargosParams(Map<String, Value>);

impl VargosParams {
    pub(crate) fn parse(params: Option<&RawValue>) -> Result<VargosParams, WireError> {
        let Some(params) = params else {
            return Ok(VargosParams::default());
        };
        let parsed = serde_json::from_str(params.get());
        match parsed.map_err(|error| invalid(error.to_string()))? {
            Value::Null => Ok(VargosParams::default()),
            Value::Object(fields) => Ok(VargosParams::new(fields)),
            _ => Err(invalid("`params` is an object.")),
        }
    }

    pub(crate) fn new(mut fields: Map<String, Value>) -> VargosParams {
        fields.retain(|_, value| !value.is_null());
        VargosParams(fields)
    }

    /// Takes a field out.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name)
    }

    pub(crate) fn take_text(&mut self, name: &str) -> Result<Option<String>, WireError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(invalid(format!("`{name}` is a text."))),
        }
    }

    /// Takes out a text that must be there.
    pub(crate) fn require_text(&mut self, name: &str) -> Result<String, WireError> {
        self.take_text(name)?
            .ok_or_else(|| invalid(format!("`{name}` is missing.")))
    }

    pub(crate) fn take_count(&mut self, name: &str) -> Result<Option<usize>, WireError> {
        let wrong = || invalid(format!("`{name}` is a whole number of 0 or more."));
        match self.take(name) {
            None => Ok(None),
            Some(value) => {
                let count = value.as_u64().ok_or_else(wrong)?;
                Ok(Some(usize::try_from(count).map_err(|_| wrong())?))
            }
        }
    }

    pub(crate) fn take_object(&mut self, name: &str) -> Result<Map<String, Value>, WireError> {
        match self.take(name) {
            None => Ok(Map::new()),
            Some(Value::Object(fields)) => Ok(fields),
            Some(_) => Err(invalid(format!("`{name}` is an object."))),
        }
    }

    pub(crate) fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// Reads what is left as the params of a method of hob.
    pub(crate) fn decode<P: DeserializeOwned>(self) -> Result<P, WireError> {
        serde_json::from_value(Value::Object(self.0)).map_err(|error| invalid(error.to_string()))
    }

    pub(crate) fn into_fields(self) -> Map<String, Value> {
        self.0
    }

    /// Refuses what was not taken out.
    pub(crate) fn finish(self) -> Result<(), WireError> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(name) => {
                let name: String = name.chars().take(64).collect();
                Err(invalid(format!("unknown field `{name}`")))
            }
        }
    }
}

pub(crate) fn invalid(message: impl Into<String>) -> WireError {
    WireError::new(ErrorCode::InvalidParams, message)
}

#[cfg(test)]
#[path = "params_tests.rs"]
mod tests;
