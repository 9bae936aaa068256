//! Tools as text, there and back.

use super::{TextCallDecoder, UNREADABLE, to_text_prompt};
use crate::prompt::{ReplyDelta, StopReason};
use crate::recorded::{rich_prompt, shown, text, thinking, tool_call};
use hob_wire::content::{ContentPart, Role};
use hob_wire::rooms::agent::ToolChoice;
use serde_json::json;

/// Streams a text in pieces of this many characters.
fn streamed(said: &str, width: usize, stop: StopReason) -> (String, Vec<ContentPart>, StopReason) {
    let mut calls = TextCallDecoder::default();
    let mut pieces = Vec::new();
    let letters: Vec<char> = said.chars().collect();
    for piece in letters.chunks(width) {
        pieces.extend(calls.visible_part(ReplyDelta::Text(piece.iter().collect())));
    }
    let (last, parts, stop) = calls.finish(vec![text(said)], stop);
    pieces.extend(last);
    (shown(&pieces), parts, stop)
}

#[test]
fn calls_are_found_however_the_text_is_cut() {
    let said = "Let me see.\nTOOL_CALL: {\"name\":\"read\",\"args\":{\"path\":\"ä\"}}\nAnd more.";
    for step in 1..said.chars().count() {
        let (shown, parts, stop) = streamed(said, step, StopReason::End);
        assert_eq!(shown, "Let me see.\nAnd more.", "{step}");
        let expected = [
            text("Let me see.\nAnd more."),
            tool_call("", "read", json!({ "path": "ä" })),
        ];
        assert_eq!(parts, expected, "{step}");
        assert_eq!(stop, StopReason::Tools);
    }
}

#[test]
fn a_broken_or_unfinished_call_is_unreadable() {
    let (_, parts, _) = streamed("TOOL_CALL: {\"name\":\n", 3, StopReason::End);
    assert_eq!(
        parts,
        [tool_call("", UNREADABLE, json!("TOOL_CALL: {\"name\":\n"))]
    );
    let whole = "TOOL_CALL: {\"name\":\"time\",\"args\":{}}";
    let (_, parts, stop) = streamed(whole, 5, StopReason::Length);
    assert_eq!(parts, [tool_call("", UNREADABLE, json!(whole))]);
    assert_eq!(stop, StopReason::Length);
    let (_, parts, _) = streamed(whole, 5, StopReason::End);
    assert_eq!(parts, [tool_call("", "time", json!({}))]);
}

#[test]
fn thoughts_pass_and_text_without_calls_is_as_it_was() {
    let mut calls = TextCallDecoder::default();
    let thought = ReplyDelta::Thinking("TOOL_CALL: {}".into());
    assert_eq!(calls.visible_part(thought.clone()), Some(thought));
    let parts = vec![thinking("hm", None), text("TOOL")];
    calls.visible_part(ReplyDelta::Text("TOOL".into()));
    let (pieces, found, stop) = calls.finish(parts.clone(), StopReason::End);
    assert_eq!(found, parts);
    assert_eq!((shown(&pieces).as_str(), stop), ("TOOL", StopReason::End));
}

#[test]
fn a_prompt_becomes_plain() {
    let mut prompt = rich_prompt("m", "x");
    let made = to_text_prompt(&prompt);
    assert!(made.tools.is_empty() && made.system.len() == 3);
    assert!(made.system[2].contains("\"name\":\"read\""));
    let spoken = &made.messages[1].parts;
    let lines = "I look.\nTOOL_CALL: {\"name\":\"read\",\"args\":{\"path\":\"a\"}}\nTOOL_CALL: {\"name\":\"read\",\"args\":\"{\\\"path\\\":\"}";
    assert_eq!(*spoken, [text(lines)]);
    assert_eq!(made.messages[2].role, Role::User);
    assert_eq!(made.messages[2].parts[0], text("TOOL_RESULT: A"));
    assert!(matches!(
        made.messages[2].parts[1],
        ContentPart::Image { .. }
    ));
    assert_eq!(
        made.messages[2].parts[2],
        text("TOOL_RESULT (failed): not JSON")
    );
    prompt.tool_choice = Some(ToolChoice::None);
    assert_eq!(to_text_prompt(&prompt).system.len(), 2);
    prompt.tool_choice = Some(ToolChoice::Required);
    assert!(to_text_prompt(&prompt).system[2].contains("must call"));
}
