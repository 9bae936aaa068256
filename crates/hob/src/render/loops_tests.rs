//! Loops at 80 columns.

use super::*;
use crate::render::text::width;
use serde_json::{Value, json};

const NOW: u64 = 1_794_778_625_000;

fn one(name: &str, state: &Value, config: &Value) -> Value {
    let mut one = json!({
        "name": name,
        "config": { "user": "Look at the build and mend what is broken.\nThen rest.",
            "intervalMs": 5_000 },
        "state": { "running": true, "phase": "sleep", "iteration": 7, "sinceStart": 7,
            "cost": { "microDollars": 31_200, "inputTokens": 9_000, "outputTokens": 800,
                "calls": 9 } },
        "persistent": { "revision": 3, "text": "The tests live in tests/it." },
        "working": { "revision": 1, "text": "" },
        "createdAt": NOW - 90_000_000, "updatedAt": NOW - 80_000_000,
    });
    for (key, value) in state.as_object().expect("an object") {
        one["state"][key] = value.clone();
    }
    for (key, value) in config.as_object().expect("an object") {
        one["config"][key] = value.clone();
    }
    one
}

fn loops() -> LoopListResult {
    let none = json!({});
    let loops = json!({ "loops": [
        one("build", &json!({ "nextAt": NOW + 4_000 }), &json!({ "maxIterations": 10 })),
        one("garden", &json!({ "phase": "prompt", "iteration": 12, "sinceStart": 2 }),
            &json!({ "maxIterations": 5 })),
        one("news", &json!({ "nextAt": NOW + 7_500_000, "errors": 2 }), &none),
        one("fresh", &json!({ "running": false, "phase": "idle", "iteration": 0,
            "sinceStart": 0, "cost": { "inputTokens": 0, "outputTokens": 0, "calls": 0 } }), &none),
        one("broken", &json!({ "running": false, "phase": "idle", "stopped": "errors",
            "errors": 10 }), &none),
        one("rich\u{1b}", &json!({ "running": false, "phase": "idle", "stopped": "money" }),
            &none),
    ] });
    serde_json::from_value(loops).expect("is a list")
}

fn fits(lines: &[String]) -> String {
    assert!(lines.iter().all(|line| width(line) <= 80), "{lines:#?}");
    lines.join("\n")
}

#[test]
fn a_list_fits_the_screen_and_says_what_each_does() {
    insta::assert_snapshot!(fits(&list(&loops(), &ScreenStyle::plain(NOW))));
    let none = LoopListResult { loops: Vec::new() };
    assert!(fits(&list(&none, &ScreenStyle::plain(NOW))).contains("hob loop create"));
}

#[test]
fn one_is_shown_with_everything_known_of_it() {
    let state = json!({
        "nextAt": NOW + 64_000, "lastResponse": "Two warnings are gone.", "errors": 1,
        "lastError": "No model could answer: 529 overloaded.",
        "monitor": { "at": NOW - 5_000, "durationMs": 12, "exitCode": 1, "stdout": "ok\n",
            "stderr": "warning: unused\n" },
    });
    let config = json!({
        "model": "smart", "maxIterations": 10, "system": "You are careful.",
        "monitor": { "command": "cargo check 2>&1 | tail -n 20", "intervalMs": 10_000,
            "network": true },
        "budget": { "steps": 20, "microDollars": 500_000 }, "totalMicroDollars": 5_000_000,
        "grants": [{ "tool": "write", "path": "/work/hob" },
            { "tool": "exec", "match": { "command": "cargo *" } }],
        "notify": { "sessionKey": "chat:main", "failuresOnly": true },
        "workspace": "/work/hob", "tools": ["read", "write", "exec"],
    });
    let one: Loop = serde_json::from_value(one("build", &state, &config)).expect("a loop");
    insta::assert_snapshot!(fits(&show(&one, &ScreenStyle::plain(NOW))));
}

fn iterations() -> LoopHistoryResult {
    let page = json!({ "more": true, "iterations": [
        { "iteration": 7, "sessionKey": "loop:build:7", "prompt": "Do it", "startedAt": NOW - 3_000 },
        { "iteration": 6, "sessionKey": "loop:build:6", "prompt": "# Current Task\n\nDo it",
            "response": "\nThe build is green; I changed two files and ran the tests of both.\nMore.",
            "success": true, "cause": "answered", "startedAt": NOW - 90_000, "endedAt": NOW - 15_000,
            "cost": { "microDollars": 1_200, "inputTokens": 9, "outputTokens": 8, "calls": 2 } },
        { "iteration": 5, "sessionKey": "loop:build:5", "prompt": "Do it", "response": "I may",
            "success": false, "cause": "denied", "message": "A permission was denied: write.",
            "startedAt": NOW - 100_000_000, "endedAt": NOW - 99_995_000 },
        { "iteration": 4, "sessionKey": "loop:build:4", "prompt": "Do it", "success": false,
            "cause": "aborted", "startedAt": NOW - 100_100_000, "endedAt": NOW - 100_099_500 },
    ] });
    serde_json::from_value(page).expect("a page")
}

#[test]
fn a_history_fits_and_one_iteration_is_shown_whole() {
    let page = iterations();
    insta::assert_snapshot!(fits(&history("build", &page, &ScreenStyle::plain(NOW))));
    let one = &page.iterations[1];
    insta::assert_snapshot!(fits(&iteration(one, &ScreenStyle::plain(NOW))));
}

#[test]
fn revisions_are_told_with_their_writers() {
    let found = json!({
        "revision": 3, "text": "", "by": "owner", "at": NOW,
        "earlier": [
            { "revision": 2, "text": "The tests live in tests/it.\nNever push.",
                "by": "loop:build:6", "at": NOW - 90_000 },
            { "revision": 1, "text": "The tests live somewhere.", "by": "owner",
                "at": NOW - 900_000_000 },
        ],
    });
    let found: LoopPersistentResult = serde_json::from_value(found).expect("memories");
    insta::assert_snapshot!(fits(&memories(&found, &ScreenStyle::plain(NOW))));
}
