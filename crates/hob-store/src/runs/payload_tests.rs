//! What is left out of the log comes back byte by byte, and nothing else is left out.

use super::{rebuild, stored_prefix};
use proptest::prelude::*;
use serde_json::json;

fn content(text: &str) -> String {
    let parts = json!([
        { "type": "thinking", "text": "hm" },
        { "type": "text", "text": text },
    ]);
    parts.to_string()
}

fn payload(text: &str) -> String {
    format!(r#"{{"runId":"1","text":{}}}"#, json!(text))
}

proptest! {
    #[test]
    fn a_steps_text_is_stored_once(text in ".{64,200}") {
        let (payload, content) = (payload(&text), content(&text));
        let kept = stored_prefix("run.step", payload.as_bytes(), &content).unwrap();
        prop_assert_eq!(kept, r#"{"runId":"1","text":"#.len());
        let rebuilt = rebuild("run.step", &payload.as_bytes()[..kept], &content).unwrap();
        prop_assert_eq!(&rebuilt[..], payload.as_bytes());
    }

    #[test]
    fn another_text_is_kept(text in "[a-z]{64,100}", other in "[A-Z]{64,100}") {
        prop_assert_eq!(
            stored_prefix("run.step", payload(&text).as_bytes(), &content(&other)),
            None
        );
    }
}

#[test]
fn only_ends_that_are_worth_it_and_are_the_messages_are_left_out() {
    let text = "x".repeat(100);
    let cases = [
        ("run.step", payload("short"), content("short")),
        ("run.tool", payload(&text), content(&text)),
        ("run.other", payload(&text), content(&text)),
        ("run.step", payload(&text), "not JSON".to_owned()),
        ("run.step", "{}".to_owned(), content(&text)),
    ];
    for (topic, payload, content) in cases {
        assert_eq!(
            stored_prefix(topic, payload.as_bytes(), &content),
            None,
            "{topic} {payload}"
        );
    }
    let result =
        json!({ "id": "1", "content": [{ "type": "text", "text": text }], "isError": true });
    let mut part = json!({ "type": "toolResult" });
    for (name, value) in result.as_object().unwrap() {
        part[name] = value.clone();
    }
    let one = json!([part]).to_string();
    let payload = format!(r#"{{"phase":"end","result":{result}}}"#);
    let kept = stored_prefix("run.tool", payload.as_bytes(), &one).unwrap();
    let rebuilt = rebuild("run.tool", &payload.as_bytes()[..kept], &one).unwrap();
    assert_eq!(&rebuilt[..], payload.as_bytes());
    // Of two results nobody could tell which it was.
    let two = json!([part, part]).to_string();
    assert_eq!(stored_prefix("run.tool", payload.as_bytes(), &two), None);
}
