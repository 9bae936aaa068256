//! Lines about runs at 80 columns.

use super::*;
use hob_wire::content::{ContentPart, ToolResult};
use hob_wire::id::RunId;
use hob_wire::rooms::agent::{RunRef, RunState};
use serde_json::json;

const NOW: u64 = 1_794_778_625_000; // 2026-11-15 21:37:05 UTC

fn tool_call(name: &str, args: Value) -> ToolCall {
    ToolCall {
        id: "c1".to_owned(),
        name: name.to_owned(),
        args,
    }
}

fn result(text: &str, is_error: bool) -> ToolResult {
    let text = text.to_owned();
    ToolResult {
        id: "c1".to_owned(),
        content: vec![ContentPart::Text { text }],
        is_error,
    }
}

fn run_id() -> RunId {
    "0190163d-8694-739b-aea5-966c26f8ad91"
        .parse()
        .expect("an id")
}

fn price(micro_dollars: Option<u64>) -> Cost {
    Cost {
        micro_dollars,
        input_tokens: 1_200,
        output_tokens: 34,
        calls: 2,
    }
}

#[test]
fn a_call_is_said_in_a_few_words() {
    let screen = ScreenStyle::plain(NOW);
    let words = |name, args| call(&tool_call(name, args), &screen);
    assert_eq!(
        words("read", json!({ "path": "notes.txt" })),
        "→ read notes.txt"
    );
    assert_eq!(words("time", json!({})), "→ time");
    assert_eq!(
        words("copy", json!({ "from": "a", "times": 2 })),
        "→ copy from=a times=2"
    );
    assert_eq!(words("unreadable", json!("{\"pa")), "→ unreadable {\"pa");
    let long = words("say", json!({ "text": "x\u{1b}[2J\n".repeat(90) }));
    assert!(
        width(&long) <= 80 && !long.contains(['\u{1b}', '\n']),
        "{long}"
    );
    let failed = failed_call(
        &tool_call("read", json!({})),
        &result("No such\nfile.", true),
        &screen,
    );
    assert_eq!(failed, "✗ read: No such file.");
}

#[test]
fn money_that_is_not_known_is_not_nothing() {
    assert_eq!(
        cost(&price(Some(1_200))),
        "2 calls · 1,234 tokens · $0.0012"
    );
    assert_eq!(cost(&price(None)), "2 calls · 1,234 tokens · price unknown");
    assert_eq!(cost(&Cost::default()), "0 calls · 0 tokens · $0");
}

#[test]
fn a_stop_says_what_had_happened() {
    let state = |state, result| CallView {
        step: 1,
        call: tool_call("send_mail", json!({ "to": "ada@example.org" })),
        state,
        denial: None,
        result,
    };
    let view = RunView {
        run_id: run_id(),
        parent: None,
        session_key: "chat:main".to_owned(),
        state: RunState::Done,
        running: false,
        task: "write to Ada".to_owned(),
        model: None,
        step: 2,
        attempt: 1,
        text: String::new(),
        cost: price(None),
        cause: Some(RunEndCause::Aborted),
        message: None,
        notes: vec!["send_mail was begun; whether it happened is not known".to_owned()],
        calls: vec![
            state(ToolCallState::Done, Some(result("sent", false))),
            state(ToolCallState::Done, Some(result("refused", true))),
            state(ToolCallState::Cancelled, None),
            state(ToolCallState::Asked, None),
        ],
        queued_at: NOW,
        started_at: Some(NOW),
        ended_at: Some(NOW),
    };
    insta::assert_snapshot!(stop_report(&view, &ScreenStyle::plain(NOW)).join("\n"));
    let untouched = RunView {
        calls: Vec::new(),
        notes: Vec::new(),
        ..view
    };
    insta::assert_snapshot!(stop_report(&untouched, &ScreenStyle::plain(NOW)).join("\n"));
}

#[test]
fn every_cause_is_a_sentence() {
    let causes = json!([
        "answered",
        "aborted",
        "step-limit",
        "token-limit",
        "money-limit",
        "time-limit",
        "error-streak",
        "repeated-call",
        "repeated-text",
        "model-failed",
        "denied",
        "given-up",
        "parked"
    ]);
    let causes: Vec<RunEndCause> = serde_json::from_value(causes).expect("causes");
    for one in causes {
        let completed = RunCompletedPayload {
            run: RunRef {
                session_key: "k".to_owned(),
                run_id: run_id(),
            },
            response: String::new(),
            success: false,
            cause: one,
            message: None,
            cost: Cost::default(),
            model: None,
            notes: Vec::new(),
            denied: Vec::new(),
        };
        assert!(cause(&completed).ends_with('.'), "{one:?}");
        let said = RunCompletedPayload {
            message: Some("the provider\nrefused the key".to_owned()),
            ..completed
        };
        assert_eq!(cause(&said), "The provider refused the key.");
    }
}

#[test]
fn who_answered_elsewhere_is_said() {
    let answered = |decision, scope, by: &str| {
        answered_elsewhere(&PermissionAnswer {
            id: "q1".to_owned(),
            session_key: "chat:main".to_owned(),
            run_id: "0190163d-8694-739b-aea5-966c26f8ad91"
                .parse()
                .expect("an id"),
            decision,
            scope,
            by: by.to_owned(),
        })
    };
    let told = [
        answered(PermissionDecision::Allow, AnswerReach::Once, "phone"),
        answered(
            PermissionDecision::Allow,
            AnswerReach::Folder,
            "phone\u{1b}[2J",
        ),
        answered(PermissionDecision::Deny, AnswerReach::Once, "phone"),
        answered(PermissionDecision::Deny, AnswerReach::Once, "deadline"),
        answered(PermissionDecision::Deny, AnswerReach::Once, "withdrawn"),
    ];
    assert_eq!(
        told,
        [
            "Answered elsewhere: allowed by phone.",
            "Answered elsewhere: allowed (folder) by phone\\u{1b}[2J.",
            "Answered elsewhere: denied by phone.",
            "Nobody answered in time: denied.",
            "The question was withdrawn.",
        ]
    );
}

#[test]
fn a_denial_names_who_and_a_bad_exit_its_code() {
    let denial = |by: &str| PermissionDenial {
        call_id: "c1".to_owned(),
        tool: "write".to_owned(),
        by: by.to_owned(),
        reason: "no".to_owned(),
        grant: None,
    };
    let screen = ScreenStyle::plain(0);
    assert_eq!(
        denied_call(&denial("rule:7"), &screen),
        "✗ write: denied (by rule:7)"
    );
    assert_eq!(
        denied_call(&denial("unattended"), &screen),
        "✗ write: denied (nobody is there to ask)"
    );
    let result = |text: &str| ToolResult {
        id: "c1".to_owned(),
        content: vec![ContentPart::Text {
            text: text.to_owned(),
        }],
        is_error: false,
    };
    let bad = failed_exit(&result("out\n(exit code 3)"));
    assert_eq!(bad.as_deref(), Some("(exit code 3)"));
    assert_eq!(failed_exit(&result("(exit code 3)\nall is well")), None);
}

#[test]
fn a_command_in_the_terminal_stands_as_it_is_typed() {
    let args = json!({ "action": "run", "command": "uptime\n-p", "reason": "to see" });
    let mut call = tool_call("terminal", args);
    assert_eq!(super::call(&call, &ScreenStyle::plain(0)), "$ uptime -p");
    assert_eq!(describe_call(&call), "$ uptime -p");
    call.args = json!({ "action": "list" });
    assert_eq!(
        super::call(&call, &ScreenStyle::plain(0)),
        "→ terminal list"
    );
}
