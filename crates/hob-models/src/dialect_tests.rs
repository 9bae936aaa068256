//! JSON as servers write it.

use super::json;
use serde_json::{Value, json as value};

#[test]
fn bare_nan_is_null_and_nan_in_a_text_is_a_text() {
    let read = json(r#"{"a":NaN,"b":[-Infinity,Infinity],"c":"NaN \" NaN\\"}"#).expect("reads");
    assert_eq!(
        read,
        value!({"a": null, "b": [null, null], "c": "NaN \" NaN\\"})
    );
}

#[test]
fn what_is_no_json_is_an_error() {
    for data in ["", "{", "<html>", "{\"a\":}", "\u{0}"] {
        assert!(json(data).is_err(), "{data:?}");
    }
    assert_eq!(json("null").expect("reads"), Value::Null);
}
