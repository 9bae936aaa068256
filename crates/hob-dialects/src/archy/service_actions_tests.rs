//! Results of services in Archy's format.

use super::answer_of_payload;
use serde_json::{Value, json};

#[test]
fn whatever_a_service_says_is_an_answer_of_archys() {
    let plain = |success: bool, output: Value, error: Value| json!({ "success": success, "output": output, "error": error, "exists": null });
    for (fields, expected) in [
        (json!(null), plain(true, json!(null), json!(null))),
        (json!("hello"), plain(true, json!("hello"), json!(null))),
        (json!([1, 2]), plain(true, json!("[1,2]"), json!(null))),
        (json!(true), plain(true, json!("true"), json!(null))),
        (json!({}), plain(true, json!(null), json!(null))),
        (
            json!({ "output": "x" }),
            plain(true, json!("x"), json!(null)),
        ),
        (
            json!({ "error": "no" }),
            plain(false, json!(null), json!("no")),
        ),
        (
            json!({ "success": false }),
            plain(false, json!(null), json!(null)),
        ),
        (
            json!({ "exists": true, "more": { "a": 1 } }),
            json!({ "success": true, "output": null, "error": null, "exists": true, "more": { "a": 1 } }),
        ),
    ] {
        let answer = serde_json::to_value(answer_of_payload(fields.clone())).unwrap();
        assert_eq!(answer, expected, "{fields}");
    }
}
