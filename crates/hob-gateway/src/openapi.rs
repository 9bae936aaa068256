//! The OpenAPI document of the HTTP surfaces. The REST part is derived from the method catalog, so
//! a new method appears here by itself.
//!
//! Invariants: every `$ref` names a schema of the document. Types of the same name in different
//! rooms do not collide, because each is stored under its room or its method.

use crate::dialect::DialectEntry;
use crate::http::{HttpState, JSON, ReadScope};
use crate::{hooks, openai, speech};
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, header};
use bytes::Bytes;
use hob_wire::{Idempotency, MethodSpec, WireError, catalog};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// `GET /api/openapi.json`.
pub(crate) async fn serve(State(state): State<Arc<HttpState>>, _: ReadScope) -> Response<Body> {
    let shared = &state.shared;
    // Methods and dialects do not change while hob runs, so the document is built once.
    let built = || Bytes::from(document(shared.dialects).to_string());
    let text = shared.openapi_text.get_or_init(built);
    let mut response = Response::new(Body::from(text.clone()));
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}

/// Builds the document.
pub fn document(dialects: &[DialectEntry]) -> Value {
    let mut schemas = SchemaRegistry::default();
    let error = error_schema(&mut schemas);
    schemas.components.insert("Error".to_owned(), error);
    let openai_error = openai::openapi_doc::error_schema();
    schemas
        .components
        .insert("OpenaiError".to_owned(), openai_error);
    let mut paths = probe_paths();
    paths.extend(openai::openapi_doc::paths());
    paths.extend(speech::openapi_paths());
    for dialect in dialects {
        paths.extend((dialect.openapi_paths)(&mut schemas));
    }
    paths.insert("/hooks/{id}".to_owned(), hooks::openapi_path());
    for spec in catalog::methods() {
        let path = format!("/api/rpc/{}", spec.name);
        paths.insert(path, json!({ "post": operation(spec, &mut schemas) }));
    }
    paths.insert("/api/rpc/{method}".to_owned(), any_method());
    paths.insert("/api/tools/{tool}".to_owned(), any_tool());
    paths.insert("/api/tools/openapi.json".to_owned(), tools_document());
    let about = "Every method of the bus as one POST. The same methods, and events, are on the WebSocket at /ws.";
    wrap_document("hob", about, &paths, &schemas)
}

/// Wraps paths and schemas into a complete document.
pub(crate) fn wrap_document(
    title: &str,
    about: &str,
    paths: &Map<String, Value>,
    schemas: &SchemaRegistry,
) -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": title,
            "version": env!("CARGO_PKG_VERSION"),
            "description": about,
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "security": [{ "bearer": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "bearer": { "type": "http", "scheme": "bearer" } },
            "schemas": schemas.components,
        },
    })
}

fn operation(spec: &MethodSpec, schemas: &mut SchemaRegistry) -> Value {
    let params = schemas.add(
        spec.service,
        &format!("{}.params", spec.name),
        (spec.params)(),
    );
    let result = schemas.add(
        spec.service,
        &format!("{}.result", spec.name),
        (spec.result)(),
    );
    let required = schemas.requires_something(&params);
    let summary = spec.summary.lines().next().unwrap_or_default().trim();
    json!({
        "operationId": spec.name,
        "tags": [spec.service],
        "summary": summary,
        "description": spec.about(),
        "x-hob-scope": spec.scope,
        "x-hob-effect": spec.effect,
        "requestBody": {
            "required": required,
            "content": { "application/json": { "schema": reference(&params) } },
        },
        "responses": {
            "200": {
                "description": if spec.effect == Idempotency::Pure { "What was asked for." } else { "Done." },
                "content": { "application/json": { "schema": reference(&result) } },
            },
            "default": error_response(),
        },
    })
}

/// The entry for methods of outside services, which have no schema here.
fn any_method() -> Value {
    json!({
        "parameters": [{
            "name": "method", "in": "path", "required": true, "schema": { "type": "string" },
        }],
        "post": {
            "operationId": "outside",
            "tags": ["outside"],
            "summary": "Calls a method that an outside service registered; needs scope control.",
            "requestBody": { "required": false, "content": { "application/json": { "schema": {} } } },
            "responses": {
                "200": {
                    "description": "The service's answer.",
                    "content": { "application/json": { "schema": {} } },
                },
                "default": error_response(),
            },
        },
    })
}

/// The entry of the tools' own document. The set of tools changes while hob runs.
fn tools_document() -> Value {
    json!({
        "get": {
            "operationId": "tools.document",
            "tags": ["tools"],
            "summary": "The OpenAPI document of the tools there are now.",
            "responses": {
                "200": {
                    "description": "The document.",
                    "content": { "application/json": { "schema": { "type": "object" } } },
                },
                "default": error_response(),
            },
        },
    })
}

fn any_tool() -> Value {
    json!({
        "parameters": [{
            "name": "tool", "in": "path", "required": true, "schema": { "type": "string" },
        }],
        "post": {
            "operationId": "tools.run",
            "tags": ["tools"],
            "summary": "Runs a tool with its arguments as the body; needs scope control.",
            "requestBody": { "required": false, "content": { "application/json": { "schema": { "type": "object" } } } },
            "responses": {
                "200": {
                    "description": "What the tool answers.",
                    "content": { "application/json": { "schema": reference("tool.execute.result") } },
                },
                "default": error_response(),
            },
        },
    })
}

