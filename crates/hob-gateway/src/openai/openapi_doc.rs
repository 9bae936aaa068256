//! The OpenAI surface in the OpenAPI document. It lists the fields that hob reads; OpenAI's own
//! document describes the rest.

use serde_json::{Map, Value, json};

/// The paths of this surface.
pub(crate) fn paths() -> Map<String, Value> {
    let mut paths = Map::new();
    paths.insert("/v1/chat/completions".to_owned(), completions());
    let list = operation(
        "openai.models",
        "Lists hob and the models of every configured provider, as OpenAI does.",
        "read",
    );
    paths.insert("/v1/models".to_owned(), json!({ "get": list }));
    let get = operation("openai.model", "Shows one model, as OpenAI does.", "read");
    paths.insert(
        "/v1/models/{model}".to_owned(),
        json!({
            "parameters": [{
                "name": "model", "in": "path", "required": true, "schema": { "type": "string" },
                "description": "`hob`, `provider/model` or an alias.",
            }],
            "get": get,
        }),
    );
    paths
}

/// The schema of an error.
pub(crate) fn error_schema() -> Value {
    let text = json!({ "type": ["string", "null"] });
    json!({
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["message", "type", "param", "code"],
                "properties": {
                    "message": { "type": "string" },
                    "type": { "type": "string" },
                    "param": text,
                    "code": text,
                },
            },
        },
    })
}

fn completions() -> Value {
    let mut post = operation(
        "openai.chat",
        "Answers a conversation in OpenAI's form, whole or as a stream of server-sent events.",
        "chat",
    );
    post["requestBody"] = json!({
        "required": true,
        "content": { "application/json": { "schema": request_schema() } },
    });
    post["responses"]["200"]["content"]["text/event-stream"] =
        json!({ "schema": { "type": "string" } });
    json!({ "post": post })
}

fn operation(id: &str, summary: &str, scope: &str) -> Value {
    json!({
        "operationId": id,
        "tags": ["openai"],
        "summary": summary,
        "x-hob-scope": scope,
        "responses": {
            "200": {
                "description": "What was asked for.",
                "content": { "application/json": { "schema": { "type": "object" } } },
            },
            "default": {
                "description": "Refused or failed, in OpenAI's form.",
                "content": { "application/json": {
                    "schema": { "$ref": "#/components/schemas/OpenaiError" },
                } },
            },
        },
    })
}

fn request_schema() -> Value {
    let object = json!({ "type": "object" });
    json!({
        "type": "object",
        "required": ["model", "messages"],
        "properties": {
            "model": { "type": "string", "description": "`hob`, `provider/model` or an alias." },
            "messages": { "type": "array", "minItems": 1, "items": object },
            "stream": { "type": "boolean" },
            "stream_options": { "type": "object", "properties": { "include_usage": { "type": "boolean" } } },
            "tools": { "type": "array", "items": object, "description": "Functions that the client runs itself." },
            "tool_choice": {},
            "parallel_tool_calls": { "type": "boolean" },
            "response_format": object,
            "temperature": { "type": "number", "minimum": 0, "maximum": 2 },
            "top_p": { "type": "number", "minimum": 0, "maximum": 1 },
            "max_completion_tokens": { "type": "integer", "minimum": 1 },
            "max_tokens": { "type": "integer", "minimum": 1 },
            "stop": {},
            "n": { "const": 1 },
            "metadata": {
                "type": "object",
                "properties": {
                    "session": {
                        "type": "string",
                        "description": "A session of hob's: the last user message is run on it and kept.",
                    },
                },
            },
        },
    })
}
