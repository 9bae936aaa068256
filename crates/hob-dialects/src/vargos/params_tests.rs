//! How params are read.

use super::*;
use serde_json::json;

fn params(fields: &Value) -> Result<VargosParams, WireError> {
    let raw = serde_json::value::to_raw_value(fields).expect("JSON");
    VargosParams::parse(Some(&raw))
}

#[test]
fn missing_and_null_are_the_same() {
    let mut read = params(&json!({"a": null, "b": "x"})).expect("an object");
    assert_eq!(read.take_text("a").expect("no fault"), None);
    assert_eq!(read.take_text("b").expect("no fault"), Some("x".to_owned()));
    assert!(read.finish().is_ok());
    assert!(params(&Value::Null).is_ok_and(|read| read.finish().is_ok()));
    assert!(VargosParams::parse(None).is_ok());
}

#[test]
fn a_wrong_type_is_named_and_never_counts_as_missing() {
    assert!(params(&json!([1])).is_err());
    let mut read = params(&json!({"a": 1, "b": "x", "c": -1, "d": []})).expect("an object");
    for error in [
        read.take_text("a").expect_err("a number"),
        read.take_count("b").expect_err("a text"),
        read.take_count("c").expect_err("negative"),
        read.take_object("d").expect_err("a list"),
        read.require_text("e").expect_err("missing"),
    ] {
        assert_eq!(error.code, ErrorCode::InvalidParams);
        assert!(error.message.contains('`'), "{}", error.message);
    }
}

#[test]
fn what_is_left_is_named() {
    let read = params(&json!({"colour": "red"})).expect("an object");
    let error = read.finish().expect_err("unknown");
    assert!(error.message.contains("`colour`"), "{}", error.message);
}
