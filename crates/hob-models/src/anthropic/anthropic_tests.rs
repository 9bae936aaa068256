//! Addresses and lists.

use super::Anthropic;
use crate::dialect::Dialect;
use serde_json::json;

#[test]
fn addresses_are_taken_as_people_write_them() {
    for given in [
        "https://h",
        "https://h/",
        "https://h/v1",
        "https://h/v1/messages",
    ] {
        assert_eq!(Anthropic.base(given), "https://h");
    }
}

#[test]
fn lists_have_pages() {
    let page = Anthropic.read_list(&json!({
        "data": [{ "id": "claude-a", "type": "model", "max_input_tokens": 200_000 }, { "id": "claude-b" }],
        "has_more": true, "last_id": "claude-b",
    }));
    let page = page.expect("is read");
    assert_eq!(page.models.len(), 2);
    assert_eq!(page.models[0].context_tokens, Some(200_000));
    assert_eq!(
        page.next.as_deref(),
        Some("/v1/models?limit=1000&after_id=claude-b")
    );
    let last = json!({ "data": [], "has_more": true, "last_id": "x&key=y" });
    assert_eq!(Anthropic.read_list(&last).expect("is read").next, None);
    assert!(Anthropic.read_list(&json!([])).is_none());
}
