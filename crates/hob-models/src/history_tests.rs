//! Whatever a session holds, providers get a conversation they take.

use super::{ConversationTurn, to_turns, unfinished_turn_start};
use crate::prompt::PromptMessage;
use hob_wire::content::{ContentPart, Role, ToolCall, ToolResult};
use proptest::prelude::*;
use serde_json::json;

fn text(text: &str) -> ContentPart {
    ContentPart::Text { text: text.into() }
}

fn call(id: &str) -> ContentPart {
    ContentPart::ToolCall(ToolCall {
        id: id.into(),
        name: format!("tool_{id}"),
        args: json!({}),
    })
}

fn result(id: &str, said: &str) -> ContentPart {
    ContentPart::ToolResult(ToolResult {
        id: id.into(),
        content: vec![text(said)],
        is_error: false,
    })
}

fn message(role: Role, parts: Vec<ContentPart>) -> PromptMessage {
    PromptMessage { role, parts }
}

#[test]
fn results_follow_their_calls_in_the_order_of_the_calls() {
    let (_, turns) = to_turns(&[
        message(Role::User, vec![text("hi")]),
        message(Role::Assistant, vec![call("a"), call("b")]),
        message(Role::Tool, vec![result("b", "2")]),
        message(Role::User, vec![text("hurry")]),
        message(Role::Tool, vec![result("a", "1"), result("zzz", "?")]),
    ]);
    let ConversationTurn::Tools(answers) = &turns[2] else {
        panic!("{turns:?}")
    };
    let said: Vec<_> = answers
        .iter()
        .map(|one| (one.id.as_str(), one.text()))
        .collect();
    assert_eq!(said, [("a", "1".to_owned()), ("b", "2".to_owned())]);
    assert_eq!(answers[0].name, "tool_a");
    assert_eq!(turns[3], ConversationTurn::User(vec![text("hurry")]));
    assert_eq!(turns.len(), 4);
    assert_eq!(unfinished_turn_start(&turns), 3);
}

#[test]
fn an_unanswered_call_gets_an_answer_that_says_so() {
    let (_, turns) = to_turns(&[
        message(Role::User, vec![text("hi")]),
        message(Role::Assistant, vec![call("a")]),
        message(Role::User, vec![text("and now?")]),
    ]);
    let ConversationTurn::Tools(answers) = &turns[1 + 1] else {
        panic!("{turns:?}")
    };
    assert!(answers[0].is_error && answers[0].text().contains("no result"));
}

#[test]
fn system_messages_are_given_apart_and_the_first_turn_is_a_persons() {
    let (system, turns) = to_turns(&[
        message(Role::System, vec![text("be brief")]),
        message(Role::Assistant, vec![text("hello")]),
        message(Role::Assistant, vec![text("again"), text("  ")]),
    ]);
    assert_eq!(system, ["be brief"]);
    assert!(matches!(turns[0], ConversationTurn::User(_)));
    assert_eq!(
        turns[1],
        ConversationTurn::Assistant(vec![text("hello"), text("again")])
    );
}

fn any_part() -> impl Strategy<Value = ContentPart> {
    let id = "[a-c]";
    prop_oneof![
        "[a-z ]{0,3}".prop_map(|said| text(&said)),
        id.prop_map(|id| call(&id)),
        id.prop_map(|id| result(&id, "x")),
        Just(ContentPart::Thinking {
            text: "hm".into(),
            signature: None
        }),
        Just(ContentPart::Image {
            mime_type: "image/png".into(),
            data: "AA==".into()
        }),
    ]
}

fn any_message() -> impl Strategy<Value = PromptMessage> {
    let role = prop_oneof![
        Just(Role::System),
        Just(Role::User),
        Just(Role::Assistant),
        Just(Role::Tool)
    ];
    (role, proptest::collection::vec(any_part(), 0..4))
        .prop_map(|(role, parts)| message(role, parts))
}

proptest! {
    #[test]
    fn any_history_becomes_valid_turns(
        messages in proptest::collection::vec(any_message(), 0..12)
    ) {
        let (_, turns) = to_turns(&messages);
        prop_assert!(turns.first().is_none_or(|turn| matches!(turn, ConversationTurn::User(_))));
        for pair in turns.windows(2) {
            let same = std::mem::discriminant(&pair[0]) == std::mem::discriminant(&pair[1]);
            prop_assert!(!same, "{:?}", pair);
        }
        for (index, turn) in turns.iter().enumerate() {
            match turn {
                ConversationTurn::User(parts) => prop_assert!(!parts.is_empty()),
                ConversationTurn::Tools(answers) => {
                    prop_assert!(!answers.is_empty());
                    prop_assert!(matches!(turns[index - 1], ConversationTurn::Assistant(_)));
                }
                ConversationTurn::Assistant(parts) => {
                    let calls: Vec<&str> = parts.iter().filter_map(|part| match part {
                        ContentPart::ToolCall(call) => Some(call.id.as_str()),
                        _ => None,
                    }).collect();
                    let answered: Vec<&str> = match turns.get(index + 1) {
                        Some(ConversationTurn::Tools(answers)) => {
                            answers.iter().map(|one| one.id.as_str()).collect()
                        }
                        _ => Vec::new(),
                    };
                    prop_assert_eq!(calls, answered);
                }
            }
        }
    }
}
