//! Answers too large, cut.

use super::*;
use serde_json::json;

fn text(part: &ContentPart) -> &str {
    match part {
        ContentPart::Text { text } => text,
        other => panic!("no text: {other:?}"),
    }
}

#[test]
fn a_small_answer_stays_as_it_is() {
    let answer = ToolExecuteResult {
        metadata: Some(json!({ "lines": 3 })),
        ..succeeded("hello")
    };
    assert_eq!(bounded(answer.clone()), answer);
}

#[test]
fn a_long_text_keeps_its_ends_and_says_what_is_missing() {
    let long = format!("begin{}end", "ö".repeat(TEXT_BYTES_MAX));
    let answer = bounded(succeeded(long));
    let words = text(&answer.content[0]);
    assert!(words.starts_with("beginö") && words.ends_with("öend"));
    assert!(words.contains("bytes left out here"));
    assert!(words.len() < TEXT_BYTES_MAX + 100);
}

#[test]
fn too_many_parts_and_strange_ones_are_left_out_and_counted() {
    let mut answer = succeeded("one");
    answer.content.push(ContentPart::Thinking {
        text: "hm".to_owned(),
        signature: None,
    });
    let image = |bytes: usize| ContentPart::Image {
        mime_type: "image/png".to_owned(),
        data: "A".repeat(bytes),
    };
    answer.content.push(image(IMAGE_BYTES_MAX));
    answer.content.push(image(1));
    let answer = bounded(answer);
    assert_eq!(answer.content.len(), 3);
    assert!(text(&answer.content[2]).starts_with("(2 more parts"));

    let parts = (0..1_000).map(|number| ContentPart::Text {
        text: number.to_string(),
    });
    let many = bounded(ToolExecuteResult {
        content: parts.collect(),
        ..succeeded("")
    });
    assert_eq!(many.content.len(), PARTS_MAX + 1);
}

#[test]
fn huge_metadata_is_dropped() {
    let answer = ToolExecuteResult {
        metadata: Some(json!("x".repeat(METADATA_BYTES_MAX))),
        ..succeeded("hello")
    };
    assert_eq!(bounded(answer).metadata, None);
}
