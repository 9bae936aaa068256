//! A loop does what it was granted, and nothing else: nobody is there to be asked.

use super::{history, teller, until_ended};
use crate::mind::{house_with, is_refused};
use hob_sim::{Answer, Gate, Sim};
use serde_json::json;

fn writer() -> Sim {
    Sim::start(|asked| match asked.results_of_task().first() {
        None => Answer::asks("write", json!({ "path": "notes.txt", "content": "new\n" })),
        Some(result) if is_refused(&result.text) => Answer::words("I may not."),
        Some(_) => Answer::words("It is written."),
    })
}

#[test]
fn without_a_grant_it_is_denied_and_with_one_it_may() {
    let sim = writer();
    let house = house_with(&sim);
    house
        .shell("hob loop create w --task Write --max 1 --start")
        .success();
    until_ended(&house, "w");
    assert!(!house.work().join("notes.txt").exists());
    let first = house.hob(&["loop", "history", "w", "1"]).success();
    assert!(first.contains("I may not."), "{first}");
    // The run names the grant that would allow it.
    let run = history(&house, "w")[0]["runId"]
        .as_str()
        .expect("a run")
        .to_owned();
    let shown = house.hob(&["--json", "run", "show", &run]).success();
    assert!(shown.contains("\"grant\""), "{shown}");

    house
        .hob(&["loop", "update", "w", "--allow", "exec"])
        .success();
    house.shell("hob loop update w --allow write").success();
    house.hob(&["loop", "once", "w"]).success();
    until_ended(&house, "w");
    assert!(house.work().join("notes.txt").exists());
    let rules = house.hob(&["permission", "list"]).success();
    assert!(rules.contains("loop:w:*"), "{rules}");
    // The grants are this loop's alone, and go with it.
    house
        .shell("hob loop create other --task Write --max 1 --start")
        .success();
    std::fs::remove_file(house.work().join("notes.txt")).expect("it was there");
    until_ended(&house, "other");
    assert!(!house.work().join("notes.txt").exists());
    house.hob(&["loop", "delete", "w"]).success();
    let rules = house.hob(&["permission", "list"]).success();
    assert!(!rules.contains("loop:w:*"), "{rules}");
}

#[test]
fn a_grant_reaches_no_farther_than_its_folder() {
    let sim = Sim::start(|asked| match asked.results_of_task().first() {
        None => Answer::asks(
            "write",
            json!({ "path": "/tmp/hob-not-here.txt", "content": "x" }),
        ),
        Some(_) => Answer::words("Well."),
    });
    let house = house_with(&sim);
    let line = "hob loop create w --task Write --max 1 --allow write --start";
    house.shell(line).success();
    until_ended(&house, "w");
    assert!(!std::path::Path::new("/tmp/hob-not-here.txt").exists());
}

#[test]
fn a_token_without_admin_grants_nothing() {
    let sim = teller(&Gate::new());
    let house = house_with(&sim);
    let line = [
        "--json", "token", "create", "--name", "hand", "--scope", "control",
    ];
    let made = house.hob(&line).success();
    let made: serde_json::Value = serde_json::from_str(&made).expect("JSON");
    let token = made["token"].as_str().expect("a token");
    let line = format!("HOB_TOKEN={token} hob loop create mine --task T");
    house
        .shell(&format!("{line} --allow write"))
        .code
        .map_or_else(|| panic!("it ends"), |code| assert_eq!(code, 3));
    house.shell(&line).success();
}

#[test]
fn an_iteration_that_was_denied_something_says_so_where_it_is_waited_for() {
    let sim = writer();
    let mut house = house_with(&sim);
    house
        .shell("hob loop create w --task Write --allow write")
        .success();
    let clean = house.hob(&["loop", "once", "w", "--watch"]);
    assert_eq!(clean.code, Some(0), "{clean:?}");
    let listed = house.hob(&["--json", "permission", "list"]).success();
    let listed: serde_json::Value = serde_json::from_str(&listed).expect("JSON");
    let rule = listed["rules"][0]["id"].as_str().expect("a rule");
    house.hob(&["permission", "remove", rule]).success();
    house.terminate();
    house.start_daemon();
    house
        .hob(&["loop", "update", "w", "--every", "5s"])
        .success();
    let rules = house.hob(&["permission", "list"]).success();
    assert!(!rules.contains("loop:w:*"), "{rules}");
    let denied = house.hob(&["loop", "once", "w", "--watch"]);
    assert_eq!(denied.code, Some(3), "{denied:?}");
    let words = format!("{}{}", denied.stdout, denied.stderr);
    assert!(words.contains("Denied: write"), "{words}");
    let last = history(&house, "w").pop().expect("an iteration");
    assert_eq!(last["outcome"], "ran_with_denials", "{last}");
    let shown = house.hob(&["loop", "list"]).success();
    assert!(shown.contains("denials"), "{shown}");
}
