//! A schema for the answer, as providers take it. Pure.

use serde_json::{Map, Value};

/// What the schema is called where a provider wants a name.
pub(crate) const NAME: &str = "answer";

const DEPTH_MAX: usize = 32;

/// Whether OpenAI's strict mode takes it: every object is closed and requires all it has.
pub(crate) fn is_strict(schema: &Value) -> bool {
    schema.get("type") == Some(&Value::from("object")) && fits(schema, DEPTH_MAX)
}

fn fits(schema: &Value, depth: usize) -> bool {
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
                let each = |schema: &Value| fits(schema, depth);
                if !closed || !properties.keys().all(has) || !properties.values().all(each) {
                    return false;
                }
            } else if is_object {
                return false;
            }
            let others = map.iter().filter(|(key, _)| *key != "properties");
            let mut others = others.map(|(_, value)| value);
            others.all(|value| fits(value, depth))
        }
        Value::Array(list) => list.iter().all(|value| fits(value, depth)),
        _ => true,
    }
}

/// The schema as constrained decoding takes it at Anthropic: every object closed, without bounds
/// of numbers, texts and lists. What fits it fits the first one's shape. None where an object's
/// fields are not all named.
pub(crate) fn closed(schema: &Value) -> Option<Value> {
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

/// The schema for models that can only be told.
pub(crate) fn in_words(schema: &Value) -> String {
    format!("Answer with one JSON object and nothing else. It must fit this JSON Schema:\n{schema}")
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
