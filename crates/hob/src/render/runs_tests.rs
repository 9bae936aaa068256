//! Runs at 80 columns.

use super::*;
use hob_wire::content::{ContentPart, ToolCall, ToolResult};
use hob_wire::rooms::agent::ToolCallState;
use serde_json::json;

const NOW: u64 = 1_794_778_625_000; // 2026-11-15 21:37:05 UTC

fn run(last: u8, state: RunState, cause: Option<RunEndCause>) -> RunView {
    RunView {
        run_id: format!("0190163d-8694-739b-aea5-966c26f8ad{last:02x}").parse().expect("an id"),
        parent: None,
        session_key: "chat:main".to_owned(),
        state,
        running: state == RunState::Running,
        task: "What is filling my disk, and what of it may go?".to_owned(),
        model: Some("sim/small".to_owned()),
        step: 2,
        attempt: 1,
        text: "Mostly pictures.\n\n- 12 GiB in ~/Pictures, which are yours to keep or to put elsewhere\n- 3 GiB of caches".to_owned(),
        cost: Cost {
            micro_dollars: Some(1_240),
            input_tokens: 1_200,
            output_tokens: 34,
            calls: 2,
        },
        cause,
        message: None,
        notes: Vec::new(),
        calls: Vec::new(),
        queued_at: NOW - 190_000,
        started_at: Some(NOW - 190_000),
        ended_at: cause.map(|_| NOW - 180_000),
    }
}

#[test]
fn a_list_says_state_model_cost_and_age() {
    let unknown = RunView {
        cost: Cost {
            micro_dollars: None,
            ..run(1, RunState::Done, None).cost
        },
        ..run(1, RunState::Done, Some(RunEndCause::ModelFailed))
    };
    let queued = RunView {
        model: None,
        cost: Cost::default(),
        ..run(2, RunState::Queued, None)
    };
    let runs = vec![
        run(0, RunState::Done, Some(RunEndCause::Answered)),
        unknown,
        queued,
    ];
    let page = AgentListResult {
        damaged: Vec::new(),
        next: Some(runs[2].run_id),
        runs,
    };
    insta::assert_snapshot!(list(&page, &ScreenStyle::plain(NOW)).join("\n"));
    let none = AgentListResult {
        damaged: Vec::new(),
        runs: Vec::new(),
        next: None,
    };
    assert!(list(&none, &ScreenStyle::plain(NOW))[0].contains("hob ask"));
}

#[test]
fn one_run_is_shown_with_its_calls_notes_and_text() {
    let call = |state, result: Option<&str>| CallView {
        step: 1,
        call: ToolCall {
            id: "call_7".to_owned(),
            name: "read".to_owned(),
            args: json!({ "path": "notes.txt" }),
        },
        state,
        denial: None,
        result: result.map(|text| ToolResult {
            id: "call_7".to_owned(),
            content: vec![ContentPart::Text {
                text: text.to_owned(),
            }],
            is_error: false,
        }),
    };
    let view = RunView {
        calls: vec![
            call(ToolCallState::Done, Some("milk, eggs")),
            call(ToolCallState::InDoubt, None),
        ],
        notes: vec!["3 turns were left out of the context".to_owned()],
        ..run(0, RunState::InDoubt, None)
    };
    insta::assert_snapshot!(show(&view, &ScreenStyle::plain(NOW)).join("\n"));
}
