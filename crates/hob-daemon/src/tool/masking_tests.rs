//! What is masked in a tool's answer, and what stays.

use super::*;
use serde_json::json;

const KEY: &str = "sk-live-0123456789abcdef";

fn mask() -> SecretMask {
    let mask = SecretMask::new();
    mask.add(KEY);
    mask
}

fn executed(text: &str, metadata: Value) -> ToolExecuteResult {
    ToolExecuteResult {
        content: vec![
            ContentPart::Text {
                text: text.to_owned(),
            },
            ContentPart::Image {
                mime_type: "image/png".to_owned(),
                data: "iVBORw0KGgo=".to_owned(),
            },
        ],
        is_error: false,
        metadata: Some(metadata),
    }
}

#[test]
fn texts_and_metadata_are_masked_at_any_depth() {
    let metadata = json!({ "a": [KEY, 1, { KEY: format!("x{KEY}") }], "b": null });
    let told = mask_executed(executed(&format!("key {KEY}."), metadata), &mask());
    let masked = json!({ "a": ["[masked]", 1, { "[masked]": "x[masked]" }], "b": null });
    assert_eq!(told, executed("key [masked].", masked));
}

#[test]
fn the_result_of_a_clients_tool_is_masked() {
    let result = |text: &str| {
        MessageContent::Parts(vec![ContentPart::ToolResult(hob_wire::ToolResult {
            id: "c1".to_owned(),
            content: vec![ContentPart::Text {
                text: text.to_owned(),
            }],
            is_error: false,
        })])
    };
    assert_eq!(mask_content(result(KEY), &mask()), result("[masked]"));
    let text = MessageContent::Text(format!("key {KEY}"));
    assert_eq!(
        mask_content(text, &mask()),
        MessageContent::from("key [masked]")
    );
}

#[test]
fn an_answer_without_secrets_stays_as_it_is() {
    let checksum = "0123456789abcdef".repeat(4);
    let plain = executed(&checksum, json!({ "sha256": checksum, "n": [1.5, true] }));
    assert_eq!(mask_executed(plain.clone(), &mask()), plain);
}

#[test]
fn looks_before_and_after_a_call_are_masked() {
    let seen = ToolPreviewResult {
        text: Some(format!("-{KEY}")),
        state: Some("seen:1".to_owned()),
        would_fail: Some(format!("no {KEY}")),
        cannot_run: Some(format!("never {KEY}")),
        asks_always: false,
    };
    let told = mask_previewed(seen, &mask());
    assert_eq!(told.text.as_deref(), Some("-[masked]"));
    assert_eq!(told.would_fail.as_deref(), Some("no [masked]"));
    assert_eq!(told.cannot_run.as_deref(), Some("never [masked]"));
    assert_eq!(told.state.as_deref(), Some("seen:1"));
    let known = format!("it said {KEY}");
    match mask_probed(ToolProbeResult::Unknown { known }, &mask()) {
        ToolProbeResult::Unknown { known } => assert_eq!(known, "it said [masked]"),
        other => panic!("it is unknown: {other:?}"),
    }
}
