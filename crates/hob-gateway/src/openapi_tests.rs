//! The document is complete: it has every method, and every reference resolves.

use super::{SchemaRegistry, document};
use hob_wire::catalog;
use schemars::JsonSchema;
use serde_json::Value;

fn references<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::Object(object) => {
            if let Some(Value::String(target)) = object.get("$ref") {
                found.push(target);
            }
            for inner in object.values() {
                references(inner, found);
            }
        }
        Value::Array(list) => list.iter().for_each(|inner| references(inner, found)),
        _ => {}
    }
}

#[test]
fn every_method_has_its_path_and_every_reference_resolves() {
    let document = document(&[]);
    for spec in catalog::methods() {
        let pointer = format!("/paths/~1api~1rpc~1{}/post", spec.name);
        let operation = document.pointer(&pointer).unwrap();
        assert_eq!(operation["operationId"], spec.name);
        assert_eq!(operation["x-hob-scope"], spec.scope.as_str());
    }
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.len() > catalog::methods().count() * 2);
    for target in found {
        let pointer = target.strip_prefix('#').unwrap();
        assert!(
            document.pointer(pointer).is_some(),
            "{target} leads nowhere"
        );
    }
    let text = document.to_string();
    assert!(!text.contains("$defs"), "a definition stayed nested");
    assert!(!text.contains("\"$schema\""));
}

#[test]
fn a_hook_has_its_path_with_what_it_answers() {
    let document = document(&[]);
    let hook = &document["paths"]["/hooks/{id}"];
    assert!(hook["parameters"].is_array());
    let hook = &hook["post"];
    assert!(hook["operationId"].is_string());
    assert!(hook["responses"]["202"].is_object());
    assert!(hook["responses"]["default"].is_object());
    assert!(hook["requestBody"]["content"]["application/json"]["schema"]["$ref"].is_null());
    assert_eq!(hook["security"], serde_json::json!([]));
}

#[test]
fn component_names_are_of_the_form_openapi_allows() {
    let document = document(&[]);
    let components = document["components"]["schemas"].as_object().unwrap();
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    for name in components.keys() {
        assert!(name.chars().all(allowed), "{name}");
    }
    let ids: Vec<&Value> = document["paths"]
        .as_object()
        .unwrap()
        .values()
        .flat_map(|path| path.as_object().unwrap().values())
        .filter_map(|operation| operation.get("operationId"))
        .collect();
    let unique: std::collections::HashSet<_> = ids.iter().collect();
    assert_eq!(unique.len(), ids.len());
}

mod one {
    #[derive(schemars::JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    pub(super) struct Shape {
        side: u32,
    }
}

mod two {
    #[derive(schemars::JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    pub(super) struct Shape {
        radius: u32,
        inner: Option<Box<Shape>>,
    }
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct HoldsOne {
    shape: one::Shape,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct HoldsTwo {
    shape: two::Shape,
    again: Option<Box<HoldsTwo>>,
}

#[test]
fn two_shapes_of_one_name_stay_two() {
    let mut schemas = SchemaRegistry::default();
    schemas.add("room", "room.a.params", schemars::schema_for!(HoldsOne));
    schemas.add("room", "room.b.params", schemars::schema_for!(HoldsTwo));
    let components = Value::Object(schemas.components);
    let of = |name: &str| components[name]["properties"]["shape"]["$ref"].clone();
    assert_eq!(of("room.a.params"), "#/components/schemas/room.Shape");
    assert_eq!(
        of("room.b.params"),
        "#/components/schemas/room.b.params.Shape"
    );
    let text = components["room.b.params.Shape"].to_string();
    assert!(text.contains("#/components/schemas/room.b.params.Shape"));
    let text = components["room.b.params"]["properties"]["again"].to_string();
    assert!(
        text.contains("#/components/schemas/room.b.params\""),
        "{text}"
    );
}
