//! Jobs of every kind, and what becomes of times that passed while nobody was there.

use super::{lines, slots, until_slots};
use crate::loops::{json, teller};
use crate::mind::house_with;
use crate::support::wait_until;
use hob_sim::{Answer, Gate, Sim};
use std::time::Duration;

#[test]
fn commands_run_every_so_often_by_fields_once_and_when_told() {
    let sim = teller(&Gate::new());
    let house = house_with(&sim);
    let soon = jiff::Timestamp::now() + Duration::from_secs(4);
    let soon = soon.strftime("%Y-%m-%dT%H:%M:%S");
    house
        .shell("hob cron add often --every 1s --command 'echo x >> often'")
        .success();
    house
        .shell("hob cron add fields --cron '* * * * * *' --command 'echo x >> fields'")
        .success();
    let line = format!("hob cron add once --zone UTC --at {soon} --command 'echo x >> once'");
    house.shell(&line).success();
    let added =
        house.shell("hob cron add told --every 1h --command 'echo out; echo x >> told; exit 3'");
    let added = added.success();
    assert!(added.starts_with("Added told: "), "{added}");
    assert_eq!(
        added.matches("(in ").count(),
        3,
        "the next three times: {added}"
    );

    let told = house.hob(&["cron", "run", "told", "--wait"]);
    assert_eq!(told.code, Some(1), "{told:?}");
    assert!(
        told.stdout.contains("exit code 3") && told.stdout.contains("out"),
        "{told:?}"
    );
    assert_eq!(slots(&house, "told")[0]["origin"], "manual");
    wait_until("each of them", || {
        lines(&house, "often") >= 2 && lines(&house, "fields") >= 2 && lines(&house, "once") == 1
    });
    let ran = until_slots(&house, "often", "ran", 2);
    let mut dues: Vec<u64> = ran
        .iter()
        .filter_map(|slot| slot["dueAt"].as_u64())
        .collect();
    dues.dedup();
    assert_eq!(dues.len(), ran.len(), "each time is one slot");

    house.hob(&["cron", "disable", "often"]).success();
    house.hob(&["cron", "disable", "fields"]).success();
    wait_until("nothing is under way", || {
        let none = |name: &str| {
            let slots = slots(&house, name);
            slots
                .iter()
                .all(|slot| slot["state"] != "running" && slot["state"] != "due")
        };
        none("often") && none("fields")
    });
    let so_far = (lines(&house, "often"), slots(&house, "often").len());
    std::thread::sleep(Duration::from_millis(2_500));
    assert_eq!(
        (lines(&house, "often"), slots(&house, "often").len()),
        so_far
    );
    let list = house.hob(&["cron", "list"]).success();
    let row = list
        .lines()
        .find(|line| line.starts_with("often "))
        .expect("a row");
    // On a busy machine the last second may have come while the one before was at work.
    let went = row.contains("ok ") || row.contains("skipped ");
    assert!(row.contains("disabled") && went, "{row}");
    assert_eq!(lines(&house, "once"), 1);
    let gone = house.hob(&["cron", "remove", "once"]).success();
    assert_eq!(gone, "Removed once with its history.\n");
}

#[test]
fn a_task_runs_in_a_session_of_its_own_and_is_denied_what_it_was_not_granted() {
    let sim = Sim::start(|asked| match asked.results_of_task().first() {
        None => Answer::asks(
            "write",
            serde_json::json!({ "path": "a.txt", "content": "a" }),
        ),
        Some(result) if crate::mind::is_refused(&result.text) => Answer::words("I may not."),
        Some(_) => Answer::words("It is written."),
    });
    let house = house_with(&sim);
    house.hob(&["session", "create", "chat:main"]).success();
    house
        .shell("hob cron add ask --every 1h --task 'Write it.' --notify chat:main")
        .success();
    let run = house.hob(&["cron", "run", "ask", "--wait"]);
    assert!(run.stdout.contains("I may not."), "{run:?}");
    assert!(!house.work().join("a.txt").exists());
    let slot = slots(&house, "ask").pop().expect("a slot");
    let session = slot["sessionKey"].as_str().expect("a session");
    assert!(session.starts_with("cron:ask:"), "{slot}");
    assert!(slot["runId"].is_string(), "{slot}");
    let listed = json(&house, &["session", "get", session]);
    assert_eq!(listed["kind"], "cron", "{listed}");
    wait_until("the session is told", || {
        let said = house.hob(&["session", "history", "chat:main"]).success();
        said.contains("I may not.")
    });
    house.shell("hob cron update ask --allow write").success();
    house.hob(&["cron", "run", "ask", "--wait"]).success();
    assert!(house.work().join("a.txt").exists());
}

#[test]
fn a_job_runs_one_iteration_of_a_loop() {
    let sim = teller(&Gate::new());
    let house = house_with(&sim);
    house.shell("hob loop create count --task Count").success();
    house
        .shell("hob cron add nightly --cron '0 3 * * *' --loop count")
        .success();
    house.hob(&["cron", "run", "nightly", "--wait"]).success();
    house.hob(&["cron", "run", "nightly", "--wait"]).success();
    let history = crate::loops::history(&house, "count");
    assert_eq!(history.len(), 2, "{history:#?}");
    assert_eq!(history[1]["response"], "This is answer 2.");
}

#[test]
fn times_that_passed_while_nobody_was_there_are_run_once_and_counted() {
    let sim = teller(&Gate::new());
    let mut house = house_with(&sim);
    house
        .shell("hob cron add often --every 1s --command 'echo x >> often'")
        .success();
    house
        .shell("hob cron add never --every 1s --missed skip --command 'echo x >> never'")
        .success();
    until_slots(&house, "often", "ran", 1);
    until_slots(&house, "never", "ran", 1);
    house.kill();
    // What was at work when the daemon died ends a moment later.
    std::thread::sleep(Duration::from_secs(2));
    let before = lines(&house, "often");
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(lines(&house, "often"), before);
    house.start_daemon();
    wait_until("a slot that stands for others", || {
        let slots = slots(&house, "often");
        slots
            .iter()
            .any(|slot| slot["standsFor"].as_u64() >= Some(3))
    });
    wait_until("the missed ones are named", || {
        let slots = slots(&house, "never");
        slots.iter().any(|slot| slot["state"] == "missed")
    });
    let all = slots(&house, "often");
    let mut dues: Vec<u64> = all
        .iter()
        .filter_map(|slot| slot["dueAt"].as_u64())
        .collect();
    let count = dues.len();
    dues.sort_unstable();
    dues.dedup();
    assert_eq!(dues.len(), count, "none is doubled");
}
