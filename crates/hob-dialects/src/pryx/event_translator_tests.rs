//! Bus events in both of Pryx's spellings.

use super::*;
use hob_wire::content::{ContentPart, TokenUsage, ToolCall, ToolResult};
use hob_wire::rooms::agent::{Cost, DeltaKind, RunDeltaPayload, RunRef};
use hob_wire::rooms::permission::PermissionDenial;
use serde::Serialize;

fn run() -> RunId {
    "01900000-0000-7000-8000-000000000001".parse().unwrap()
}

fn of() -> RunRef {
    RunRef {
        session_key: "s".to_owned(),
        run_id: run(),
    }
}

fn delta(offset: u64, kind: DeltaKind, text: &str) -> RunDeltaPayload {
    RunDeltaPayload {
        run: of(),
        step: 1,
        attempt: 1,
        offset,
        kind,
        delta: text.to_owned(),
        cost: None,
    }
}

fn completed(response: &str, success: bool) -> RunCompletedPayload {
    RunCompletedPayload {
        run: of(),
        response: response.to_owned(),
        success,
        cause: if success {
            RunEndCause::Answered
        } else {
            RunEndCause::ModelFailed
        },
        message: (!success).then(|| "No model could answer.".to_owned()),
        cost: Cost::default(),
        model: None,
        notes: Vec::new(),
        denied: Vec::new(),
    }
}

fn tool(phase: ToolPhase, denial: Option<&str>, result: Option<&str>) -> RunToolPayload {
    RunToolPayload {
        run: of(),
        step: 1,
        phase,
        call: ToolCall {
            id: "c".to_owned(),
            name: "write".to_owned(),
            args: json!({ "path": "a" }),
        },
        denial: denial.map(|reason| {
            let denial = json!({
                "callId": "c", "tool": "write", "by": "owner", "reason": reason,
            });
            serde_json::from_value::<PermissionDenial>(denial).unwrap()
        }),
        result: result.map(|text| ToolResult {
            id: "c".to_owned(),
            content: vec![ContentPart::Text {
                text: text.to_owned(),
            }],
            is_error: false,
        }),
    }
}

#[derive(Default)]
struct Told {
    translator: PryxEventTranslator,
    events: Vec<PryxEvent>,
}

impl Told {
    fn tell<T: Serialize>(&mut self, topic: &str, payload: &T) -> &mut Told {
        let payload = serde_json::to_string(payload).unwrap();
        self.translator
            .translate(topic, &payload, false, &mut self.events)
            .unwrap();
        self
    }

    fn names(&self) -> Vec<&str> {
        self.events.iter().map(|event| event.event).collect()
    }

    fn text(&self, name: &str) -> String {
        let pieces = self.events.iter().filter(|event| event.event == name);
        pieces
            .filter_map(|event| event.payload["content"].as_str())
            .collect()
    }
}

#[test]
fn an_answer_is_told_under_both_names() {
    let mut told = Told::default();
    told.tell(DELTA, &delta(0, DeltaKind::Thinking, "Hm."))
        .tell(DELTA, &delta(0, DeltaKind::Text, "Hel"))
        .tell(DELTA, &delta(3, DeltaKind::Text, "lo"))
        .tell(COMPLETED, &completed("Hello", true));
    assert_eq!(told.text("message.delta"), "Hello");
    assert_eq!(told.text("session.message"), "Hello");
    assert_eq!(
        told.names(),
        [
            "trace.event",
            "session.message",
            "message.delta",
            "session.message",
            "message.delta",
            "session.message",
            "message.done",
            "session.typing",
            "trace.event",
        ]
    );
    assert_eq!(told.events[5].payload["done"], true);
    assert_eq!(told.events[6].payload["content"], "Hello");
    assert!(told.translator.runs.is_empty(), "nothing of it is kept");
}

