//! Jobs at 80 columns.

use super::*;
use crate::render::text::width;
use serde_json::{Value, json};

const NOW: u64 = 1_794_778_625_000;
const HOUR: u64 = 3_600_000;

fn job(name: &str, more: &Value) -> Value {
    let mut job = json!({
        "id": format!("job-{name}"), "name": name, "schedule": "every 10m",
        "about": "every 10 minutes", "enabled": true, "createdAt": 1, "updatedAt": 1,
        "work": { "kind": "agent", "task": "Sort what lies in the inbox folder\nand say so." },
        "next": [NOW + 185_000, NOW + 785_000, NOW + 1_385_000, NOW + 1_985_000],
    });
    for (key, value) in more.as_object().expect("an object") {
        job[key] = value.clone();
    }
    job
}

fn slot(number: u64, more: &Value) -> Value {
    let mut slot = json!({
        "number": number, "taskId": "job-tidy", "name": "tidy", "dueAt": NOW - number * HOUR,
        "origin": "schedule", "state": "ran", "startedAt": NOW - number * HOUR,
        "endedAt": NOW - number * HOUR + 3_200,
    });
    for (key, value) in more.as_object().expect("an object") {
        slot[key] = value.clone();
    }
    slot
}

fn jobs() -> CronListResult {
    let jobs = json!({ "jobs": [
        job("backup", &json!({ "schedule": "0 3 * * *", "next": [NOW + 30 * HOUR],
            "work": { "kind": "command", "command": "tar czf backup.tgz notes" },
            "last": slot(2, &json!({ "state": "failed", "exitCode": 2 })) })),
        job("deploy", &json!({ "schedule": "webhook", "about": "when called", "next": [] })),
        job("morning", &json!({ "schedule": "0 9 * * MON-FRI", "next": [NOW + 3 * HOUR],
            "active": 1, "zone": "Europe/Berlin" })),
        job("party", &json!({ "schedule": "at 2026-12-24T18:00", "next": [] })),
        job("tidy", &json!({ "last": slot(1, &json!({})) })),
        job("weird\u{1b}", &json!({ "enabled": false, "work": { "kind": "loop", "name": "build" },
            "problem": "It failed 5 times in a row, last: exit code 2." })),
    ] });
    serde_json::from_value(jobs).expect("is a list")
}

fn fits(lines: &[String]) -> String {
    assert!(lines.iter().all(|line| width(line) <= 80), "{lines:#?}");
    lines.join("\n")
}

#[test]
fn a_list_fits_the_screen_with_next_and_last() {
    insta::assert_snapshot!(fits(&list(&jobs(), &ScreenStyle::plain(NOW))));
    let none = CronListResult {
        damaged: Vec::new(),
        jobs: Vec::new(),
        more: false,
    };
    assert!(fits(&list(&none, &ScreenStyle::plain(NOW))).contains("hob cron add"));
}

#[test]
fn one_is_shown_with_everything_known_of_it() {
    let job = job(
        "tidy",
        &json!({
            "zone": "Europe/Berlin", "description": "Keeps the inbox folder short",
            "work": { "kind": "agent", "task": "Sort what lies in the inbox folder", "model": "fast",
                "budget": { "wallMs": 300_000 }, "workspace": "/home/ada/inbox", "tools": [] },
            "missed": "all", "overlap": "queue", "jitterMs": 30_000, "windowMs": HOUR,
            "activeHours": "08:00-22:00", "grants": [{ "tool": "move", "path": "/home/ada/inbox" }],
            "notify": { "sessionKey": "chat:main" },
            "last": slot(1, &json!({ "state": "failed", "reason": "No model could answer.",
                "output": "I could not\nfinish." })),
        }),
    );
    let job: CronJob = serde_json::from_value(job).expect("a job");
    insta::assert_snapshot!(fits(&show(&job, &ScreenStyle::plain(NOW))));
    insta::assert_snapshot!(fits(&added(&job, &ScreenStyle::plain(NOW))));
}

#[test]
fn what_became_of_each_time_is_told_on_a_line() {
    let page = json!({ "more": true, "slots": [
        slot(1, &json!({ "state": "running", "endedAt": null })),
        slot(2, &json!({ "output": "Sorted 3 files into their folders, one by one.\nDone." })),
        slot(3, &json!({ "state": "failed", "exitCode": 2, "origin": "manual" })),
        slot(4, &json!({ "state": "skipped", "startedAt": null, "endedAt": null,
            "reason": "The one before was still under way." })),
        slot(30, &json!({ "state": "missed", "standsFor": 431, "startedAt": null,
            "endedAt": null, "reason": "hob was not running." })),
        slot(31, &json!({ "origin": "webhook", "cost": { "microDollars": 1_200,
            "inputTokens": 9, "outputTokens": 8, "calls": 2 } })),
    ] });
    let page: CronHistoryResult = serde_json::from_value(page).expect("a page");
    insta::assert_snapshot!(fits(&history(&page, &ScreenStyle::plain(NOW))));
}

#[test]
fn a_hook_is_told_with_a_line_to_try() {
    let secret: HookSecret = serde_json::from_value(json!({
        "id": "job-deploy", "path": "/hooks/deploy", "secret": "whsec_0123456789abcdef",
    }))
    .expect("a secret");
    let lines = super::secret(&secret, "http://127.0.0.1:7717", &ScreenStyle::plain(NOW));
    insta::assert_snapshot!(lines.join("\n"));
}
