//! The JSON of AgentLoop's commands and events.

use super::{AgentLoopCommand, AgentLoopEvent, AgentLoopSessionState, COMMANDS, RoutingMode};
use serde_json::{Value, json};

fn read(value: Value) -> Result<AgentLoopCommand, serde_json::Error> {
    serde_json::from_value(value)
}

#[test]
fn every_command_is_read() {
    let create = read(json!({ "type": "session.create" })).unwrap();
    assert_eq!(create, AgentLoopCommand::SessionCreate(None));
    assert!(read(json!({ "type": "session.create", "payload": {} })).is_ok());
    let send = json!({ "type": "session.send", "payload": { "sessionId": "s", "content": "hi" } });
    let AgentLoopCommand::SessionSend(send) = read(send).unwrap() else {
        panic!("another command");
    };
    assert_eq!((send.content.as_str(), send.images), ("hi", None));
    for name in COMMANDS {
        let payload = json!({ "sessionId": "s", "content": "hi", "name": "mlx", "more": 1 });
        let command = read(json!({ "type": name, "payload": payload })).unwrap();
        let written = serde_json::to_value(command).unwrap();
        assert_eq!(written["type"], name);
    }
}

#[test]
fn null_is_not_missing() {
    let payload = json!({ "sessionId": "s", "routingMode": "pinned", "agent": null });
    let command = read(json!({ "type": "session.configure", "payload": payload })).unwrap();
    let AgentLoopCommand::SessionConfigure(configure) = command else {
        panic!("another command");
    };
    assert_eq!(configure.routing_mode, Some(RoutingMode::Pinned));
    assert_eq!(
        (configure.agent, configure.session_prompt),
        (Some(None), None)
    );
}

#[test]
fn what_is_not_a_command_is_refused() {
    for value in [
        json!(null),
        json!([]),
        json!({}),
        json!({ "type": "session.wipe", "payload": {} }),
        json!({ "type": "session.send", "payload": { "sessionId": "s" } }),
        json!({ "type": "session.send" }),
        json!({ "type": "service.start", "payload": {} }),
        json!({ "type": "session.configure", "payload": { "sessionId": "s", "routingMode": "x" } }),
    ] {
        assert!(read(value.clone()).is_err(), "{value}");
    }
}

#[test]
fn events_are_flat() {
    let status = AgentLoopEvent::SessionStatus {
        session_id: "s".to_owned(),
        status: AgentLoopSessionState::ToolUse,
        detail: None,
    };
    assert_eq!(
        serde_json::to_value(status).unwrap(),
        json!({ "type": "session.status", "sessionId": "s", "status": "tool_use" })
    );
    let decision = AgentLoopEvent::RouterDecision {
        session_id: "s".to_owned(),
        routing_mode: RoutingMode::Auto,
        agent: "chat.quick".to_owned(),
        tools_allowed: Vec::new(),
        reason: Some("r".to_owned()),
        duration_ms: Some(0),
    };
    assert_eq!(
        serde_json::to_value(decision).unwrap(),
        json!({
            "type": "router.decision", "sessionId": "s", "routingMode": "auto",
            "agent": "chat.quick", "toolsAllowed": [], "reason": "r", "durationMs": 0,
        })
    );
}
