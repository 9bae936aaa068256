//! Each keyword lets in and keeps out; unsound schemas are refused; all of it ends.

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn reasons(schema: &Value, value: &Value) -> Vec<String> {
    let schema = Schema::new(schema).expect("is sound");
    schema
        .check(value)
        .err()
        .map_or(Vec::new(), |unfit| unfit.0)
}

fn fits(schema: &Value, value: &Value) -> bool {
    reasons(schema, value).is_empty()
}

#[test]
fn each_keyword_lets_in_and_keeps_out() {
    for (schema, good, bad) in [
        (json!({ "type": "integer" }), json!(3), json!(3.5)),
        (json!({ "type": "integer" }), json!(3.0), json!("3")),
        (json!({ "type": "number" }), json!(3), json!(null)),
        (json!({ "type": ["string", "null"] }), json!(null), json!(1)),
        (json!({ "type": "object" }), json!({}), json!([])),
        (json!({ "enum": ["a", 1] }), json!(1.0), json!("b")),
        (json!({ "const": [1] }), json!([1]), json!([2])),
        (json!({ "minimum": 2, "maximum": 3 }), json!(2), json!(4)),
        (json!({ "exclusiveMinimum": 2 }), json!(2.1), json!(2)),
        (json!({ "exclusiveMaximum": 2 }), json!(1), json!(2)),
        (json!({ "multipleOf": 5 }), json!(10), json!(11)),
        (json!({ "minLength": 2 }), json!("öö"), json!("ö")),
        (json!({ "maxLength": 2 }), json!("öö"), json!("ööö")),
        (json!({ "pattern": "^a+$" }), json!("aa"), json!("ab")),
        (
            json!({ "minItems": 1, "maxItems": 2 }),
            json!([1]),
            json!([]),
        ),
        (
            json!({ "uniqueItems": true }),
            json!([1, 2]),
            json!([{ "a": 1 }, { "a": 1 }]),
        ),
        (
            json!({ "items": { "type": "string" } }),
            json!(["a"]),
            json!(["a", 1]),
        ),
        (
            json!({ "prefixItems": [{ "const": 1 }] }),
            json!([1, 9]),
            json!([2]),
        ),
        (
            json!({ "required": ["a"] }),
            json!({ "a": null }),
            json!({}),
        ),
        (json!({ "minProperties": 1 }), json!({ "a": 1 }), json!({})),
        (
            json!({ "additionalProperties": false }),
            json!({}),
            json!({ "a": 1 }),
        ),
        (
            json!({ "additionalProperties": { "type": "null" } }),
            json!({ "a": null }),
            json!({ "a": 1 }),
        ),
        (
            json!({ "anyOf": [{ "const": 1 }, { "const": 2 }] }),
            json!(2),
            json!(3),
        ),
        (
            json!({ "oneOf": [{ "type": "number" }, { "const": 2 }] }),
            json!(1),
            json!(2),
        ),
        (
            json!({ "allOf": [{ "minimum": 1 }, { "maximum": 2 }] }),
            json!(1),
            json!(3),
        ),
        (json!({ "not": { "type": "string" } }), json!(1), json!("a")),
        (
            json!({ "properties": { "a": false } }),
            json!({}),
            json!({ "a": 1 }),
        ),
        (
            json!({ "$ref": "#/$defs/n", "$defs": { "n": { "const": 1 } } }),
            json!(1),
            json!(2),
        ),
    ] {
        assert!(fits(&schema, &good), "{schema} lets in {good}");
        assert!(!fits(&schema, &bad), "{schema} keeps out {bad}");
    }
}

#[test]
fn reasons_name_the_place_and_what_would_fit() {
    let schema = json!({
        "type": "object",
        "properties": {
            "path": { "type": "string" },
            "edits": { "type": "array", "items": { "required": ["old"] } },
        },
        "required": ["path"],
        "additionalProperties": false,
    });
    let value = json!({ "pth": "a", "edits": [{ "old": 1 }, {}] });
    assert_eq!(
        reasons(&schema, &value),
        [
            "'path' is missing.",
            "'pth' is not known here; known are: path, edits.",
            "'old' of item 2 of 'edits' is missing.",
        ]
    );
    let wrong = reasons(&json!({ "type": ["string", "null"] }), &json!(1));
    assert_eq!(
        wrong,
        ["the whole must be of type string or null, not integer."]
    );
}

#[test]
fn a_recursive_schema_follows_the_value() {
    let tree = json!({
        "type": "object",
        "properties": { "kids": { "type": "array", "items": { "$ref": "#" } } },
        "additionalProperties": false,
    });
    assert!(fits(&tree, &json!({ "kids": [{ "kids": [] }, {}] })));
    assert!(!fits(&tree, &json!({ "kids": [{ "kid": [] }] })));
}

#[test]
fn a_schema_that_runs_in_circles_ends() {
    assert!(!fits(&json!({ "$ref": "#" }), &json!(1)));
    let both = json!({ "anyOf": [{ "$ref": "#" }, { "$ref": "#" }] });
    assert!(!fits(&both, &json!(1)));
}

#[test]
fn an_unsound_schema_is_refused_with_its_reason() {
    let mut deep = json!(true);
    for _ in 0..40 {
        deep = json!({ "not": deep });
    }
    for (schema, words) in [
        (json!("object"), "is not a schema"),
        (json!({ "type": "text" }), "'type' cannot be"),
        (json!({ "pattern": "(" }), "cannot be used"),
        (
            json!({ "patternProperties": {} }),
            "'patternProperties' is not one",
        ),
        (
            json!({ "$ref": "https://example.org/x" }),
            "nothing outside it is fetched",
        ),
        (json!({ "$ref": "#/$defs/no" }), "refers to nothing"),
        (
            json!({ "properties": { "a": { "minimum": "1" } } }),
            "'minimum' cannot be",
        ),
        (json!({ "enum": [] }), "'enum' cannot be"),
        (
            json!({ "title": "x".repeat(SCHEMA_BYTES_MAX) }),
            "bytes long",
        ),
        (deep, "deep"),
    ] {
        let refused = Schema::new(&schema).expect_err("is refused").to_string();
        assert!(refused.contains(words), "{refused}");
    }
    assert!(Schema::of_arguments(&json!({ "type": "string" })).is_err());
    assert!(Schema::of_arguments(&json!(true)).is_err());
}

#[test]
fn what_only_describes_is_passed_over() {
    let schema = json!({ "title": "x", "format": "date", "default": 1, "$schema": "y" });
    assert!(fits(&schema, &json!("no date")));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z$]{0,8}".prop_map(Value::from),
        prop::sample::select(vec!["object", "string", "#", "#/$defs/a"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let names = vec![
            "type",
            "properties",
            "items",
            "anyOf",
            "not",
            "$ref",
            "enum",
            "a",
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(names), inner), 0..4).prop_map(|fields| {
                let fields = fields
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value));
                Value::Object(fields.collect())
            }),
        ]
    })
}

proptest! {
    /// Whatever a service declares and a model sends: reading and checking end without a panic.
    #[test]
    fn nothing_panics(schema in any_json(), value in any_json()) {
        if let Ok(schema) = Schema::new(&schema) {
            let _ = schema.check(&value);
        }
    }
}
