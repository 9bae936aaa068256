//! Which schemas strict mode takes.

use super::is_strict;
use serde_json::json;

#[test]
fn only_closed_and_complete_objects_are_strict() {
    let inner = json!({
        "type": "object",
        "properties": { "b": { "type": "string" } },
        "required": ["b"],
        "additionalProperties": false,
    });
    let strict = json!({
        "type": "object",
        "properties": { "a": inner, "list": { "type": "array", "items": inner } },
        "required": ["a", "list"],
        "additionalProperties": false,
    });
    assert!(is_strict(&strict));
    let mut open = strict.clone();
    open["properties"]["a"]["additionalProperties"] = json!(true);
    assert!(!is_strict(&open));
    let mut optional = strict.clone();
    optional["required"] = json!(["a"]);
    assert!(!is_strict(&optional));
    let mut either = strict.clone();
    either["properties"]["a"] = json!({ "oneOf": [{ "type": "string" }] });
    assert!(!is_strict(&either));
    assert!(!is_strict(&json!({ "type": "object" })));
    assert!(!is_strict(&json!({ "type": "string" })));
    assert!(!is_strict(&json!(true)));
}
