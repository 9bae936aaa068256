//! Reading a body whose form the sender may have got wrong: each value knows the name its sender
//! has for it, so that a wrong one is refused with that name, as OpenAI's own service does.
//!
//! Invariant: `null` is the same as a missing field; what nobody asks for is never looked at.

use crate::openai::fault::{Fault, INVALID};
use axum::http::StatusCode;
use serde_json::Value;

/// A value and its path in the body, such as `messages[0].content`.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) path: String,
    value: Value,
}

impl Field {
    /// The whole body.
    pub(crate) fn root(value: Value) -> Result<Field, Fault> {
        if value.is_object() {
            let path = String::new();
            return Ok(Field { path, value });
        }
        let message = "The body must be a JSON object.";
        Err(Fault::new(StatusCode::BAD_REQUEST, INVALID, message).with_code("invalid_type"))
    }

    /// Takes a member out, if it is there.
    pub(crate) fn take(&mut self, key: &str) -> Result<Option<Field>, Fault> {
        let Value::Object(members) = &mut self.value else {
            return Err(self.wrong_type("an object"));
        };
        let value = members.get_mut(key).map(Value::take);
        Ok(value.filter(|value| !value.is_null()).map(|value| Field {
            path: join(&self.path, key),
            value,
        }))
    }

    /// Takes a member out that must be there.
    pub(crate) fn need(&mut self, key: &str) -> Result<Field, Fault> {
        let missing = join(&self.path, key);
        self.take(key)?.ok_or_else(|| {
            let message = format!("Missing required parameter: '{missing}'.");
            Fault::new(StatusCode::BAD_REQUEST, INVALID, message)
                .with_code("missing_required_parameter")
                .about(&missing)
        })
    }

    pub(crate) fn text(self) -> Result<String, Fault> {
        match self.value {
            Value::String(text) => Ok(text),
            _ => Err(self.wrong_type("a string")),
        }
    }

    pub(crate) fn flag(self) -> Result<bool, Fault> {
        self.value
            .as_bool()
            .ok_or_else(|| self.wrong_type("a boolean"))
    }

    pub(crate) fn whole(self) -> Result<u64, Fault> {
        self.value
            .as_u64()
            .ok_or_else(|| self.wrong_type("a whole number of 0 or more"))
    }

    /// A number between two bounds, both included.
    pub(crate) fn number(self, least: f64, most: f64) -> Result<f64, Fault> {
        let Some(number) = self.value.as_f64() else {
            return Err(self.wrong_type("a number"));
        };
        if (least..=most).contains(&number) {
            return Ok(number);
        }
        let message = format!(
            "Invalid '{}': {number} is not between {least} and {most}.",
            self.path
        );
        Err(Fault::invalid(&self.path, message))
    }

    /// Its elements, at most `most`.
    pub(crate) fn list(self, most: usize) -> Result<Vec<Field>, Fault> {
        let Value::Array(values) = self.value else {
            return Err(self.wrong_type("an array"));
        };
        if values.len() > most {
            let message = format!(
                "Invalid '{}': it has {} elements; at most {most} are taken.",
                self.path,
                values.len()
            );
            return Err(Fault::invalid(&self.path, message));
        }
        let path = self.path;
        let fields = values.into_iter().enumerate();
        Ok(fields
            .map(|(index, value)| Field {
                path: format!("{path}[{index}]"),
                value,
            })
            .collect())
    }

    /// An object, whatever it holds.
    pub(crate) fn object(self) -> Result<Value, Fault> {
        if self.value.is_object() {
            return Ok(self.value);
        }
        Err(self.wrong_type("an object"))
    }

    pub(crate) fn is_text(&self) -> bool {
        self.value.is_string()
    }

    pub(crate) fn is_list(&self) -> bool {
        self.value.is_array()
    }

    pub(crate) fn wrong_type(&self, expected: &str) -> Fault {
        let got = match self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        };
        let message = format!(
            "Invalid type for '{}': expected {expected}, but got {got} instead.",
            self.path
        );
        Fault::new(StatusCode::BAD_REQUEST, INVALID, message)
            .with_code("invalid_type")
            .about(&self.path)
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}
