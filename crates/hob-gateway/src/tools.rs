//! Tools over HTTP: `GET /api/tools/openapi.json` is the OpenAPI document of the current tools,
//! including those of outside services. `POST /api/tools/NAME` runs one with the body as arguments.
//!
//! Invariants: a call runs as the caller and needs the scope of `tool.execute`. An unknown tool is
//! a 404, while a tool's failure is a normal answer. Every `$ref` names a schema of the document.

use crate::http::{BearerAuth, HttpState, JSON, RequestId};
use crate::http_error::HttpError;
use crate::openapi::{SchemaRegistry, error_response, error_schema, reference, wrap_document};
use crate::rest::read_params;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Extension, Path, State};
use axum::http::{Response, header};
use bytes::Bytes;
use hob_wire::rooms::tool::{
    Describe, List, ToolDescribeParams, ToolExecuteResult, ToolListParams, ToolSpec,
};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The surface of these callers.
const SURFACE: &str = "http";

/// `GET /api/tools/openapi.json`.
pub(crate) async fn describe(
    State(state): State<Arc<HttpState>>,
    BearerAuth(principal): BearerAuth,
) -> Result<Response<Body>, HttpError> {
    let caller = state.caller(&principal, SURFACE)?;
    let tools = caller.call::<List>(&ToolListParams::default()).await?.tools;
    Ok(json_response(Bytes::from(document(&tools).to_string())))
}

/// `POST /api/tools/NAME`.
pub(crate) async fn execute(
    State(state): State<Arc<HttpState>>,
    BearerAuth(principal): BearerAuth,
    Extension(RequestId(trace)): Extension<RequestId>,
    name: Result<Path<String>, PathRejection>,
    request: axum::extract::Request,
) -> Result<Response<Body>, HttpError> {
    let Path(name) = name.map_err(|failure| HttpError::bad_request(failure.body_text()))?;
    let (parts, body) = request.into_parts();
    let args = read_params(&parts.headers, body).await?;
    let args: Value = match args {
        Some(bytes) => serde_json::from_slice(&bytes)
            .map_err(|failure| HttpError::bad_request(failure.to_string()))?,
        None => json!({}),
    };
    let caller = state.caller(&principal, SURFACE)?;
    // `tool.execute` answers an unknown tool with a text for a model; over HTTP it must be a 404.
    let describe = ToolDescribeParams { name, wait: false };
    caller.call::<Describe>(&describe).await?;
    let params = json!({ "name": describe.name, "args": args }).to_string();
    let params = Some(Bytes::from(params));
    let answer = caller
        .call_raw("tool.execute", params, Some(&trace))
        .await?;
    let answer = answer.unwrap_or_else(|| Bytes::from_static(b"null"));
    Ok(json_response(answer))
}

fn json_response(bytes: Bytes) -> Response<Body> {
    let mut response = Response::new(Body::from(bytes));
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}

/// Builds the OpenAPI document of these tools.
fn document(tools: &[ToolSpec]) -> Value {
    let mut schemas = SchemaRegistry::default();
    let error = error_schema(&mut schemas);
    schemas.insert("Error", error);
    let result = schemas.add(
        "tools",
        "ToolResult",
        schemars::schema_for!(ToolExecuteResult),
    );
    let mut paths = Map::new();
    for tool in tools {
        let path = format!("/api/tools/{}", tool.name);
        let operation = operation(tool, &result, &mut schemas);
        paths.insert(path, json!({ "post": operation }));
    }
    let about = "Every tool as one POST, run as the caller's own act: it needs the scope control and is recorded.";
    wrap_document("hob tools", about, &paths, &schemas)
}

fn operation(tool: &ToolSpec, result: &str, schemas: &mut SchemaRegistry) -> Value {
    let name = format!("tool.{}", tool.name);
    let params = schemas.add(&name, &name, arguments(tool));
    let required = schemas.requires_something(&params);
    // A summary is one line; the first clause of the description serves as one.
    let summary = tool.description.split(['.', ':']).next();
    json!({
        "operationId": tool.name,
        "tags": ["tools"],
        "summary": summary.unwrap_or_default(),
        "description": tool.description,
        "x-hob-tier": tool.tier,
        "x-hob-effect": tool.effect,
        "x-hob-aliases": tool.aliases,
        "requestBody": {
            "required": required,
            "content": { "application/json": { "schema": reference(&params) } },
        },
        "responses": {
            "200": {
                "description": "What the tool answers; `isError` says that it could not.",
                "content": { "application/json": { "schema": reference(result) } },
            },
            "default": error_response(),
        },
    })
}

/// The schema of a tool's arguments. The registry does not know the `definitions` of older JSON
/// Schema drafts, so a schema with them is described as any object.
fn arguments(tool: &ToolSpec) -> schemars::Schema {
    let known = |schema: &Value| schema.get("definitions").is_none();
    let schema = Some(tool.parameters.clone()).filter(known);
    let schema = schema.and_then(|schema| schemars::Schema::try_from(schema).ok());
    schema.unwrap_or_else(|| schemars::json_schema!({ "type": "object" }))
}

#[cfg(test)]
#[path = "tools_tests.rs"]
mod tests;
