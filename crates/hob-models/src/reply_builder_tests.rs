//! Answers are put together whole or not at all.

use super::ReplyBuilder;
use crate::prompt::ReplyDelta;
use hob_wire::content::ContentPart;
use serde_json::{Value, json};

fn args_of(text: &str, whole: bool) -> Value {
    let mut builder = ReplyBuilder::default();
    let mut out = Vec::new();
    let slot = builder.open_call("1", "read", &mut out).expect("opens");
    builder.push_args(slot, text, &mut out).expect("grows");
    match builder.finish(whole).remove(0) {
        ContentPart::ToolCall(call) => call.args,
        other => panic!("{other:?}"),
    }
}

#[test]
fn only_one_whole_object_becomes_arguments() {
    assert_eq!(args_of(r#"{"path":"a"}"#, true), json!({"path": "a"}));
    assert_eq!(args_of("", true), json!({}));
    assert_eq!(args_of("", false), json!(""));
    for text in [
        r#"{"path":"a""#,
        "[1]",
        "3",
        r#""x""#,
        "{} {}",
        "{'a':1}",
        "null",
    ] {
        assert_eq!(args_of(text, true), Value::String(text.to_owned()));
    }
}

#[test]
fn text_runs_on_and_thoughts_are_signed_once() {
    let mut builder = ReplyBuilder::default();
    let mut out = Vec::new();
    builder.push_thinking("a", &mut out).expect("grows");
    builder.push_thinking("b", &mut out).expect("grows");
    builder.attach_signature("s".into()).expect("signs");
    builder.push_thinking("c", &mut out).expect("grows");
    builder.push_text("d", &mut out).expect("grows");
    builder.push_text("", &mut out).expect("grows");
    builder.push_text("e", &mut out).expect("grows");
    let thinking = |text: &str, signature: Option<&str>| ContentPart::Thinking {
        text: text.into(),
        signature: signature.map(str::to_owned),
    };
    let expected = vec![
        thinking("ab", Some("s")),
        thinking("c", None),
        ContentPart::Text { text: "de".into() },
    ];
    assert_eq!(builder.finish(true), expected);
    assert_eq!(out.len(), 5);
    assert_eq!(out[4], ReplyDelta::Text("e".into()));
}

#[test]
fn an_answer_without_end_is_refused() {
    let mut builder = ReplyBuilder::default();
    let mut out = Vec::new();
    let megabyte = "x".repeat(1024 * 1024);
    let refused = (0..64).find(|_| {
        out.clear();
        builder.push_text(&megabyte, &mut out).is_err()
    });
    assert_eq!(refused, Some(16));
    let mut builder = ReplyBuilder::default();
    let refused = (0..5_000).find(|_| {
        out.clear();
        builder.open_call("", "x", &mut out).is_err()
    });
    assert_eq!(refused, Some(1_024));
}
