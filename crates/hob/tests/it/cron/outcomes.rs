//! What was granted stays as the rules say, and work that was denied or too dear does not say ok.

use super::{slots, until_slots};
use crate::loops::json;
use crate::mind::{house_with, is_refused};
use crate::support::House;
use hob_sim::{Answer, Sim};
use serde_json::json as value;

/// A model that wants to write a file.
fn writer() -> Sim {
    Sim::start(|asked| match asked.results_of_task().first() {
        None => Answer::asks("write", value!({ "path": "notes.txt", "content": "new\n" })),
        Some(result) if is_refused(&result.text) => Answer::words("I may not."),
        Some(_) => Answer::words("It is written."),
    })
}

/// What a job was granted, as `hob cron show` says it.
fn may(house: &House, name: &str) -> usize {
    let shown = json(house, &["cron", "show", name]);
    shown["grants"].as_array().map_or(0, Vec::len)
}

/// The ids of the rules of a job.
fn rules(house: &House, name: &str) -> Vec<String> {
    let listed = json(house, &["permission", "list"]);
    let rules = listed["rules"].as_array().cloned().unwrap_or_default();
    let of_job = rules.iter().filter(|rule| {
        let sessions = rule["sessions"].as_str().unwrap_or_default();
        sessions.contains(&format!(":{name}:"))
    });
    of_job
        .filter_map(|rule| rule["id"].as_str().map(str::to_owned))
        .collect()
}

#[test]
fn a_removed_grant_does_not_come_back() {
    let sim = writer();
    let mut house = house_with(&sim);
    house
        .shell("hob cron add w --every 1h --task Write --allow write --allow exec")
        .success();
    house
        .shell("hob cron add hook --webhook --task Write --allow write")
        .success();
    assert_eq!((may(&house, "w"), rules(&house, "w").len()), (2, 2));
    let told = house.hob(&["cron", "run", "w", "--wait"]);
    assert_eq!(told.code, Some(0), "{told:?}");
    assert!(house.work().join("notes.txt").exists());
    for name in ["w", "hook"] {
        for rule in rules(&house, name) {
            house.hob(&["permission", "remove", &rule]).success();
        }
        assert_eq!(may(&house, name), 0, "{name}");
    }
    house.terminate();
    house.start_daemon();
    for name in ["w", "hook"] {
        let line = ["cron", "update", name, "--description", "writes"];
        house.hob(&line).success();
        assert_eq!((may(&house, name), rules(&house, name).len()), (0, 0));
    }
    let told = house.hob(&["cron", "run", "w", "--wait"]);
    assert_eq!(told.code, Some(3), "{told:?}");
    // A job goes with its rules, and nobody inherits them by its name.
    house.shell("hob cron update w --allow write").success();
    assert_eq!(rules(&house, "w").len(), 1);
    house.hob(&["cron", "remove", "w"]).success();
    assert!(rules(&house, "w").is_empty());
}

#[test]
fn a_denied_call_is_shown_everywhere() {
    let sim = writer();
    let house = house_with(&sim);
    house
        .shell("hob cron add w --every 1h --task Write")
        .success();
    let told = house.hob(&["cron", "run", "w", "--wait"]);
    assert_eq!(told.code, Some(3), "{told:?}");
    assert!(told.stdout.contains("ran with denials"), "{told:?}");
    assert!(told.stdout.contains("Denied: write"), "{told:?}");
    let slot = slots(&house, "w").remove(0);
    assert_eq!(slot["state"], "ran_with_denials", "{slot}");
    assert_eq!(slot["deniedCalls"], 1, "{slot}");
    let reason = slot["reason"].as_str().expect("a reason").to_owned();
    let list = house.hob(&["cron", "list"]).success();
    assert!(list.contains("ran with denials"), "{list}");
    let history = house.hob(&["cron", "history", "w", "--state", "ran_with_denials"]);
    assert!(history.success().contains("ran with denials"));
    let job = json(&house, &["cron", "show", "w"]);
    assert_eq!(job["last"]["state"], "ran_with_denials", "{job}");
    // What the sentence names allows it.
    let (_, line) = reason.split_once("Allow it: ").expect("a command");
    house.shell(line).success();
    let told = house.hob(&["cron", "run", "w", "--wait"]);
    assert_eq!(told.code, Some(0), "{told:?}");
    assert!(house.work().join("notes.txt").exists());
}

#[test]
fn a_ceiling_of_the_day_ends_a_job_and_later_slots_run_when_it_allows_it() {
    let sim = Sim::start(|_| Answer::words("Done.").usage(1_000, 500));
    let house = house_with(&sim);
    for (key, value) in [
        ("models.sim.price_input", "3"),
        ("models.sim.price_output", "15"),
        ("cost.day_max", "0.0001"),
    ] {
        house.hob(&["config", "set", key, value]).success();
    }
    house
        .shell("hob cron add dear --every 1h --task Think --failures-max 2")
        .success();
    for _ in 0..3 {
        let told = house.hob(&["cron", "run", "dear", "--wait"]);
        assert_eq!(told.code, Some(1), "{told:?}");
        assert!(told.stdout.contains("day's budget"), "{told:?}");
    }
    let job = json(&house, &["cron", "show", "dear"]);
    assert_eq!(
        (&job["enabled"], &job["failures"]),
        (&value!(true), &value!(0))
    );
    let runs = json(&house, &["run", "list"]);
    assert_eq!(runs["runs"][0]["cause"], "budget", "{runs}");
    house
        .hob(&["config", "set", "cost.day_max", "none"])
        .success();
    house.hob(&["cron", "run", "dear", "--wait"]).success();
    until_slots(&house, "dear", "ran", 1);
}
