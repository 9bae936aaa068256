//! Order and cut of a conversation.

use super::*;
use hob_wire::ToolCall;
use serde_json::json;

fn said(role: Role, text: &str, own: bool) -> ContextMessage {
    ContextMessage::new(role, MessageContent::from(text), own)
}

fn weigh(parts: &[ContentPart]) -> u64 {
    let words = parts.iter().map(|part| match part {
        ContentPart::Text { text } => text.len() as u64 / 4,
        _ => 1,
    });
    words.sum()
}

fn calls(ids: &[&str]) -> ContextMessage {
    let call = |id: &&str| {
        ContentPart::ToolCall(ToolCall {
            id: (*id).to_owned(),
            name: "read".to_owned(),
            args: json!({}),
        })
    };
    let parts = MessageContent::Parts(ids.iter().map(call).collect());
    ContextMessage::new(Role::Assistant, parts, true)
}

fn result(id: &str, text: &str) -> ContextMessage {
    let result = ToolResult {
        id: id.to_owned(),
        content: vec![ContentPart::Text {
            text: text.to_owned(),
        }],
        is_error: false,
    };
    ContextMessage::new(
        Role::Tool,
        MessageContent::Parts(vec![ContentPart::ToolResult(result)]),
        true,
    )
}

fn shape(fitted: &FittedConversation) -> Vec<String> {
    let part = |part: &ContentPart| match part {
        ContentPart::Text { text } => text.clone(),
        ContentPart::ToolCall(call) => format!("call {}", call.id),
        ContentPart::ToolResult(result) => match &result.content[..] {
            [ContentPart::Text { text }] => format!("{}={text}", result.id),
            _ => result.id.clone(),
        },
        other => format!("{other:?}"),
    };
    let message = |message: &PromptMessage| {
        let parts: Vec<String> = message.parts.iter().map(part).collect();
        format!("{}: {}", message.role.as_str(), parts.join(", "))
    };
    fitted.messages.iter().map(message).collect()
}

#[test]
fn results_follow_their_calls_whenever_they_came() {
    let spoken = vec![
        said(Role::User, "do", true),
        calls(&["a", "b", "c"]),
        result("b", "two"),
        said(Role::User, "hurry", true),
        result("a", "one"),
        result("stray", "zero"),
    ];
    assert_eq!(
        shape(&fit_to_window(spoken, None, false, &weigh)),
        [
            "user: do",
            "assistant: call a, call b, call c",
            "tool: a=one, b=two, c=No result of this call is known.",
            "user: hurry",
        ]
    );
}

#[test]
fn the_oldest_turns_go_first_and_the_runs_own_turn_stays_whole() {
    let long = "word ".repeat(100);
    let spoken = vec![
        said(Role::User, &format!("one {long}"), false),
        said(Role::Assistant, "yes", false),
        said(Role::User, "two", false),
        said(Role::Assistant, "well", false),
        said(Role::User, "task", true),
        said(Role::Assistant, "working", true),
        said(Role::User, &format!("steer {long}"), true),
    ];
    let fitted = fit_to_window(spoken.clone(), Some(170), false, &weigh);
    assert_eq!(fitted.messages_left_out, 2);
    assert_eq!(shape(&fitted)[0], "user: two");
    let tight = fit_to_window(spoken, Some(10), false, &weigh);
    assert_eq!(tight.messages_left_out, 4);
    assert_eq!(shape(&tight)[..2], ["user: task", "assistant: working"]);
    assert_eq!(tight.messages.len(), 3);
}

#[test]
fn thoughts_go_back_only_to_the_run_that_had_them() {
    let thinking = |own| ContextMessage {
        role: Role::Assistant,
        parts: vec![
            ContentPart::Thinking {
                text: "hm".to_owned(),
                signature: Some("proof".to_owned()),
            },
            ContentPart::Text {
                text: "so".to_owned(),
            },
        ],
        is_own: own,
    };
    let thoughts = |fitted: &FittedConversation| {
        let parts = fitted.messages.iter().flat_map(|message| &message.parts);
        parts
            .filter(|part| matches!(part, ContentPart::Thinking { .. }))
            .count()
    };
    let spoken = vec![thinking(false), thinking(true)];
    assert_eq!(
        thoughts(&fit_to_window(spoken.clone(), None, true, &weigh)),
        1
    );
    assert_eq!(thoughts(&fit_to_window(spoken, None, false, &weigh)), 0);
}

#[test]
fn messages_left_out_are_counted_as_they_were_stored() {
    let old = |message: ContextMessage| ContextMessage {
        is_own: false,
        ..message
    };
    let spoken = vec![
        old(said(Role::User, "look", false)),
        old(calls(&["a", "b"])),
        // Two messages of the session are one of the prompt, and an empty one is none.
        old(result("a", "one")),
        old(result("b", "two")),
        said(Role::Assistant, "", false),
        said(Role::User, "task", true),
    ];
    let fitted = fit_to_window(spoken, Some(1), false, &weigh);
    assert_eq!(shape(&fitted), ["user: task"]);
    assert_eq!(fitted.messages_left_out, 5);
}

#[test]
fn a_repeated_id_gets_its_results_in_the_order_they_came() {
    let spoken = vec![
        said(Role::User, "do", true),
        calls(&["a"]),
        result("a", "one"),
        calls(&["a"]),
        result("a", "two"),
    ];
    assert_eq!(
        shape(&fit_to_window(spoken, None, false, &weigh)),
        [
            "user: do",
            "assistant: call a",
            "tool: a=one",
            "assistant: call a",
            "tool: a=two",
        ]
    );
}
