//! Checks arguments, or the structured answer of a model, against a JSON Schema.
//!
//! The keywords of types, objects, arrays, strings, numbers, enums, combinations and local
//! references are checked; annotations are ignored. A schema with any other keyword is refused
//! when it is declared, because a rule that nobody checks is worse than none.
//!
//! Invariants: reading a schema and checking a value are bounded in depth and work for every
//! schema; nothing is ever fetched.

mod check;
mod keywords;

use regex_lite::Regex;
use serde_json::Value;
use std::collections::BTreeMap;

/// Bytes of a schema, as JSON.
pub const SCHEMA_BYTES_MAX: usize = 64 * 1024;
/// Levels of nesting in a schema.
pub const SCHEMA_DEPTH_MAX: usize = 32;

/// A valid schema, ready to check values.
#[derive(Clone, Debug)]
pub struct Schema {
    root: Value,
    /// Each `pattern`, compiled.
    patterns: BTreeMap<String, Regex>,
}

/// The problems of a schema or a value, as sentences for its author.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join(" "))]
pub struct SchemaError(pub Vec<String>);

impl Schema {
    pub fn new(schema: &Value) -> Result<Schema, SchemaError> {
        if schema.to_string().len() > SCHEMA_BYTES_MAX {
            let reason = format!("A schema may be {SCHEMA_BYTES_MAX} bytes long.");
            return Err(SchemaError(vec![reason]));
        }
        let mut patterns = BTreeMap::new();
        keywords::read(schema, schema, &mut patterns)
            .map_err(|reason| SchemaError(vec![reason]))?;
        Ok(Schema {
            root: schema.clone(),
            patterns,
        })
    }

    /// Parses the schema of a tool's arguments, which must be an object.
    pub fn of_arguments(schema: &Value) -> Result<Schema, SchemaError> {
        if schema.get("type").and_then(Value::as_str) != Some("object") {
            let reason = "The arguments' schema must say \"type\": \"object\".";
            return Err(SchemaError(vec![reason.to_owned()]));
        }
        Schema::new(schema)
    }

    /// Checks `value`; the error holds the first few reasons.
    pub fn check(&self, value: &Value) -> Result<(), SchemaError> {
        check::check(&self.root, &self.patterns, value).map_err(SchemaError)
    }
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
