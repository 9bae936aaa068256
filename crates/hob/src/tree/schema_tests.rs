//! What a JSON Schema says, as fields of a command line.

use super::*;
use hob_wire::method::{Idempotency, Method};
use hob_wire::rooms::session::{List, Send};
use hob_wire::scope::Scope;
use serde_json::json;

fn spec(params: fn() -> schemars::Schema) -> MethodSpec {
    MethodSpec {
        name: "room.verb",
        service: "rooms",
        summary: "Does.",
        scope: Scope::Read,
        effect: Idempotency::Pure,
        cli: CliExposure::Verb(&["second", "first"]),
        params,
        result: params,
    }
}

fn everything() -> schemars::Schema {
    let schema = json!({
        "type": "object",
        "required": ["second"],
        "$defs": {
            "Shade": { "description": "A shade.", "oneOf": [
                { "const": "dark", "type": "string" }, { "const": "light", "type": "string" },
            ]},
        },
        "properties": {
            "first": { "type": ["string", "null"], "description": "The first.", "examples": ["x y"] },
            "second": { "anyOf": [{ "type": "string" }, { "type": "array" }] },
            "count": { "type": ["integer", "null"] },
            "share": { "type": "number" },
            "loud": { "type": "boolean" },
            "shade": { "anyOf": [{ "$ref": "#/$defs/Shade" }, { "type": "null" }] },
            "level": { "type": "string", "enum": ["low", "high"] },
            "tags": { "type": "array", "items": { "type": "string" } },
            "rows": { "type": "array", "items": { "type": "object" } },
            "extra": { "type": ["object", "null"] },
            "any": true,
        },
    });
    schemars::Schema::try_from(schema).expect("an object is a schema")
}

#[test]
fn every_form_has_its_kind() {
    let fields = fields(&spec(everything));
    let kind = |name: &str| {
        let field = fields.iter().find(|field| field.name == name);
        field.expect("the field is there").kind.clone()
    };
    assert_eq!(kind("first"), ParamKind::Text);
    assert_eq!(kind("second"), ParamKind::Prose);
    assert_eq!(kind("count"), ParamKind::Integer);
    assert_eq!(kind("share"), ParamKind::Number);
    assert_eq!(kind("loud"), ParamKind::Bool);
    let shades = ParamKind::Choice(vec!["dark".into(), "light".into()]);
    assert_eq!(kind("shade"), shades);
    assert_eq!(
        kind("level"),
        ParamKind::Choice(vec!["low".into(), "high".into()])
    );
    assert_eq!(kind("tags"), ParamKind::Texts);
    assert_eq!(
        [kind("rows"), kind("extra"), kind("any")],
        [const { ParamKind::Json }; 3]
    );
}

#[test]
fn positions_come_from_the_declaration_and_words_from_the_schema() {
    let fields = fields(&spec(everything));
    let first: Vec<(&str, bool)> = fields
        .iter()
        .take(2)
        .map(|field| (field.name.as_str(), field.required))
        .collect();
    assert_eq!(first, [("second", true), ("first", false)]);
    assert_eq!(fields[1].help, "The first.");
    assert_eq!(fields[1].example.as_deref(), Some("x y"));
    let shade = fields.iter().find(|field| field.name == "shade");
    assert_eq!(shade.expect("shade").help, "A shade.");
}

#[test]
fn the_house_s_own_params_are_read_as_meant() {
    let kinds = |spec: &MethodSpec| -> Vec<(String, ParamKind)> {
        let fields = fields(spec).into_iter();
        fields.map(|field| (field.name, field.kind)).collect()
    };
    let roles = ["system", "user", "assistant", "tool"].map(str::to_owned);
    assert_eq!(
        kinds(&Send::SPEC),
        [
            ("sessionKey".to_owned(), ParamKind::Text),
            ("content".to_owned(), ParamKind::Prose),
            ("role".to_owned(), ParamKind::Choice(roles.to_vec())),
            ("idempotencyKey".to_owned(), ParamKind::Text),
        ]
    );
    let limit = kinds(&List::SPEC)
        .into_iter()
        .find(|(name, _)| name == "limit");
    assert_eq!(limit.map(|(_, kind)| kind), Some(ParamKind::Integer));
}
