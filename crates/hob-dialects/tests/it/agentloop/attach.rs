//! A connection that names a session in the middle of an answer, and questions that wait for a
//! person.

use super::{command, open_house, ready, types, until};
use crate::house::{House, Socket};
use hob_bus::{Bus, EventLog, NewEvent, Room, SessionTag};
use hob_wire::rooms::agent::{
    self, AgentRunParams, AgentRunResult, RunCompletedPayload, RunDeltaPayload, RunState, RunView,
};
use hob_wire::rooms::permission::{
    self, PermissionPendingResult, PermissionQuestion, PermissionRequested,
};
use hob_wire::{ErrorCode, EventTopic, WireError};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

const RUN: &str = "0c0ffee0-1111-7222-8333-444455556666";

/// An agent that is in the middle of an answer, as the test says.
struct BusyAgent {
    bus: Bus,
    log: Arc<dyn EventLog>,
    view: Mutex<Option<RunView>>,
    pending: Mutex<Vec<PermissionQuestion>>,
    tasks: Mutex<Vec<String>>,
}

impl BusyAgent {
    fn move_in(house: &House) -> Arc<BusyAgent> {
        let agent = Arc::new(BusyAgent {
            bus: house.bus.clone(),
            log: house.store.event_log(),
            view: Mutex::default(),
            pending: Mutex::default(),
            tasks: Mutex::default(),
        });
        let (shown, started, asked) = (agent.clone(), agent.clone(), agent.clone());
        let room = Room::new("agent")
            .method::<agent::Status, _, _>(move |_, _| {
                let view = shown.view.lock().unwrap().clone();
                let none = || WireError::new(ErrorCode::NotFound, "There is no run.");
                async move { view.ok_or_else(none) }
            })
            .method::<agent::Run, _, _>(move |_, params| {
                let agent = Arc::clone(&started);
                async move { Ok(agent.run(params).await) }
            })
            .event::<agent::RunDelta>()
            .event::<agent::RunCompleted>();
        house.bus.serve(room).unwrap();
        let room = Room::new("permission")
            .method::<permission::Pending, _, _>(move |_, _| {
                let questions = asked.pending.lock().unwrap().clone();
                async move { Ok(PermissionPendingResult { questions }) }
            })
            .event::<PermissionRequested>();
        house.bus.serve(room).unwrap();
        agent
    }

    /// Answers at once.
    async fn run(&self, params: AgentRunParams) -> AgentRunResult {
        let run = "0c0ffee0-1111-7222-8333-444455557777";
        self.tasks.lock().unwrap().push(params.task);
        self.end(run, "Second.", "answered").await;
        from(json!({ "runId": run, "sessionKey": "s", "state": "queued" }))
    }

    fn show(&self, state: RunState, text: &str) {
        let view = json!({
            "runId": RUN, "sessionKey": "s", "state": state, "running": true, "task": "Greet",
            "step": 1, "attempt": 1, "text": text, "queuedAt": 1, "cause": "answered",
            "cost": { "inputTokens": 0, "outputTokens": 0, "calls": 0 },
        });
        *self.view.lock().unwrap() = Some(from(view));
    }

    fn say(&self, offset: u64, delta: &str) {
        let payload: RunDeltaPayload = from(json!({
            "sessionKey": "s", "runId": RUN, "step": 1, "attempt": 1, "offset": offset,
            "type": "text", "kind": "text", "delta": delta,
        }));
        let emitter = self.bus.emitter("agent");
        emitter.emit::<agent::RunDelta>(Some(tag()), &payload);
    }

    async fn end(&self, run: &str, response: &str, cause: &str) {
        let payload: RunCompletedPayload = from(json!({
            "sessionKey": "s", "runId": run, "response": response, "success": true,
            "cause": cause, "cost": { "inputTokens": 0, "outputTokens": 0, "calls": 0 },
        }));
        self.tell::<agent::RunCompleted>("agent", &payload).await;
    }

    async fn ask(&self, question: &PermissionQuestion) {
        self.tell::<PermissionRequested>("permission", question)
            .await;
    }

    async fn tell<T: EventTopic>(&self, source: &'static str, payload: &T::Payload) {
        let event = NewEvent {
            source: source.into(),
            topic: T::SPEC.topic.into(),
            session: Some(tag()),
            payload: Some(serde_json::to_vec(payload).unwrap().into()),
        };
        self.log.append(event).await.unwrap();
    }
}

fn tag() -> SessionTag {
    SessionTag {
        id: "s".into(),
        key: None,
    }
}

fn from<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn question(id: &str) -> PermissionQuestion {
    from(json!({
        "id": id, "sessionKey": "s", "runId": RUN, "callId": "c1", "tool": "exec",
        "args": { "command": "make" }, "tier": "exec", "sentence": "Run make?",
        "digest": "d", "askedAt": 1, "deadlineAt": 2,
    }))
}

