//! Commands in both spellings, and what is none.

use super::*;
use serde_json::json;

fn parse(message: &Value) -> Result<PryxCommand, InvalidCommand> {
    PryxCommand::parse(message.to_string().as_bytes())
}

#[test]
fn both_spellings_are_one_command() {
    let chat = PryxCommand::SendChat {
        session: Some("s".to_owned()),
        content: "Hi".to_owned(),
    };
    for message in [
        json!({ "event": "chat.send", "session_id": "s", "payload": { "content": "Hi" } }),
        json!({ "type": "chat.message", "payload": { "session_id": "s", "message": "Hi" } }),
        json!({ "type": "event", "event": "chat.message", "session_id": "s", "content": "Hi" }),
    ] {
        assert_eq!(
            parse(&message),
            Ok(PryxCommand::SendChat {
                session: Some("s".to_owned()),
                content: "Hi".to_owned(),
            }),
            "{message}"
        );
    }
    assert_ne!(
        parse(&json!({ "event": "chat.send", "content": "Ho" })),
        Ok(chat)
    );
    for (approved, message) in [
        (
            true,
            json!({ "event": "approval.resolve", "approval_id": "7", "approved": true }),
        ),
        (
            false,
            json!({ "event": "approval.response", "payload": { "approval_id": "7", "approved": false } }),
        ),
        (
            false,
            json!({ "type": "approval.response", "payload": { "id": "7", "decision": "deny" } }),
        ),
    ] {
        let id = "7".to_owned();
        assert_eq!(
            parse(&message),
            Ok(PryxCommand::ResolveApproval { id, approved }),
            "{message}"
        );
    }
    let session = "s".to_owned();
    let resumed = parse(&json!({ "event": "session.resume", "payload": { "session_id": "s" } }));
    assert_eq!(resumed, Ok(PryxCommand::ResumeSession { session }));
}

#[test]
fn an_answer_is_never_guessed() {
    for message in [
        json!({ "event": "approval.resolve", "approval_id": "7" }),
        json!({ "event": "approval.resolve", "approval_id": "7", "approved": "maybe" }),
        json!({ "event": "approval.resolve", "approval_id": "7", "approved": 1 }),
        json!({ "event": "approval.resolve", "approved": true }),
    ] {
        assert_eq!(
            parse(&message).unwrap_err().kind,
            "approval.invalid",
            "{message}"
        );
    }
}

#[test]
fn what_is_no_command_is_told() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for text in [
        "",
        "[",
        "null",
        "[]",
        "\"chat.send\"",
        "{}",
        "{\"event\":7}",
        &deep,
    ] {
        let refused = PryxCommand::parse(text.as_bytes()).unwrap_err();
        assert_eq!(refused.kind, "command.invalid", "{}", refused.why);
    }
    let unknown = parse(&json!({ "event": "x".repeat(10_000) })).unwrap_err();
    assert_eq!(unknown.kind, "command.unknown");
    assert!(unknown.why.len() < 400, "{}", unknown.why);
    assert_eq!(
        parse(&json!({ "event": "chat.send" })).unwrap_err().kind,
        "chat.invalid"
    );
    let resume = parse(&json!({ "event": "session.resume", "payload": {} }));
    assert_eq!(resume.unwrap_err().kind, "session.resume_invalid");
}
