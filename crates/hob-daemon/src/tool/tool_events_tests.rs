//! Arguments as watchers see them.

use super::*;
use serde_json::json;

#[test]
fn short_arguments_stay_and_long_ones_are_cut() {
    let args = json!({ "path": "a", "edits": [1, true, null, { "x": "y" }] });
    assert_eq!(shorten_args(&args, &mut VALUES_MAX.clone()), args);
    let long = json!({ "content": "€".repeat(1_000_000) });
    let short = shorten_args(&long, &mut VALUES_MAX.clone());
    let text = short["content"].as_str().expect("is a text");
    assert!(text.ends_with("(3000000 bytes)") && text.len() < TEXT_BYTES_MAX + 40);
    let many = Value::Array((0..100_000).map(|n| json!([n, { "n": n }])).collect());
    let short = shorten_args(&many, &mut VALUES_MAX.clone());
    assert!(short.to_string().len() < 16 * 1024);
}
