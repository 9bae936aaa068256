//! What is said of loops and jobs.

use super::*;
use serde_json::json;

fn one(state: &serde_json::Value) -> Loop {
    let one = json!({
        "name": "build", "config": { "intervalMs": 5000 }, "createdAt": 1, "updatedAt": 1,
        "state": state, "persistent": { "revision": 0, "text": "" },
        "working": { "revision": 0, "text": "" },
    });
    serde_json::from_value(one).expect("a loop")
}

fn job(enabled: bool, problem: Option<&str>, last: Option<&str>) -> CronJob {
    let last = last.map(|state| {
        json!({ "number": 1, "taskId": "j", "name": "tidy", "dueAt": 1, "origin": "schedule",
            "state": state, "reason": "Exit code 2." })
    });
    let job = json!({
        "id": "j", "name": "tidy", "schedule": "every 10m", "about": "every 10 minutes",
        "work": { "kind": "loop", "name": "build" }, "enabled": enabled, "problem": problem,
        "last": last, "createdAt": 1, "updatedAt": 1,
    });
    serde_json::from_value(job).expect("a job")
}

#[test]
fn what_gave_up_is_named_with_what_to_do() {
    let gave_up = json!({ "running": false, "phase": "idle", "iteration": 3, "sinceStart": 3,
        "stopped": "errors", "lastError": "No model could answer." });
    let problem = Some("It failed 5 times in a row.");
    let found = work_findings(&[one(&gave_up)], &[job(false, problem, None)]);
    let said: Vec<&str> = found.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(
        said,
        [
            "build gave up. No model could answer.",
            "tidy is disabled. It failed 5 times in a row.",
        ]
    );
    assert!(found.iter().all(|it| it.level == FindingLevel::Warning));
    let failed = work_findings(&[], &[job(true, None, Some("failed"))]);
    assert_eq!((failed.len(), failed[0].level), (1, FindingLevel::Note));
}

#[test]
fn work_that_goes_well_is_counted_and_none_is_not_mentioned() {
    assert_eq!(work_findings(&[], &[]), []);
    let running = json!({ "running": true, "phase": "sleep", "iteration": 3, "sinceStart": 3 });
    let found = work_findings(&[one(&running)], &[job(true, None, Some("ran"))]);
    assert_eq!((found.len(), found[0].level), (1, FindingLevel::Well));
    assert_eq!(found[0].message, "1 running loop, 1 enabled job");
}

#[test]
fn a_heartbeat_with_an_empty_page_is_a_note() {
    let note = heartbeat_finding("# Things\n- [ ]\n", "/home/HEARTBEAT.md").expect("a note");
    assert_eq!(note.level, FindingLevel::Note);
    assert!(
        note.fix
            .is_some_and(|fix| fix.contains("/home/HEARTBEAT.md"))
    );
    assert_eq!(heartbeat_finding("- Water the plants\n", "x"), None);
}
