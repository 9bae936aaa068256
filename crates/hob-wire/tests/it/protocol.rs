//! Renders `docs/protocol.md`, the description of the wire for people.

use crate::dictionary::{Dictionary, description, referred};
use hob_wire::{Durability, ErrorCode, Scope, limits};
use serde_json::Value;
use std::fmt::Write as _;

const HEAD: &str = include_str!("protocol_head.md");

pub(crate) fn render(dictionary: &Dictionary) -> String {
    let mut page = HEAD.to_owned();
    page.push_str("## Methods\n\n");
    for entry in &dictionary.methods {
        let spec = entry.spec;
        write!(page, "### `{}`\n\n{}\n\n", spec.name, spec.about()).unwrap();
        write!(
            page,
            "Service `{}` · scope `{}` · effect {}\n\n",
            spec.service,
            spec.scope.as_str(),
            word(&serde_json::to_value(spec.effect).expect("an effect is a word")),
        )
        .unwrap();
        page.push_str(&part("Params", &entry.params, dictionary));
        page.push_str(&part("Result", &entry.result, dictionary));
    }
    page.push_str("## Events\n\n");
    for entry in &dictionary.events {
        let spec = entry.spec;
        let durability = match spec.durability {
            Durability::Logged => "logged",
            Durability::Volatile => "volatile",
        };
        write!(page, "### `{}`\n\n{}\n\n", spec.topic, spec.about()).unwrap();
        write!(
            page,
            "From `{}` · scope `{}` · {durability}\n\n",
            spec.service,
            spec.scope.as_str(),
        )
        .unwrap();
        page.push_str(&part("Payload", &entry.payload, dictionary));
    }
    page.push_str(&types(dictionary));
    page.push_str(&error_codes());
    page.push_str(&scopes(&dictionary.types["Scope"]));
    page.push_str(&bounds());
    page
}

/// Renders params, a result or a payload: its fields, or a link if other types use it too.
fn part(heading: &str, name: &str, dictionary: &Dictionary) -> String {
    let schema = &dictionary.types[name];
    if is_shared(name, dictionary) {
        return format!("{heading}: {}\n\n", link(name));
    }
    match schema["properties"].as_object() {
        None => format!("{heading}: none\n\n"),
        Some(_) => format!("{heading}:\n\n{}", fields(schema)),
    }
}

/// Returns true if more than one method or event, or another type, uses the type.
fn is_shared(name: &str, dictionary: &Dictionary) -> bool {
    let methods = dictionary.methods.iter();
    let roots = methods.flat_map(|entry| [&entry.params, &entry.result]);
    let payloads = dictionary.events.iter().map(|entry| &entry.payload);
    let as_root = roots.chain(payloads).filter(|root| *root == name).count();
    let reference = format!("\"#/$defs/{name}\"");
    let mut others = dictionary.types.values();
    as_root != 1 || others.any(|schema| schema.to_string().contains(&reference))
}

fn types(dictionary: &Dictionary) -> String {
    let mut text = "## Types\n\n".to_owned();
    for (name, schema) in &dictionary.types {
        if !is_shared(name, dictionary) {
            continue;
        }
        write!(text, "### `{name}`\n\n").unwrap();
        let about = description(schema);
        if !about.is_empty() {
            write!(text, "{about}\n\n").unwrap();
        }
        text.push_str(&body(schema));
    }
    text
}

fn body(schema: &Value) -> String {
    if schema["properties"].is_object() {
        return fields(schema);
    }
    let choices = schema["oneOf"].as_array().or(schema["anyOf"].as_array());
    let Some(choices) = choices else {
        return format!("{}\n\n", summary(schema));
    };
    let mut text = "One of:\n\n".to_owned();
    for choice in choices {
        let about = description(choice);
        let about = if about.is_empty() {
            String::new()
        } else {
            format!(": {about}")
        };
        writeln!(text, "- {}{about}", summary(choice)).unwrap();
    }
    text + "\n"
}

