//! The paths of loops in the OpenAPI document, and the document with every dialect as a whole.

use hob_gateway::openapi::document;
use serde_json::Value;
use std::collections::HashSet;

#[test]
fn loops_have_their_paths_with_what_they_take_and_answer() {
    let document = document(crate::all());
    for (path, method, body, status) in [
        ("/api/events", "get", None, "200"),
        ("/api/state", "get", None, "200"),
        ("/api/models", "get", None, "200"),
        ("/api/history", "get", None, "200"),
        ("/api/config", "post", Some("LoopRunnerConfigChange"), "200"),
        ("/api/start", "post", None, "200"),
        ("/api/stop", "post", None, "200"),
        ("/api/working", "post", Some("WorkingBody"), "200"),
        ("/api/persistent", "post", Some("PersistentBody"), "200"),
        ("/api/loops", "get", None, "200"),
        ("/api/loops", "post", Some("LoopRunnerCreateBody"), "201"),
        ("/api/loops/{id}", "get", None, "200"),
        ("/api/loops/{id}", "delete", None, "200"),
        ("/api/loops/{id}/events", "get", None, "200"),
        (
            "/api/loops/{id}/config",
            "post",
            Some("LoopRunnerConfigChange"),
            "200",
        ),
        ("/api/loops/{id}/start", "post", None, "200"),
    ] {
        let operation = &document["paths"][path][method];
        assert!(operation["operationId"].is_string(), "{method} {path}");
        assert!(
            operation["responses"][status].is_object(),
            "{method} {path}"
        );
        assert!(operation["responses"]["default"].is_object(), "{path}");
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"]["$ref"];
        let expected = body.map(|name| format!("#/components/schemas/looprunner.{name}"));
        assert_eq!(schema.as_str(), expected.as_deref(), "{method} {path}");
        let named = document["paths"][path]["parameters"].is_array();
        assert_eq!(named, path.contains('{'), "{path}");
    }
    assert!(document["paths"]["/api/start"]["post"]["responses"]["409"].is_object());
    let event = &document["components"]["schemas"]["looprunner.LoopRunnerEvent"];
    assert_eq!(event["oneOf"].as_array().unwrap().len(), 9);
}

#[test]
fn the_whole_document_holds_together() {
    let document = document(crate::all());
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.len() > 100, "{}", found.len());
    for target in found {
        let pointer = target.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{target}");
    }
    let components = document["components"]["schemas"].as_object().unwrap();
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    assert!(components.keys().all(|name| name.chars().all(allowed)));
    let paths = document["paths"].as_object().unwrap().values();
    let operations = paths.flat_map(|path| path.as_object().unwrap().values());
    let ids: Vec<&Value> = operations.filter_map(|it| it.get("operationId")).collect();
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
}

fn references<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::Object(object) => {
            found.extend(object.get("$ref").and_then(Value::as_str));
            object.values().for_each(|inner| references(inner, found));
        }
        Value::Array(list) => list.iter().for_each(|inner| references(inner, found)),
        _ => {}
    }
}
