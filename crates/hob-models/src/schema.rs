//! Answer schemas in the form providers accept. Pure.

use serde_json::{Map, Value};

/// The name of the schema for providers that require one.
pub(crate) const NAME: &str = "answer";

const DEPTH_MAX: usize = 32;

/// True if OpenAI's strict mode accepts the schema: every object is closed and requires all its
/// properties.
pub(crate) fn is_strict(schema: &Value) -> bool {
    schema.get("type") == Some(&Value::from("object")) && is_strict_at(schema, DEPTH_MAX)
}

fn is_strict_at(schema: &Value, depth: usize) -> bool {
    const UNKNOWN_TO_STRICT: [&str; 6] = [
        "allOf",
        "oneOf",
        "not",
        "if",
        "patternProperties",
        "dependentRequired",
    ];
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    match schema {
        Value::Object(map) => {
            if UNKNOWN_TO_STRICT.iter().any(|word| map.contains_key(*word)) {
                return false;
            }
            let properties = map.get("properties").and_then(Value::as_object);
            let is_object = map.get("type") == Some(&Value::from("object"));
            if let Some(properties) = properties {
                let required = map.get("required").and_then(Value::as_array);
                let has = |name: &String| {
                    required.is_some_and(|names| names.contains(&Value::from(name.as_str())))
                };
                let closed = map.get("additionalProperties") == Some(&Value::Bool(false));
                let each = |schema: &Value| is_strict_at(schema, depth);
                if !closed || !properties.keys().all(has) || !properties.values().all(each) {
                    return false;
                }
            } else if is_object {
                return false;
            }
            let others = map.iter().filter(|(key, _)| *key != "properties");
            let mut others = others.map(|(_, value)| value);
            others.all(|value| is_strict_at(value, depth))
        }
        Value::Array(list) => list.iter().all(|value| is_strict_at(value, depth)),
        _ => true,
    }
}

/// Converts a schema for Anthropic's constrained decoding: closes every object and drops the bounds
/// of numbers, strings and lists. A value that fits the result fits the shape of the original.
/// `None` if an object has unnamed properties.
pub(crate) fn close_objects(schema: &Value) -> Option<Value> {
    close(schema, DEPTH_MAX)
}

fn close(schema: &Value, depth: usize) -> Option<Value> {
    const BOUNDS: [&str; 11] = [
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "uniqueItems",
        "pattern",
    ];
    let depth = depth.checked_sub(1)?;
    let Value::Object(map) = schema else {
        return Some(schema.clone());
    };
    let mut closed = Map::new();
    for (key, value) in map {
        if BOUNDS.contains(&key.as_str()) {
            continue;
        }
        let value = match (key.as_str(), value) {
            ("properties" | "$defs" | "definitions", Value::Object(named)) => {
                let each = named
                    .iter()
                    .map(|(name, value)| Some((name.clone(), close(value, depth)?)));
                Value::Object(each.collect::<Option<_>>()?)
            }
            ("anyOf" | "allOf" | "oneOf", Value::Array(list)) => {
                let each = list.iter().map(|value| close(value, depth));
                Value::Array(each.collect::<Option<_>>()?)
            }
            ("items", value) => close(value, depth)?,
            (_, value) => value.clone(),
        };
        closed.insert(key.clone(), value);
    }
    if map.get("type") == Some(&Value::from("object")) {
        let open = matches!(map.get("additionalProperties"), Some(Value::Object(_)));
        if open || !map.contains_key("properties") {
            return None;
        }
        closed.insert("additionalProperties".into(), Value::Bool(false));
    }
    Some(Value::Object(closed))
}

/// The schema as an instruction, for models without schema support.
pub(crate) fn as_instruction(schema: &Value) -> String {
    format!("Answer with one JSON object and nothing else. It must fit this JSON Schema:\n{schema}")
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
