//! Events about runs: what is replayed is what was published, and little of it is stored.

use super::rig::{run, step};
use crate::support::{Home, count};
use hob_store::{NewMessage, StepWrite};
use hob_wire::rooms::agent::{
    Cost, RunCompletedPayload, RunRef, RunState, RunStepPayload, RunToolPayload, ToolPhase,
};
use hob_wire::work::RunEndCause;
use hob_wire::{ContentPart, MessageContent, Role, TokenUsage, ToolCall, ToolResult};
use serde_json::{Value, json};

const TEXT: &str = "a long \"answer\" \u{1F600}\n";

fn payload(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

/// A write with a step's text, a tool's result and the end of the run.
fn last_write(run: &hob_store::RunRow, text: &str) -> StepWrite {
    let of = RunRef {
        session_key: run.session_key.clone(),
        run_id: run.id,
    };
    let call = ToolCall {
        id: "c1".to_owned(),
        name: "read".to_owned(),
        args: json!({ "path": "x", "n": 1.5 }),
    };
    let result = ToolResult {
        id: "c1".to_owned(),
        content: vec![ContentPart::Text {
            text: text.repeat(2),
        }],
        is_error: false,
    };
    let cost = Cost {
        micro_dollars: None,
        input_tokens: 5,
        output_tokens: 6,
        calls: 1,
    };
    let mut write = step(run, 1, RunState::Done);
    write.summary.text = text.to_owned();
    write.summary.cost = cost;
    write.messages = vec![
        NewMessage::new(
            Role::Assistant,
            MessageContent::Parts(vec![
                ContentPart::Thinking {
                    text: "hm".to_owned(),
                    signature: None,
                },
                ContentPart::Text {
                    text: text.to_owned(),
                },
                ContentPart::ToolCall(call.clone()),
            ]),
        ),
        NewMessage::new(
            Role::Tool,
            MessageContent::Parts(vec![ContentPart::ToolResult(result.clone())]),
        ),
    ];
    write.events = vec![
        (
            "run.step",
            payload(&RunStepPayload {
                run: of.clone(),
                step: 1,
                attempt: 1,
                model: "sim/small".to_owned(),
                usage: TokenUsage::default(),
                cost,
                text: text.to_owned(),
            }),
        ),
        (
            "run.tool",
            payload(&RunToolPayload {
                run: of.clone(),
                step: 1,
                phase: ToolPhase::End,
                call,
                denial: None,
                result: Some(result),
            }),
        ),
        (
            "run.completed",
            payload(&RunCompletedPayload {
                run: of,
                response: text.to_owned(),
                success: true,
                cause: RunEndCause::Answered,
                message: None,
                cost,
                model: Some("sim/small".to_owned()),
                notes: Vec::new(),
                denied: Vec::new(),
            }),
        ),
    ];
    write
}

#[tokio::test]
async fn replay_is_what_was_published_and_texts_are_stored_once() {
    let home = Home::new();
    let store = home.open();
    let run = store.accept(run("chat:\"1\"", "look")).await;
    let mut begin = step(&run, 0, RunState::Running);
    begin.events = vec![("run.started", json!({ "sessionKey": "chat", "model": "m" }))];
    store.write_step(begin).await.unwrap();
    let text = TEXT.repeat(500);
    store.write_step(last_write(&run, &text)).await.unwrap();

    let published = store.published_at_least(8).await;
    let topics: Vec<_> = published.iter().map(|event| &*event.topic).collect();
    assert_eq!(
        topics,
        [
            "session.created",
            "run.queued",
            "run.started",
            "session.message",
            "session.message",
            "run.step",
            "run.tool",
            "run.completed"
        ]
    );
    for event in &published[1..] {
        let session = event.session.as_ref().unwrap();
        assert_eq!(session.key.as_deref(), Some("chat:\"1\""));
    }
    for limit in [1, 3, 100] {
        assert_eq!(store.replay(0, limit).await, published, "pages of {limit}");
    }
    store.close().await;
    let store = home.open();
    assert_eq!(store.replay(0, 100).await, published, "after a restart");
    store.close().await;
    let kept = count(
        &home.database(),
        "SELECT sum(length(ifnull(payload, ''))) FROM events",
    );
    assert!(kept < 1_024, "{kept} bytes are in the log");
}

#[tokio::test]
async fn what_cannot_be_rebuilt_is_kept() {
    let home = Home::new();
    let store = home.open();
    let run = store.accept(run("s", "look")).await;
    store
        .write_step(step(&run, 0, RunState::Running))
        .await
        .unwrap();
    let mut write = last_write(&run, &TEXT.repeat(10));
    for (_, payload) in &mut write.events {
        payload["sessionKey"] = json!("another name");
    }
    write.events[0].1["text"] = json!("cut off");
    store.write_step(write).await.unwrap();
    let published = store.published_at_least(7).await;
    assert_eq!(store.replay(0, 100).await, published);
    store.close().await;
}

#[tokio::test]
async fn events_of_a_deleted_sessions_runs_are_left_out() {
    let home = Home::new();
    let store = home.open();
    let run = store.accept(run("s", "look")).await;
    let mut begin = step(&run, 0, RunState::Running);
    begin.events = vec![("run.started", json!({}))];
    store.write_step(begin).await.unwrap();
    store.write_step(last_write(&run, TEXT)).await.unwrap();
    let session = hob_wire::id::SessionRef::parse("s");
    store.delete_session(&session).await.unwrap();
    let topics: Vec<_> = store.replay(0, 100).await;
    let topics: Vec<_> = topics.iter().map(|event| &*event.topic).collect();
    assert_eq!(topics, ["session.deleted"]);
    store.close().await;
}