fn probe_paths() -> Map<String, Value> {
    let text = |id: &str, summary: &str, open: bool| {
        let mut get = json!({
            "operationId": id,
            "tags": ["probes"],
            "summary": summary,
            "responses": {
                "200": {
                    "description": "Yes.",
                    "content": { "text/plain": { "schema": { "type": "string" } } },
                },
                "default": error_response(),
            },
        });
        // An empty list overrides the document's own security: no token is needed.
        if open {
            get["security"] = json!([]);
        }
        json!({ "get": get })
    };
    let mut paths = Map::new();
    paths.insert(
        "/health".to_owned(),
        text("health", "Whether the process answers.", true),
    );
    paths.insert(
        "/ready".to_owned(),
        text("ready", "Whether it takes work.", false),
    );
    paths.insert(
        "/metrics".to_owned(),
        text("metrics", "Prometheus text.", false),
    );
    paths
}

pub fn error_response() -> Value {
    json!({
        "description": "Refused or failed; `error.code` says how, `error.message` what to do.",
        "content": { "application/json": { "schema": reference("Error") } },
    })
}

pub(crate) fn error_schema(schemas: &mut SchemaRegistry) -> Value {
    let name = schemas.add(
        "gateway",
        "gateway.WireError",
        schemars::schema_for!(WireError),
    );
    json!({
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "allOf": [
                    reference(&name),
                    {
                        "type": "object",
                        "required": ["request_id", "timestamp"],
                        "properties": {
                            "request_id": { "type": "string", "description": "Also the trace: `hob trace ID` shows it." },
                            "timestamp": { "type": "integer", "description": "Milliseconds since 1970." },
                        },
                    },
                ],
            },
        },
    })
}

pub fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// The schemas of a document, collected while its paths are built.
#[derive(Debug, Default)]
pub struct SchemaRegistry {
    components: Map<String, Value>,
}

impl SchemaRegistry {
    pub(crate) fn insert(&mut self, name: &str, schema: Value) {
        self.components.insert(name.to_owned(), schema);
    }

    /// Adds a schema under `name` and its definitions under their room. Returns `name`.
    pub fn add(&mut self, service: &str, name: &str, schema: schemars::Schema) -> String {
        let mut schema = schema.to_value();
        let mut renames = Map::new();
        // Names are chosen for all definitions before any is stored: they may refer to each other.
        let definitions = take_definitions(&mut schema);
        for (own, definition) in &definitions {
            let filed = self.component_name(service, name, own, definition);
            renames.insert(own.clone(), Value::String(filed));
        }
        for (own, mut definition) in definitions {
            rewrite_refs(&mut definition, name, &renames);
            if let Some(Value::String(filed)) = renames.get(&own) {
                self.components.insert(filed.clone(), definition);
            }
        }
        rewrite_refs(&mut schema, name, &renames);
        self.components.insert(name.to_owned(), schema);
        name.to_owned()
    }

    /// Returns `service.Type`, or a longer name if the room has another type of that name.
    fn component_name(&self, service: &str, name: &str, own: &str, definition: &Value) -> String {
        let usual = format!("{service}.{own}");
        // A type that several methods of a room use is stored once.
        let same = |filed: &Value| shape_key(filed) == shape_key(definition);
        match self.components.get(&usual) {
            Some(filed) if !same(filed) => format!("{name}.{own}"),
            _ => usual,
        }
    }

    pub(crate) fn requires_something(&self, name: &str) -> bool {
        let required = self
            .components
            .get(name)
            .and_then(|schema| schema.get("required"));
        required
            .and_then(Value::as_array)
            .is_some_and(|list| !list.is_empty())
    }
}

/// A key that distinguishes two types of one name. References are left out, because they are
/// rewritten.
fn shape_key(schema: &Value) -> (Option<&Value>, Option<Vec<&String>>, Option<&Value>) {
    let properties = schema.get("properties").and_then(Value::as_object);
    (
        schema.get("description"),
        properties.map(|properties| properties.keys().collect()),
        schema.get("enum"),
    )
}

fn take_definitions(schema: &mut Value) -> Map<String, Value> {
    let Some(object) = schema.as_object_mut() else {
        return Map::new();
    };
    object.remove("$schema");
    match object.remove("$defs") {
        Some(Value::Object(definitions)) => definitions,
        _ => Map::new(),
    }
}

/// Rewrites every reference inside `schema` to the component's name in the document.
fn rewrite_refs(schema: &mut Value, root: &str, renames: &Map<String, Value>) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::String(target)) = object.get_mut("$ref") {
                // `#` is the schema itself, which is no longer the root of a document.
                if target == "#" {
                    *target = format!("#/components/schemas/{root}");
                } else if let Some(Value::String(filed)) = target
                    .strip_prefix("#/$defs/")
                    .and_then(|own| renames.get(own))
                {
                    *target = format!("#/components/schemas/{filed}");
                }
            }
            for value in object.values_mut() {
                rewrite_refs(value, root, renames);
            }
        }
        Value::Array(list) => {
            for value in list {
                rewrite_refs(value, root, renames);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
#[path = "openapi_tests.rs"]
mod tests;