fn fields(schema: &Value) -> String {
    let required = schema["required"].as_array();
    let mut text = "| field | type | | meaning |\n|---|---|---|---|\n".to_owned();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let is_required = required.is_some_and(|names| names.iter().any(|known| known == name));
        let need = if is_required { "required" } else { "" };
        let kind = summary(field).replace('|', "\\|");
        let meaning = description(field).replace('|', "\\|").replace('\n', " ");
        writeln!(text, "| `{name}` | {kind} | {need} | {meaning} |").unwrap();
    }
    text + "\n"
}

/// Describes a type briefly. Missing and null mean the same on this wire, so null is left out.
fn summary(schema: &Value) -> String {
    if let Some(name) = referred(schema) {
        let tag = &schema["properties"]["type"]["const"];
        return match tag.as_str() {
            Some(tag) => format!("{} with `type` `{tag:?}`", link(name)),
            None => link(name),
        };
    }
    if !schema["const"].is_null() {
        return format!("`{}`", schema["const"]);
    }
    if let Some(choices) = schema["enum"].as_array() {
        let texts = choices.iter().map(|choice| format!("`{choice}`"));
        return texts.collect::<Vec<_>>().join(" | ");
    }
    for key in ["oneOf", "anyOf"] {
        if let Some(choices) = schema[key].as_array() {
            let choices = choices.iter().filter(|choice| choice["type"] != "null");
            return choices.map(summary).collect::<Vec<_>>().join(" | ");
        }
    }
    let names: Vec<&Value> = match &schema["type"] {
        Value::Array(names) => names.iter().filter(|name| *name != "null").collect(),
        name => vec![name],
    };
    let texts = names.iter().map(|name| typed(name, schema));
    texts.collect::<Vec<_>>().join(" | ")
}

fn typed(name: &Value, schema: &Value) -> String {
    match name.as_str() {
        Some("string") if schema["format"] == "uuid" => "uuid".to_owned(),
        Some("array") => format!("list of {}", summary(&schema["items"])),
        Some("object") => match (&schema["properties"], &schema["additionalProperties"]) {
            (Value::Object(fields), _) => {
                let fields = fields.iter().map(|(name, field)| match &field["const"] {
                    Value::Null => format!("`{name}`: {}", summary(field)),
                    tag => format!("`{name}`: `{tag}`"),
                });
                format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
            }
            (_, values @ Value::Object(_)) => format!("object of {}", summary(values)),
            _ => "object".to_owned(),
        },
        Some(name) => name.to_owned(),
        None => "any JSON".to_owned(),
    }
}

fn error_codes() -> String {
    let mut text = "## Error codes\n\n| code | HTTP | meaning |\n|---|---|---|\n".to_owned();
    for code in ErrorCode::ALL {
        writeln!(
            text,
            "| `{code}` | {} | {} |",
            code.http_status(),
            code.summary()
        )
        .unwrap();
    }
    text + "\n"
}

fn scopes(schema: &Value) -> String {
    let mut text = "## Scopes\n\nThe first four contain each other, from `read` up. They come only from the daemon's own record of a token.\n\n| scope | lets its holder |\n|---|---|\n".to_owned();
    let described = schema["oneOf"].as_array().expect("scopes are described");
    for scope in Scope::ALL {
        let choice = described
            .iter()
            .find(|choice| choice["const"] == scope.as_str());
        let about = choice.map(description).unwrap_or_default();
        writeln!(text, "| `{}` | {about} |", scope.as_str()).unwrap();
    }
    text.push_str("| `service:NAME` | Register the service NAME, with methods and events under `NAME.`; nothing else. |\n\n");
    text
}

fn bounds() -> String {
    let mut text = "## Limits\n\n| limit | value | meaning |\n|---|---|---|\n".to_owned();
    for limit in limits::ALL {
        writeln!(
            text,
            "| `{}` | {} | {} |",
            limit.name(),
            grouped(limit.value),
            limit.summary
        )
        .unwrap();
    }
    text
}

/// Formats a number with a comma between groups of three digits.
fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn link(name: &str) -> String {
    format!("[{name}](#{})", name.to_lowercase())
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
