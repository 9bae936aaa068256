//! Which events of a service are volatile.

use super::*;
use serde_json::json;

fn translated(params: &Value) -> Value {
    let raw = serde_json::value::to_raw_value(params).expect("JSON");
    let bytes = translate(Some(&raw)).expect("an object");
    serde_json::from_slice(&bytes).expect("JSON")
}

#[test]
fn events_are_volatile_unless_they_are_durable() {
    let plain = json!({"service": "a", "events": ["a.x", "a.y"]});
    assert_eq!(translated(&plain)["volatile"], json!(["a.x", "a.y"]));
    let mixed = json!({"service": "a", "events": ["a.x", "a.y"], "durable": ["a.y"]});
    let mixed = translated(&mixed);
    assert_eq!(mixed["volatile"], json!(["a.x"]));
    assert_eq!(mixed.get("durable"), None);
    let known = json!({"service": "a", "events": ["a.x", "a.y"], "volatile": ["a.y"]});
    assert_eq!(translated(&known), known);
    assert_eq!(translated(&json!({"service": "a"}))["volatile"], json!([]));
}

#[test]
fn other_params_are_left_for_the_bus_to_judge() {
    let odd = json!({"service": 1, "events": "x", "colour": "red"});
    let seen = translated(&odd);
    assert_eq!(
        (&seen["service"], &seen["events"], &seen["colour"]),
        (&json!(1), &json!("x"), &json!("red"))
    );
    let list = serde_json::value::to_raw_value(&json!([1])).expect("JSON");
    assert!(translate(Some(&list)).is_err());
}
