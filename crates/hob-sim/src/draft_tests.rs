//! Moulds and pieces.

use super::{DraftCall, FrameTemplate, tokens};
use serde_json::json;

#[test]
fn a_cast_frame_is_the_encoded_one() {
    let encode = |word: &str| format!("data: {}\n\n", json!({ "a": 1, "text": word, "b": [2] }));
    let template = FrameTemplate::new(&encode(FrameTemplate::PLACE)).expect("the place is found");
    for word in ["plain ", "\"quoted\\\"", "ä€🦀\n", "\u{1}\u{0}", ""] {
        assert_eq!(template.fill(word), encode(word));
    }
    assert!(FrameTemplate::new("data: {}\n\n").is_none());
}

#[test]
fn tokens_and_pieces_lose_nothing() {
    let text = " two  words\nand\tmore ";
    assert_eq!(tokens(text).concat(), text);
    assert_eq!(tokens("").len(), 0);
    let call = DraftCall {
        id: Ok("x".to_owned()),
        name: "t".to_owned(),
        args: "{\"a\":\"äöüäöüäöüäöü🦀\"}".to_owned(),
    };
    assert!(call.pieces().len() > 1);
    assert_eq!(call.pieces().concat(), call.args);
    assert_eq!(call.short_id("call_", 3), "x");
}
