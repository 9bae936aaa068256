//! A session's events become an answer. The events are those of OpenCode 1.18.33, shortened.

use super::OpencodeStream;
use crate::dialect::{DecodedReply, StreamDecoder};
use crate::error::ModelError;
use crate::prompt::{ReplyDelta, StopReason};
use crate::usage::TokenFigure;
use hob_core::failover::ErrorClass;
use hob_net::SseEvent;
use hob_wire::content::ContentPart;
use serde_json::{Value, json};

fn event(kind: &str, about: &Value) -> SseEvent {
    SseEvent {
        data: json!({ "type": kind, "properties": about }).to_string(),
        ..SseEvent::default()
    }
}

fn part(part: &Value) -> SseEvent {
    event("message.part.updated", &json!({ "part": part }))
}

fn delta(id: &str, delta: &str) -> SseEvent {
    let about = json!({ "messageID": "msg_2", "partID": id, "field": "text", "delta": delta });
    event("message.part.delta", &about)
}

fn step(input: u64, cost: f64) -> SseEvent {
    part(&json!({
        "id": "prt_9", "messageID": "msg_2", "type": "step-finish", "reason": "stop", "cost": cost,
        "tokens": { "input": input, "output": 5, "reasoning": 2, "cache": { "read": 10, "write": 1 } },
    }))
}

fn asked() -> [SseEvent; 2] {
    [
        event(
            "message.updated",
            &json!({ "info": { "id": "msg_1", "role": "user" } }),
        ),
        part(&json!({ "id": "prt_1", "messageID": "msg_1", "type": "text", "text": "Why?" })),
    ]
}

fn done(finish: &str) -> [SseEvent; 2] {
    let info = json!({ "id": "msg_2", "role": "assistant", "finish": finish });
    [
        event("message.updated", &json!({ "info": info })),
        event("session.idle", &json!({})),
    ]
}

fn read(events: &[SseEvent]) -> (Vec<ReplyDelta>, Result<DecodedReply, ModelError>) {
    let mut turn = Box::new(OpencodeStream::default());
    let mut pieces = Vec::new();
    for event in events {
        match turn.push_event(event, &mut pieces) {
            Ok(true) => break,
            Ok(false) => {}
            Err(error) => return (pieces, Err(error)),
        }
    }
    (pieces, turn.finish())
}

fn failure(events: &[SseEvent]) -> ModelError {
    read(events).1.expect_err("fails")
}

#[test]
fn pieces_are_streamed_and_the_whole_part_is_not_said_again() {
    let mut events = asked().to_vec();
    events.extend([
        part(&json!({ "id": "prt_2", "messageID": "msg_2", "type": "reasoning", "text": "" })),
        delta("prt_2", "Hm."),
        part(&json!({ "id": "prt_3", "messageID": "msg_2", "type": "text", "text": "" })),
        delta("prt_3", "Be"),
        delta("prt_3", "cause"),
        part(&json!({ "id": "prt_3", "messageID": "msg_2", "type": "text", "text": "Because." })),
        step(100, 0.000_11),
        step(200, 0.0),
    ]);
    events.extend(done("stop"));
    let (pieces, decoded) = read(&events);
    let decoded = decoded.expect("is whole");
    let said = |text: &str| ReplyDelta::Text(text.to_owned());
    assert_eq!(
        pieces,
        [
            ReplyDelta::Thinking("Hm.".to_owned()),
            said("Be"),
            said("cause"),
            said(".")
        ]
    );
    let text = ContentPart::Text {
        text: "Because.".to_owned(),
    };
    assert_eq!(decoded.parts.last(), Some(&text));
    assert_eq!(decoded.stop, StopReason::End);
    assert_eq!(decoded.claim.input, TokenFigure::Tokens(100 + 200 + 22));
    assert_eq!(decoded.claim.output, TokenFigure::Tokens(14));
    assert_eq!(decoded.claim.cached, TokenFigure::Tokens(20));
    assert_eq!(decoded.micro_dollars, Some(110));
    assert!(decoded.unseen_tokens > 0);
}

#[test]
fn its_tools_are_told_once_as_thoughts_and_become_no_call_of_ours() {
    let tool = |state: &str| {
        part(&json!({
            "id": "prt_2", "messageID": "msg_2", "type": "tool", "tool": "bash", "state": { "status": state },
        }))
    };
    let mut events = asked().to_vec();
    events.extend([tool("pending"), tool("running"), tool("completed")]);
    events.push(part(
        &json!({ "id": "prt_3", "messageID": "msg_2", "type": "text", "text": "Done." }),
    ));
    events.extend(done("stop"));
    let (pieces, decoded) = read(&events);
    let thought =
        |piece: &&ReplyDelta| matches!(piece, ReplyDelta::Thinking(text) if text.contains("bash"));
    assert_eq!(pieces.iter().filter(thought).count(), 1);
    let parts = decoded.expect("is whole").parts;
    assert!(
        !parts
            .iter()
            .any(|it| matches!(it, ContentPart::ToolCall(_)))
    );
}

#[test]
fn an_answer_that_does_not_end_is_no_answer() {
    let mut events = asked().to_vec();
    events.push(part(
        &json!({ "id": "prt_3", "messageID": "msg_2", "type": "text", "text": "Half" }),
    ));
    assert_eq!(failure(&events).class, ErrorClass::Network);
    // Idle, and no message of the assistant's was finished.
    events.push(event("session.idle", &json!({})));
    assert_eq!(failure(&events).class, ErrorClass::Protocol);
    let mut cut = asked().to_vec();
    cut.extend(done("length"));
    assert_eq!(read(&cut).1.expect("ends").stop, StopReason::Length);
}

#[test]
fn its_errors_have_a_class() {
    for (name, data, class) in [
        (
            "UnknownError",
            json!({ "message": "Model not found: loop/no." }),
            ErrorClass::Request,
        ),
        (
            "UnknownError",
            json!({ "message": "boom" }),
            ErrorClass::Overload,
        ),
        (
            "ProviderAuthError",
            json!({ "message": "no key" }),
            ErrorClass::Auth,
        ),
        (
            "APIError",
            json!({ "message": "slow down", "statusCode": 429 }),
            ErrorClass::Rate,
        ),
        (
            "APIError",
            json!({ "message": "no", "statusCode": 401 }),
            ErrorClass::Auth,
        ),
        (
            "ContextOverflowError",
            json!({ "message": "too long" }),
            ErrorClass::Context,
        ),
        (
            "MessageAbortedError",
            json!({ "message": "Aborted" }),
            ErrorClass::Network,
        ),
    ] {
        let error = json!({ "error": { "name": name, "data": data } });
        let found = failure(&[event("session.error", &error)]);
        assert_eq!(found.class, class, "{name}: {}", found.message);
    }
}

#[test]
fn what_it_wants_to_be_asked_is_refused_with_what_to_do() {
    let asks = json!({ "id": "per_1", "permission": "external_directory" });
    let error = failure(&[event("permission.asked", &asks)]);
    assert_eq!(error.class, ErrorClass::Request);
    assert!(
        error.message.contains("external_directory"),
        "{}",
        error.message
    );
    let error = failure(&[event("question.asked", &json!({}))]);
    assert_eq!(error.class, ErrorClass::Request);
}
