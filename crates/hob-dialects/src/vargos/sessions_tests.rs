//! Texts of messages, and sizes of pages.

use super::*;

#[test]
fn a_content_is_shown_as_its_text() {
    let content = |parts: Value| serde_json::from_value(parts).expect("a content");
    for (parts, text) in [
        (json!("plain"), "plain"),
        (
            json!([
                {"type": "thinking", "text": "hm"},
                {"type": "text", "text": "one"},
                {"type": "image", "mimeType": "image/png", "data": "AAAA"},
                {"type": "toolCall", "id": "c1", "name": "time", "args": {}},
            ]),
            "one\n[image/png]",
        ),
        (
            json!([{"type": "toolCall", "id": "c1", "name": "time", "args": {}}]),
            "",
        ),
    ] {
        assert_eq!(text_of_content(&content(parts)), text);
    }
}

#[test]
fn pages_end_at_the_limit() {
    assert_eq!(page_size(0, 0), None);
    assert_eq!(page_size(3, 0), Some(3));
    assert_eq!(page_size(3, 3), None);
    assert_eq!(page_size(600, 500), Some(100));
    assert_eq!(page_size(usize::MAX, 0), Some(PAGE_ROWS_MAX));
    assert_eq!(page_size(usize::MAX, ROWS_MAX), None);
}