#[test]
fn a_lost_piece_is_asked_for_and_told_once() {
    let mut told = Told::default();
    told.tell(DELTA, &delta(3, DeltaKind::Text, "lo"));
    assert_eq!(told.translator.take_status_request(), Some(run()));
    assert_eq!(told.translator.take_status_request(), None);
    assert_eq!(told.text("message.delta"), "");
    let step = RunStepPayload {
        run: of(),
        step: 1,
        attempt: 1,
        model: "sim/one".to_owned(),
        usage: TokenUsage::default(),
        cost: Cost::default(),
        text: "Hello".to_owned(),
    };
    told.tell(STEP, &step)
        .tell(COMPLETED, &completed("Hello", true));
    assert_eq!(told.text("message.delta"), "Hello");
}

#[test]
fn an_attempt_that_begins_otherwise_stops_the_pieces() {
    let mut told = Told::default();
    let mut again = delta(0, DeltaKind::Text, "No: Hi");
    again.attempt = 2;
    told.tell(DELTA, &delta(0, DeltaKind::Text, "Yes: "))
        .tell(DELTA, &again)
        .tell(COMPLETED, &completed("No: Hi", true));
    assert_eq!(told.text("message.delta"), "Yes: ");
    assert_eq!(told.text("message.done"), "No: Hi");
}

#[test]
fn a_call_is_requested_once_and_then_runs() {
    let mut told = Told::default();
    let question = json!({
        "id": "q", "sessionKey": "s", "runId": run(), "callId": "c", "tool": "write",
        "args": { "path": "a" }, "tier": "write", "sentence": "Write a?", "digest": "d",
        "askedAt": 1, "deadlineAt": 2,
    });
    told.tell(ASKED, &question)
        .tell(TOOL, &tool(ToolPhase::Start, None, None))
        .tell(TOOL, &tool(ToolPhase::End, None, Some("Done.")));
    assert_eq!(
        told.names(),
        [
            "tool.request",
            "approval.needed",
            "approval.request",
            "tool.executing",
            "tool.start",
            "tool.complete",
            "tool.end",
        ]
    );
    let asked = &told.events[1].payload;
    assert_eq!(asked["approval_id"], "q");
    assert_eq!(asked["resolve_with"], "hob permission answer q y");
    assert_eq!(told.events[5].payload["result"], "Done.");
    assert_eq!(told.events[5].payload["error"], Value::Null);
}

#[test]
fn a_denied_call_and_a_failed_run_say_why() {
    let mut told = Told::default();
    told.tell(TOOL, &tool(ToolPhase::End, Some("Not today."), None))
        .tell(COMPLETED, &completed("", false));
    assert_eq!(told.events[1].event, "tool.complete");
    assert_eq!(told.events[1].payload["error"], "Not today.");
    assert_eq!(told.events[1].payload["success"], false);
    let error = told.events.iter().find(|it| it.event == "error.occurred");
    assert_eq!(error.unwrap().payload["error"], "No model could answer.");
    assert_eq!(told.text("message.done"), "");
}

#[test]
fn runs_beyond_the_bound_are_told_at_their_end() {
    let mut told = Told::default();
    for _ in 0..RUNS_MAX {
        let run = RunId(hob_kit::randomness::Randomness::system().uuid(1));
        told.translator.follow(run).unwrap();
    }
    told.tell(DELTA, &delta(0, DeltaKind::Text, "Hi"));
    assert!(told.events.is_empty());
    told.tell(COMPLETED, &completed("Hi", true));
    assert_eq!(told.text("message.done"), "Hi");
}

#[test]
fn garbage_on_the_bus_is_an_error_and_no_event() {
    let mut translator = PryxEventTranslator::default();
    let mut events = Vec::new();
    for topic in [STARTED, STEP, TOOL, COMPLETED, ASKED, ANSWERED, MESSAGE] {
        let told = translator.translate(topic, "{}", true, &mut events);
        assert!(told.is_err(), "{topic}");
    }
    for topic in [DELTA, "other.topic"] {
        translator
            .translate(topic, "{}", true, &mut events)
            .unwrap();
    }
    assert!(events.is_empty());
}