async fn create(socket: &mut Socket) -> Value {
    command(socket, "session.create", json!({ "sessionId": "s" })).await;
    let created = json!({ "type": "session.created", "sessionId": "s" });
    assert_eq!(socket.next().await, created);
    socket.next().await
}

fn message(events: &[Value]) -> &Value {
    let found = events
        .iter()
        .rfind(|event| event["type"] == "assistant.message");
    &found.unwrap()["content"]
}

#[tokio::test]
async fn a_new_connection_gets_the_state_and_the_rest_of_an_answer() {
    let (house, address) = open_house().await;
    let agent = BusyAgent::move_in(&house);
    agent.show(RunState::Running, "Hel");
    let mut socket = Socket::open(&address, "/", &[]).await.unwrap();
    let status = create(&mut socket).await;
    assert_eq!(
        (&status["status"], &status["detail"]),
        (&json!("streaming"), &json!("An answer is under way"))
    );
    // What was said before comes first, as tokens.
    let events = until(&mut socket, &json!({ "type": "assistant.token" })).await;
    assert_eq!(events.last().unwrap()["token"], "Hel");
    agent.say(3, "lo");
    let events = until(&mut socket, &json!({ "type": "assistant.token" })).await;
    assert_eq!(events.last().unwrap()["token"], "lo");
    agent.end(RUN, "Hello", "answered").await;
    let events = until(&mut socket, &ready("s")).await;
    assert_eq!(message(&events), "Hello");

    // Named again while it is followed, it is not followed twice.
    agent.show(RunState::Done, "Hello");
    let status = create(&mut socket).await;
    assert_eq!(status["detail"], "Session ready");
    house.stop().await;
}

#[tokio::test]
async fn a_session_that_is_followed_is_not_followed_twice() {
    let (house, address) = open_house().await;
    let agent = BusyAgent::move_in(&house);
    agent.show(RunState::Running, "");
    let mut socket = Socket::open(&address, "/", &[]).await.unwrap();
    for _ in 0..3 {
        assert_eq!(create(&mut socket).await["status"], "thinking");
    }
    // The second message waits for the first answer.
    let second = json!({ "sessionId": "s", "content": "Then?" });
    command(&mut socket, "session.send", second).await;
    command(&mut socket, "agent.list", json!({})).await;
    until(&mut socket, &json!({ "type": "agent.list" })).await;
    assert!(agent.tasks.lock().unwrap().is_empty());
    agent.say(0, "First.");
    until(&mut socket, &json!({ "type": "assistant.token" })).await;
    agent.end(RUN, "First.", "answered").await;
    let events = until(&mut socket, &ready("s")).await;
    assert_eq!(types(&events), ["assistant.message", "session.status"]);
    let events = until(&mut socket, &ready("s")).await;
    assert_eq!(message(&events), "Second.");
    assert_eq!(*agent.tasks.lock().unwrap(), ["Then?"]);
    house.stop().await;
}

/// AgentLoop's clients show the name of a state and not its detail.
#[tokio::test]
async fn a_question_for_a_person_is_text_with_the_command_that_answers_it() {
    let (house, address) = open_house().await;
    let agent = BusyAgent::move_in(&house);
    agent.show(RunState::Waiting, "");
    agent.pending.lock().unwrap().push(question("q-one"));
    let mut socket = Socket::open(&address, "/", &[]).await.unwrap();
    let status = create(&mut socket).await;
    assert_eq!(
        (&status["status"], &status["detail"]),
        (&json!("tool_use"), &json!("Waits for a person's answer"))
    );
    let events = until(&mut socket, &json!({ "type": "assistant.message" })).await;
    let text = message(&events).as_str().unwrap();
    for part in [
        "Run make?",
        "hob permission answer q-one y",
        "hob permission answer q-one n",
        "hob permission pending",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    // Asked once more it is the same question; another one is new.
    agent.ask(&question("q-one")).await;
    agent.ask(&question("q-two")).await;
    let events = until(&mut socket, &json!({ "type": "assistant.message" })).await;
    assert!(message(&events).as_str().unwrap().contains("q-two"));
    assert_eq!(types(&events), ["session.status", "assistant.message"]);
    agent.end(RUN, "Made.", "answered").await;
    let events = until(&mut socket, &ready("s")).await;
    assert_eq!(message(&events), "Made.");
    house.stop().await;
}

#[tokio::test]
async fn an_answer_that_fails_or_is_stopped_is_told_to_the_new_connection() {
    let (house, address) = open_house().await;
    let agent = BusyAgent::move_in(&house);
    agent.show(RunState::Running, "");
    let mut socket = Socket::open(&address, "/", &[]).await.unwrap();
    create(&mut socket).await;
    agent.say(0, "x");
    until(&mut socket, &json!({ "type": "assistant.token" })).await;
    agent.end(RUN, "", "aborted").await;
    until(&mut socket, &json!({ "detail": "Cancelled" })).await;
    house.stop().await;
}
