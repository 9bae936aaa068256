//! The Loop Runner surface in the OpenAPI document.

use crate::looprunner::types::{
    LoopRunnerAck, LoopRunnerConfigChange, LoopRunnerConfigReply, LoopRunnerCreateBody,
    LoopRunnerCreateReply, LoopRunnerDetail, LoopRunnerEvent, LoopRunnerIteration,
    LoopRunnerNamedModel, LoopRunnerSnapshot, LoopRunnerSummary, PersistentBody, WorkingBody,
};
use hob_gateway::openapi::{SchemaRegistry, error_response, reference};
use schemars::{JsonSchema, schema_for};
use serde_json::{Map, Value, json};

/// The paths of this surface.
pub(crate) fn paths(schemas: &mut SchemaRegistry) -> Map<String, Value> {
    let mut paths = Map::new();
    paths.extend(loop_paths("", "looprunner", schemas));
    paths.extend(loop_paths("/loops/{id}", "loops", schemas));
    let models = answer(
        "Every model there is.",
        &list_of::<LoopRunnerNamedModel>(schemas),
    );
    let models = operation("looprunner.models", "read", ANY, models);
    paths.insert("/api/models".to_owned(), json!({ "get": models }));
    let listed = answer(
        "Every loop, by name.",
        &list_of::<LoopRunnerSummary>(schemas),
    );
    let mut made = answer(
        "The loop is made; it does not run yet.",
        &add_schema::<LoopRunnerCreateReply>(schemas),
    );
    made["responses"] = json!({ "201": made["responses"]["200"] });
    let mut create = operation("loops.create", "control", &[400, 403, 409, 413, 415], made);
    create["requestBody"] = body(&add_schema::<LoopRunnerCreateBody>(schemas));
    paths.insert(
        "/api/loops".to_owned(),
        json!({ "get": operation("loops.list", "read", ANY, listed), "post": create }),
    );
    let shown = answer("The loop.", &add_schema::<LoopRunnerDetail>(schemas));
    let gone = answer(
        "It is gone, with its history.",
        &add_schema::<LoopRunnerAck>(schemas),
    );
    paths.insert(
        "/api/loops/{id}".to_owned(),
        json!({
            "parameters": id_parameter(),
            "get": operation("loops.show", "read", &[403, 404], shown),
            "delete": operation("loops.delete", "control", &[403, 404, 409], gone),
        }),
    );
    paths
}

/// Error statuses of every path.
const ANY: &[u16] = &[403];

/// The paths of one loop, below `/api` and `root`.
struct LoopPaths<'a> {
    root: &'a str,
    tag: &'a str,
}

impl LoopPaths<'_> {
    fn at(&self, what: &str, method: &str, operation: Value) -> (String, Value) {
        let root = self.root;
        let mut path = Map::new();
        if !root.is_empty() {
            path.insert("parameters".to_owned(), id_parameter());
        }
        path.insert(method.to_owned(), operation);
        (format!("/api{root}/{what}"), Value::Object(path))
    }

    fn get(&self, what: &str, answer: Value) -> (String, Value) {
        let id = format!("{}.{what}", self.tag);
        self.at(what, "get", operation(&id, "read", &[403, 404], answer))
    }

    fn post(
        &self,
        what: &str,
        statuses: &[u16],
        answer: Value,
        body: Option<Value>,
    ) -> (String, Value) {
        let id = format!("{}.{what}", self.tag);
        let mut operation = operation(&id, "control", statuses, answer);
        if let Some(body) = body {
            operation["requestBody"] = body;
        }
        self.at(what, "post", operation)
    }
}

fn loop_paths(root: &str, tag: &str, schemas: &mut SchemaRegistry) -> Vec<(String, Value)> {
    let paths = LoopPaths { root, tag };
    let shown = "State and settings.";
    let shown = answer(shown, &add_schema::<LoopRunnerSnapshot>(schemas));
    let past = "The latest iterations, the oldest first.";
    let past = answer(past, &list_of::<LoopRunnerIteration>(schemas));
    let changed = "The settings as they are now.";
    let changed = answer(changed, &add_schema::<LoopRunnerConfigReply>(schemas));
    let change = body(&add_schema::<LoopRunnerConfigChange>(schemas));
    let working = body(&add_schema::<WorkingBody>(schemas));
    let persistent = body(&add_schema::<PersistentBody>(schemas));
    let done = add_schema::<LoopRunnerAck>(schemas);
    let wrong = &[400, 403, 404, 413, 415];
    vec![
        paths.get("events", events(schemas)),
        paths.get("state", shown),
        paths.get("history", past),
        paths.post("config", wrong, changed, Some(change)),
        paths.post(
            "start",
            &[400, 403, 404, 409, 415],
            answer("It runs; one that runs already is a conflict.", &done),
            None,
        ),
        paths.post(
            "stop",
            &[403, 404, 415],
            answer("Nothing of it works any more.", &done),
            None,
        ),
        paths.post(
            "working",
            wrong,
            answer("The next iteration is shown it.", &done),
            Some(working),
        ),
        paths.post(
            "persistent",
            wrong,
            answer("Every iteration is shown it.", &done),
            Some(persistent),
        ),
    ]
}

fn events(schemas: &mut SchemaRegistry) -> Value {
    let event = add_schema::<LoopRunnerEvent>(schemas);
    json!({
        "summary": "What happens, as server-sent events; the data of each is one JSON object.",
        "parameters": [{
            "name": "Last-Event-ID", "in": "header", "required": false,
            "schema": { "type": "string" },
            "description": "The last id that was seen: what came after it is told first.",
        }],
        "responses": { "200": {
            "description": "Events without an end; the first is `connected`.",
            "content": { "text/event-stream": { "schema": event } },
        } },
    })
}

fn answer(about: &str, schema: &Value) -> Value {
    json!({
        "summary": about,
        "responses": { "200": {
            "description": about,
            "content": { "application/json": { "schema": schema } },
        } },
    })
}

/// An operation with its answer and its error statuses.
fn operation(id: &str, scope: &str, statuses: &[u16], answer: Value) -> Value {
    let mut operation = json!({
        "operationId": id,
        "tags": ["loops"],
        "x-hob-scope": scope,
    });
    if let (Some(operation), Value::Object(answer)) = (operation.as_object_mut(), answer) {
        operation.extend(answer);
    }
    for status in statuses {
        operation["responses"][status.to_string()] = error_response();
    }
    operation["responses"]["default"] = error_response();
    operation
}

fn body(schema: &Value) -> Value {
    json!({ "required": true, "content": { "application/json": { "schema": schema } } })
}

fn id_parameter() -> Value {
    json!([{
        "name": "id", "in": "path", "required": true, "schema": { "type": "string" },
        "description": "The loop's name.",
    }])
}

fn add_schema<T: JsonSchema>(schemas: &mut SchemaRegistry) -> Value {
    let name = format!("looprunner.{}", T::schema_name());
    reference(&schemas.add("looprunner", &name, schema_for!(T)))
}

fn list_of<T: JsonSchema>(schemas: &mut SchemaRegistry) -> Value {
    json!({ "type": "array", "items": add_schema::<T>(schemas) })
}

#[cfg(test)]
#[path = "openapi_doc_tests.rs"]
mod tests;
