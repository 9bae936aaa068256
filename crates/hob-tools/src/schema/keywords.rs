//! Validates a schema itself: only known keywords, each with a valid value.

use super::SCHEMA_DEPTH_MAX;
use regex_lite::{Regex, RegexBuilder};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Keywords that only describe.
const ANNOTATIONS: &[&str] = &[
    "$schema",
    "$id",
    "$comment",
    "title",
    "description",
    "default",
    "examples",
    "example",
    "deprecated",
    "readOnly",
    "writeOnly",
    "format",
    "contentEncoding",
    "contentMediaType",
];
/// The types a value can have.
const TYPES: &[&str] = &[
    "null", "boolean", "object", "array", "number", "integer", "string",
];
/// Compiled size of one pattern.
const PATTERN_BYTES_MAX: usize = 1024 * 1024;

/// Validates a schema and all schemas in it; `root` is the target of `#`.
pub(super) fn read(
    root: &Value,
    schema: &Value,
    patterns: &mut BTreeMap<String, Regex>,
) -> Result<(), String> {
    SchemaReader { root, patterns }.schema(schema, 0)
}

struct SchemaReader<'s> {
    root: &'s Value,
    patterns: &'s mut BTreeMap<String, Regex>,
}

impl SchemaReader<'_> {
    fn schema(&mut self, schema: &Value, depth: usize) -> Result<(), String> {
        if depth > SCHEMA_DEPTH_MAX {
            return Err(format!("A schema may nest {SCHEMA_DEPTH_MAX} deep."));
        }
        let keywords = match schema {
            Value::Bool(_) => return Ok(()),
            Value::Object(keywords) => keywords,
            other => return Err(format!("{other} is not a schema.")),
        };
        for (name, value) in keywords {
            self.keyword(name, value, depth)
                .map_err(|reason| reason.unwrap_or_else(|| wrong(name, value)))?;
        }
        Ok(())
    }

    /// Validates one keyword; an error without a text means that its value is invalid.
    fn keyword(&mut self, name: &str, value: &Value, depth: usize) -> Result<(), Option<String>> {
        let sound = match name {
            _ if ANNOTATIONS.contains(&name) => true,
            "type" => is_type(value),
            "enum" => value.as_array().is_some_and(|items| !items.is_empty()),
            "const" => true,
            "required" => value
                .as_array()
                .is_some_and(|names| names.iter().all(Value::is_string)),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
            "multipleOf" => value.as_f64().is_some_and(|step| step > 0.0),
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties"
            | "maxProperties" => value.is_u64(),
            "uniqueItems" => value.is_boolean(),
            "pattern" => return self.pattern(value),
            "$ref" => return self.reference(value),
            "properties" | "$defs" | "definitions" => {
                return self.all(value.as_object().map(Map::values), depth);
            }
            "anyOf" | "oneOf" | "allOf" | "prefixItems" => {
                let schemas = value.as_array().filter(|schemas| !schemas.is_empty());
                return self.all(schemas.map(|schemas| schemas.iter()), depth);
            }
            "items" | "additionalProperties" | "not" => {
                return self.schema(value, depth + 1).map_err(Some);
            }
            unknown => {
                return Err(Some(format!(
                    "The keyword '{unknown}' is not one that hob checks; say it in the description instead."
                )));
            }
        };
        if sound { Ok(()) } else { Err(None) }
    }

    fn all<'v>(
        &mut self,
        schemas: Option<impl Iterator<Item = &'v Value>>,
        depth: usize,
    ) -> Result<(), Option<String>> {
        for schema in schemas.ok_or(None)? {
            self.schema(schema, depth + 1).map_err(Some)?;
        }
        Ok(())
    }

    fn pattern(&mut self, value: &Value) -> Result<(), Option<String>> {
        let text = value.as_str().ok_or(None)?;
        let built = RegexBuilder::new(text)
            .size_limit(PATTERN_BYTES_MAX)
            .build();
        let pattern = built.map_err(|error| {
            let reason = format!("The pattern '{text}' cannot be used: {error}.");
            Some(reason)
        })?;
        self.patterns.insert(text.to_owned(), pattern);
        Ok(())
    }

    fn reference(&self, value: &Value) -> Result<(), Option<String>> {
        let name = value.as_str().ok_or(None)?;
        if target(self.root, name).is_some() {
            return Ok(());
        }
        Err(Some(format!(
            "'{name}' refers to nothing inside the schema; nothing outside it is fetched."
        )))
    }
}

/// The target of a local reference (`#`, `#/$defs/x`).
pub(super) fn target<'s>(root: &'s Value, name: &str) -> Option<&'s Value> {
    root.pointer(name.strip_prefix('#')?)
}

fn is_type(value: &Value) -> bool {
    let known = |name: &Value| name.as_str().is_some_and(|name| TYPES.contains(&name));
    match value {
        Value::Array(names) => !names.is_empty() && names.iter().all(known),
        name => known(name),
    }
}

fn wrong(name: &str, value: &Value) -> String {
    let shown: String = value.to_string().chars().take(80).collect();
    format!("The keyword '{name}' cannot be {shown}.")
}
