//! JSON as servers write it.

use super::parse_json;
use serde_json::{Value, json as value};

#[test]
fn bare_nan_is_null_and_nan_in_a_text_is_a_text() {
    let read =
        parse_json(r#"{"a":NaN,"b":[-Infinity,Infinity],"c":"NaN \" NaN\\"}"#).expect("reads");
    assert_eq!(
        read,
        value!({"a": null, "b": [null, null], "c": "NaN \" NaN\\"})
    );
}

#[test]
fn what_is_no_json_is_an_error() {
    for data in ["", "{", "<html>", "{\"a\":}", "\u{0}"] {
        assert!(parse_json(data).is_err(), "{data:?}");
    }
    assert_eq!(parse_json("null").expect("reads"), Value::Null);
}
