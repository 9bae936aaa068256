//! Tools over HTTP: `GET /api/tools/openapi.json` is the OpenAPI document of the tools there are
//! now, those of outside services included; `POST /api/tools/NAME` runs one, with its arguments as
//! the body.
//!
//! Invariants: a call is the caller's own act and needs what `tool.execute` needs; a tool that is
//! not there is no path, while what a tool could not do is its answer; every `$ref` of the document
//! names a schema of it.

use crate::http::{Desk, JSON, Known, RequestId};
use crate::openapi::{Schemas, error_schema, failure, frame, reference};
use crate::refusal::Refusal;
use crate::rest::read_params;
use crate::shared;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Extension, Path, State};
use axum::http::{Response, header};
use bytes::Bytes;
use hob_wire::rooms::tool::{Describe, DescribeParams, Executed, List, ListParams, ToolSpec};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The surface these callers come by.
const SURFACE: &str = "http";

/// `GET /api/tools/openapi.json`.
pub(crate) async fn describe(
    State(desk): State<Arc<Desk>>,
    Known(principal): Known,
) -> Result<Response<Body>, Refusal> {
    let peer = shared::peer(&principal, SURFACE);
    let caller = desk.shared.bus.caller_as(peer)?;
    let tools = caller.call::<List>(&ListParams::default()).await?.tools;
    Ok(json_response(Bytes::from(document(&tools).to_string())))
}

/// `POST /api/tools/NAME`.
pub(crate) async fn execute(
    State(desk): State<Arc<Desk>>,
    Known(principal): Known,
    Extension(RequestId(trace)): Extension<RequestId>,
    name: Result<Path<String>, PathRejection>,
    request: axum::extract::Request,
) -> Result<Response<Body>, Refusal> {
    let Path(name) = name.map_err(|failure| Refusal::bad_request(failure.body_text()))?;
    let (parts, body) = request.into_parts();
    let args = read_params(&parts.headers, body).await?;
    let args: Value = match args {
        Some(bytes) => serde_json::from_slice(&bytes)
            .map_err(|failure| Refusal::bad_request(failure.to_string()))?,
        None => json!({}),
    };
    let peer = shared::peer(&principal, SURFACE);
    let caller = desk.shared.bus.caller_as(peer)?;
    // The room answers a call of no tool in words for a model; here it is a wrong address.
    let wanted = DescribeParams { name, wait: false };
    caller.call::<Describe>(&wanted).await?;
    let params = json!({ "name": wanted.name, "args": args }).to_string();
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

/// The document of these tools.
pub fn document(tools: &[ToolSpec]) -> Value {
    let mut schemas = Schemas::default();
    let error = error_schema(&mut schemas);
    schemas.insert("Error", error);
    let result = schemas.add("tools", "ToolResult", schemars::schema_for!(Executed));
    let mut paths = Map::new();
    for tool in tools {
        let path = format!("/api/tools/{}", tool.name);
        let operation = operation(tool, &result, &mut schemas);
        paths.insert(path, json!({ "post": operation }));
    }
    let about = "Every tool as one POST, run as the caller's own act: it needs the scope control and is recorded.";
    frame("hob tools", about, &paths, &schemas)
}

fn operation(tool: &ToolSpec, result: &str, schemas: &mut Schemas) -> Value {
    let name = format!("tool.{}", tool.name);
    let params = schemas.add(&name, &name, arguments(tool));
    let required = schemas.requires_something(&params);
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
            "default": failure(),
        },
    })
}

/// What a tool takes. Definitions under the keyword of former drafts cannot be filed, so a schema
/// with such is told as any object.
fn arguments(tool: &ToolSpec) -> schemars::Schema {
    let known = |schema: &Value| schema.get("definitions").is_none();
    let schema = Some(tool.parameters.clone()).filter(known);
    let schema = schema.and_then(|schema| schemars::Schema::try_from(schema).ok());
    schema.unwrap_or_else(|| schemars::json_schema!({ "type": "object" }))
}

#[cfg(test)]
#[path = "tools_tests.rs"]
mod tests;
