//! The document is complete for any set of tools.

use super::document;
use hob_wire::work::ToolSpec;
use serde_json::{Value, json};

fn tool(name: &str, parameters: &Value) -> ToolSpec {
    let spec = json!({
        "name": name, "description": "Does it. And more.", "parameters": parameters,
        "tier": "read", "effect": "pure", "approval": "Do it", "aliases": ["x.y"],
    });
    serde_json::from_value(spec).unwrap()
}

fn references<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::Object(object) => {
            if let Some(Value::String(target)) = object.get("$ref") {
                found.push(target);
            }
            object.values().for_each(|inner| references(inner, found));
        }
        Value::Array(list) => list.iter().for_each(|inner| references(inner, found)),
        _ => {}
    }
}

#[test]
fn every_tool_is_one_post_and_every_reference_resolves() {
    let one = json!({ "type": "object", "required": ["n"], "properties": { "n": { "$ref": "#/$defs/n" } }, "$defs": { "n": { "type": "integer" } } });
    let two = json!({ "type": "object", "properties": { "n": { "$ref": "#/$defs/n" }, "me": { "$ref": "#" } }, "$defs": { "n": { "type": "string" } } });
    let old = json!({ "type": "object", "properties": { "n": { "$ref": "#/definitions/n" } }, "definitions": { "n": {} } });
    let document = document(&[tool("one", &one), tool("two", &two), tool("old", &old)]);
    let post = &document["paths"]["/api/tools/one"]["post"];
    assert_eq!(post["operationId"], "one");
    assert_eq!(post["summary"], "Does it");
    assert_eq!(post["requestBody"]["required"], true);
    assert_eq!(post["x-hob-aliases"], json!(["x.y"]));
    assert_eq!(
        document["paths"]["/api/tools/two"]["post"]["requestBody"]["required"],
        false
    );
    let schemas = &document["components"]["schemas"];
    assert_eq!(schemas["tool.one.n"]["type"], "integer");
    assert_eq!(schemas["tool.two.n"]["type"], "string");
    assert_eq!(schemas["tool.old"], json!({ "type": "object" }));
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.len() > 9);
    for target in found {
        let pointer = target.strip_prefix('#').unwrap();
        assert!(
            document.pointer(pointer).is_some(),
            "{target} leads nowhere"
        );
    }
    let text = document.to_string();
    assert!(!text.contains("$defs") && !text.contains("\"$schema\""));
}
