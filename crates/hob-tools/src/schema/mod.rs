//! JSON Schema as tools use it: whether arguments, or a model's structured answer, fit.
//!
//! The keywords of types, objects, arrays, texts, numbers, choices, combinations and local
//! references are checked; what only describes is passed over. A schema with any other keyword is
//! refused when it is declared, because a rule that nobody checks is worse than none.
//!
//! Invariants: reading a schema and checking a value are bounded in depth and work, whatever the
//! schema says; nothing is ever fetched.

mod check;
mod keywords;

use regex_lite::Regex;
use serde_json::Value;
use std::collections::BTreeMap;

/// Bytes of a schema, as JSON.
pub const SCHEMA_BYTES_MAX: usize = 64 * 1024;
/// How deep a schema nests.
pub const SCHEMA_DEPTH_MAX: usize = 32;

/// A sound schema, ready to check values.
#[derive(Clone, Debug)]
pub struct Schema {
    root: Value,
    /// Each `pattern`, compiled.
    patterns: BTreeMap<String, Regex>,
}

/// What is wrong with a schema, or with a value: sentences for whoever wrote it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join(" "))]
pub struct Unfit(pub Vec<String>);

impl Schema {
    pub fn new(schema: &Value) -> Result<Schema, Unfit> {
        if schema.to_string().len() > SCHEMA_BYTES_MAX {
            let reason = format!("A schema may be {SCHEMA_BYTES_MAX} bytes long.");
            return Err(Unfit(vec![reason]));
        }
        let mut patterns = BTreeMap::new();
        keywords::read(schema, schema, &mut patterns).map_err(|reason| Unfit(vec![reason]))?;
        Ok(Schema {
            root: schema.clone(),
            patterns,
        })
    }

    /// A schema of a tool's arguments, which are an object.
    pub fn of_arguments(schema: &Value) -> Result<Schema, Unfit> {
        if schema.get("type").and_then(Value::as_str) != Some("object") {
            let reason = "The arguments' schema must say \"type\": \"object\".";
            return Err(Unfit(vec![reason.to_owned()]));
        }
        Schema::new(schema)
    }

    /// Whether `value` fits; if not, the first few reasons.
    pub fn check(&self, value: &Value) -> Result<(), Unfit> {
        check::check(&self.root, &self.patterns, value).map_err(Unfit)
    }
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
