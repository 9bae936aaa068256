//! Addresses and lists.

use super::AnthropicDialect;
use crate::dialect::ProviderDialect;
use serde_json::json;

#[test]
fn addresses_are_taken_as_people_write_them() {
    for given in [
        "https://h",
        "https://h/",
        "https://h/v1",
        "https://h/v1/messages",
    ] {
        assert_eq!(AnthropicDialect.base_url(given), "https://h");
    }
}

#[test]
fn lists_have_pages() {
    let page = AnthropicDialect.parse_models(&json!({
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
    assert_eq!(
        AnthropicDialect.parse_models(&last).expect("is read").next,
        None
    );
    assert!(AnthropicDialect.parse_models(&json!([])).is_none());
}
