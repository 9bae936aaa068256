//! Answers are put together whole or not at all.

use super::Assembly;
use crate::prompt::Piece;
use hob_wire::content::Part;
use serde_json::{Value, json};

fn args_of(text: &str, whole: bool) -> Value {
    let mut assembly = Assembly::default();
    let mut out = Vec::new();
    let slot = assembly.open_call("1", "read", &mut out).expect("opens");
    assembly.call_delta(slot, text, &mut out).expect("grows");
    match assembly.finish(whole).remove(0) {
        Part::ToolCall(call) => call.args,
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
    let mut assembly = Assembly::default();
    let mut out = Vec::new();
    assembly.thinking("a", &mut out).expect("grows");
    assembly.thinking("b", &mut out).expect("grows");
    assembly.sign("s".into()).expect("signs");
    assembly.thinking("c", &mut out).expect("grows");
    assembly.text("d", &mut out).expect("grows");
    assembly.text("", &mut out).expect("grows");
    assembly.text("e", &mut out).expect("grows");
    let thinking = |text: &str, signature: Option<&str>| Part::Thinking {
        text: text.into(),
        signature: signature.map(str::to_owned),
    };
    let expected = vec![
        thinking("ab", Some("s")),
        thinking("c", None),
        Part::Text { text: "de".into() },
    ];
    assert_eq!(assembly.finish(true), expected);
    assert_eq!(out.len(), 5);
    assert_eq!(out[4], Piece::Text("e".into()));
}

#[test]
fn an_answer_without_end_is_refused() {
    let mut assembly = Assembly::default();
    let mut out = Vec::new();
    let megabyte = "x".repeat(1024 * 1024);
    let refused = (0..64).find(|_| {
        out.clear();
        assembly.text(&megabyte, &mut out).is_err()
    });
    assert_eq!(refused, Some(16));
    let mut assembly = Assembly::default();
    let refused = (0..5_000).find(|_| {
        out.clear();
        assembly.open_call("", "x", &mut out).is_err()
    });
    assert_eq!(refused, Some(1_024));
}
