//! A JSON value that knows its path in the body, so that an error can name the wrong field, as
//! OpenAI's own service does.
//!
//! Invariant: `null` counts as a missing field. Fields that nobody reads are never checked.

use crate::openai::error::{INVALID_REQUEST, OpenaiError};
use axum::http::StatusCode;
use serde_json::Value;

/// A value and its path in the body, such as `messages[0].content`.
#[derive(Debug)]
pub(crate) struct JsonField {
    pub(crate) path: String,
    value: Value,
}

impl JsonField {
    /// Wraps the whole body, which must be an object.
    pub(crate) fn root(value: Value) -> Result<JsonField, OpenaiError> {
        if value.is_object() {
            let path = String::new();
            return Ok(JsonField { path, value });
        }
        let message = "The body must be a JSON object.";
        Err(
            OpenaiError::new(StatusCode::BAD_REQUEST, INVALID_REQUEST, message)
                .with_code("invalid_type"),
        )
    }

    /// Removes and returns a member, if it exists.
    pub(crate) fn take(&mut self, key: &str) -> Result<Option<JsonField>, OpenaiError> {
        let Value::Object(members) = &mut self.value else {
            return Err(self.wrong_type("an object"));
        };
        // Moved out rather than cloned: a body may hold megabytes of images.
        let value = members.get_mut(key).map(Value::take);
        Ok(value
            .filter(|value| !value.is_null())
            .map(|value| JsonField {
                path: join(&self.path, key),
                value,
            }))
    }

    /// Removes and returns a required member.
    pub(crate) fn require(&mut self, key: &str) -> Result<JsonField, OpenaiError> {
        let missing = join(&self.path, key);
        self.take(key)?.ok_or_else(|| {
            let message = format!("Missing required parameter: '{missing}'.");
            OpenaiError::new(StatusCode::BAD_REQUEST, INVALID_REQUEST, message)
                .with_code("missing_required_parameter")
                .with_param(&missing)
        })
    }

    pub(crate) fn text(self) -> Result<String, OpenaiError> {
        match self.value {
            Value::String(text) => Ok(text),
            _ => Err(self.wrong_type("a string")),
        }
    }

    pub(crate) fn boolean(self) -> Result<bool, OpenaiError> {
        self.value
            .as_bool()
            .ok_or_else(|| self.wrong_type("a boolean"))
    }

    pub(crate) fn unsigned(self) -> Result<u64, OpenaiError> {
        self.value
            .as_u64()
            .ok_or_else(|| self.wrong_type("a whole number of 0 or more"))
    }

    /// Returns a number between two bounds, both included.
    pub(crate) fn number(self, least: f64, most: f64) -> Result<f64, OpenaiError> {
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
        Err(OpenaiError::invalid(&self.path, message))
    }

    /// Returns the elements of an array, at most `most`.
    pub(crate) fn list(self, most: usize) -> Result<Vec<JsonField>, OpenaiError> {
        let Value::Array(values) = self.value else {
            return Err(self.wrong_type("an array"));
        };
        if values.len() > most {
            let message = format!(
                "Invalid '{}': it has {} elements; at most {most} are taken.",
                self.path,
                values.len()
            );
            return Err(OpenaiError::invalid(&self.path, message));
        }
        let path = self.path;
        let fields = values.into_iter().enumerate();
        Ok(fields
            .map(|(index, value)| JsonField {
                path: format!("{path}[{index}]"),
                value,
            })
            .collect())
    }

    /// Returns an object with any content.
    pub(crate) fn object(self) -> Result<Value, OpenaiError> {
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

    pub(crate) fn wrong_type(&self, expected: &str) -> OpenaiError {
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
        OpenaiError::new(StatusCode::BAD_REQUEST, INVALID_REQUEST, message)
            .with_code("invalid_type")
            .with_param(&self.path)
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}
