//! A generateContent request, refused where Gemini refuses it.

use super::contents;
use crate::refusal::{ReadResult, SimRefusal};
use crate::request::{Dialect, Flavour, SimRequest};
use crate::route::RouteTarget;
use crate::rules::{self, in_range, is_count};
use serde_json::Value;

/// Bytes of a tool's name.
const NAME_MAX: usize = 64;
/// Every field a request may have, as the provider's documents write them.
const FIELDS: &[&str] = &[
    "cachedContent",
    "contents",
    "generationConfig",
    "model",
    "safetySettings",
    "serviceTier",
    "store",
    "systemInstruction",
    "toolConfig",
    "tools",
];
/// Every field of `generationConfig`.
const CONFIG_FIELDS: &[&str] = &[
    "candidateCount",
    "enableEnhancedCivicAnswers",
    "frequencyPenalty",
    "imageConfig",
    "logprobs",
    "maxOutputTokens",
    "mediaResolution",
    "presencePenalty",
    "responseJsonSchema",
    "responseLogprobs",
    "responseMimeType",
    "responseModalities",
    "responseSchema",
    "seed",
    "speechConfig",
    "stopSequences",
    "temperature",
    "thinkingConfig",
    "topK",
    "topP",
];
/// Every field of a schema in the provider's own subset, which `parameters` and `responseSchema`
/// have to keep to; any JSON schema may go in `parametersJsonSchema` and `responseJsonSchema`.
const SCHEMA_FIELDS: &[&str] = &[
    "anyOf",
    "default",
    "description",
    "enum",
    "example",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "nullable",
    "pattern",
    "properties",
    "propertyOrdering",
    "required",
    "title",
    "type",
];

pub(crate) fn read(target: &RouteTarget, body: Value) -> ReadResult<SimRequest> {
    check_known(&body, FIELDS, "")?;
    let config = get(&body, "generationConfig");
    check_known(config, CONFIG_FIELDS, " at 'generation_config'")?;
    check_numbers(config)?;
    let schema = schema(config)?;
    let tools = tools(&body)?;
    let (system, messages) = contents::read(&target.model, &body)?;
    Ok(SimRequest {
        dialect: Dialect::Gemini,
        flavour: Flavour::Openai,
        model: target.model.clone(),
        system,
        messages,
        tools,
        stream: target.stream,
        wants_usage: true,
        schema,
        headers: Vec::new(),
        body,
    })
}

/// A field by the name the documents give it, or in snake case, which is understood as well.
pub(super) fn get<'a>(value: &'a Value, field: &str) -> &'a Value {
    match &value[field] {
        Value::Null => &value[snake(field).as_str()],
        found => found,
    }
}

/// Refuses fields that do not exist, the way the provider's JSON reader does.
pub(super) fn check_known(value: &Value, known: &[&str], place: &str) -> ReadResult<()> {
    let names = rules::fields(value).into_iter().flatten();
    for (name, _) in names {
        let found = known
            .iter()
            .any(|field| field == name || snake(field) == *name);
        if !found {
            return Err(SimRefusal::bad(format!(
                "Invalid JSON payload received. Unknown name \"{name}\"{place}: Cannot find field."
            )));
        }
    }
    Ok(())
}

fn check_numbers(config: &Value) -> ReadResult<()> {
    for (field, high) in [("temperature", 2.0), ("topP", 1.0)] {
        if !in_range(get(config, field), 0.0, high) {
            return Err(SimRefusal::bad(format!(
                "* GenerateContentRequest.generation_config.{}: {field} must be in the range [0.0, {high}].",
                snake(field)
            )));
        }
    }
    if !is_count(get(config, "maxOutputTokens")) {
        return Err(SimRefusal::bad(
            "* GenerateContentRequest.generation_config.max_output_tokens: max_output_tokens must be positive.",
        ));
    }
    Ok(())
}

fn schema(config: &Value) -> ReadResult<Option<Value>> {
    let own = get(config, "responseSchema");
    let any = get(config, "responseJsonSchema");
    let json = get(config, "responseMimeType") == "application/json";
    if (!own.is_null() || !any.is_null()) && !json {
        return Err(SimRefusal::bad(
            "* GenerateContentRequest.generation_config.response_mime_type: response mimetype must be application/json when a response schema is set.",
        ));
    }
    check_schema(own, "generation_config.response_schema")?;
    let found = [own, any].into_iter().find(|schema| !schema.is_null());
    Ok(found.cloned())
}

fn check_schema(schema: &Value, path: &str) -> ReadResult<()> {
    check_known(schema, SCHEMA_FIELDS, &format!(" at '{path}'"))?;
    if schema["type"].is_array() {
        return Err(SimRefusal::bad(format!(
            "Invalid JSON payload received. Proto field is not repeating, cannot start list at '{path}.type'."
        )));
    }
    for (name, property) in rules::fields(&schema["properties"]).into_iter().flatten() {
        check_schema(property, &format!("{path}.properties[{name}]"))?;
    }
    for option in schema["anyOf"].as_array().into_iter().flatten() {
        check_schema(option, &format!("{path}.any_of"))?;
    }
    check_schema_items(&schema["items"], path)
}

fn check_schema_items(items: &Value, path: &str) -> ReadResult<()> {
    if items.is_null() {
        return Ok(());
    }
    check_schema(items, &format!("{path}.items"))
}

fn tools(body: &Value) -> ReadResult<Vec<String>> {
    let list = rules::list(body, "tools", || {
        SimRefusal::bad("Invalid value at 'tools': expected a list.")
    })?;
    let mut names: Vec<String> = Vec::new();
    for (at, tool) in list.iter().enumerate() {
        let known = [
            "functionDeclarations",
            "googleSearch",
            "codeExecution",
            "urlContext",
        ];
        check_known(tool, &known, &format!(" at 'tools[{at}]'"))?;
        let declared = get(tool, "functionDeclarations").as_array();
        for (nth, function) in declared.into_iter().flatten().enumerate() {
            let path = format!("tools[{at}].function_declarations[{nth}]");
            let name = declaration(function, &path)?;
            if names.contains(&name) {
                return Err(SimRefusal::bad(format!(
                    "Duplicate function declaration found: {name}"
                )));
            }
            names.push(name);
        }
    }
    Ok(names)
}

fn declaration(function: &Value, path: &str) -> ReadResult<String> {
    let known = [
        "name",
        "description",
        "parameters",
        "parametersJsonSchema",
        "response",
        "responseJsonSchema",
        "behavior",
    ];
    check_known(function, &known, &format!(" at '{path}'"))?;
    let name = function["name"].as_str().unwrap_or_default();
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte);
    let begins = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    if !begins || name.len() > NAME_MAX || !name.bytes().all(fits) {
        return Err(SimRefusal::bad(format!(
            "* GenerateContentRequest.{path}.name: Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of {NAME_MAX}."
        )));
    }
    let parameters = get(function, "parameters");
    check_schema(parameters, &format!("{path}.parameters"))?;
    let kind = parameters["type"].as_str().unwrap_or("object");
    if !kind.eq_ignore_ascii_case("object") {
        return Err(SimRefusal::bad(format!(
            "* GenerateContentRequest.{path}.parameters.type: schema should be of type OBJECT."
        )));
    }
    Ok(name.to_owned())
}

fn snake(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}
