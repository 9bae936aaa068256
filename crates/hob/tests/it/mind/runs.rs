//! `hob run` and `hob cost`.

use super::{house_with, json_lines};
use crate::support::{House, Tty, wait_until};
use hob_sim::{Answer, Gate, Sim};
use serde_json::{Value, json};

fn document(house: &House, line: &[&str]) -> Value {
    let mut lines = json_lines(house, line);
    assert_eq!(lines.len(), 1);
    lines.remove(0)
}

#[test]
fn a_run_is_listed_shown_and_paid_for() {
    let sim = Sim::start(|asked| match asked.results_of_task().first() {
        None => Answer::asks("time", json!({})).usage(100, 10),
        Some(_) => Answer::words("It is early.").usage(200, 20),
    });
    let house = house_with(&sim);
    assert!(
        house
            .hob(&["run", "list"])
            .success()
            .contains("No runs yet")
    );
    assert!(
        house
            .hob(&["cost"])
            .success()
            .contains("No model was called")
    );
    house.hob(&["ask", "-s", "k", "what time is it?"]).success();
    let list = house.hob(&["run", "list"]).success();
    assert!(
        list.contains("answered") && list.contains("sim/sim-small"),
        "{list}"
    );
    let short = list.lines().nth(1).and_then(|line| line.split(' ').next());
    let by_end = house.hob(&["run", "show", short.expect("an id")]).success();
    let by_session = house.hob(&["run", "show", "k"]).success();
    assert_eq!(by_end, by_session);
    for words in [
        "answered",
        "time",
        "It is early.",
        "2 calls",
        "300 tokens in, 30 out",
    ] {
        assert!(by_end.contains(words), "{words} in {by_end}");
    }
    let timeline = house.hob(&["run", "timeline", "k"]).success();
    for words in ["sim/sim-small", "time", "110", "220", "answered"] {
        assert!(timeline.contains(words), "{words} in {timeline}");
    }
    let rows = document(&house, &["run", "timeline", "k"]);
    assert_eq!(rows["rows"][1]["kind"], "model");
    let missing = house.hob(&["run", "timeline", "nowhere"]);
    assert_eq!(missing.code, Some(5), "{missing:?}");
    let cost = house.hob(&["cost"]).success();
    assert!(
        cost.contains("sim/sim-small") && cost.contains("unknown"),
        "{cost}"
    );
    assert!(!cost.contains('$'), "no money is claimed: {cost}");
    let summary = document(&house, &["cost", "--days", "7", "--session", "k"]);
    assert_eq!(summary["total"]["calls"], 2);
    assert_eq!(summary["total"]["inputTokens"], 300);
    assert_eq!(summary["total"].get("microDollars"), None);
    let missing = house.hob(&["run", "show", "nowhere"]);
    assert_eq!(missing.code, Some(5), "{missing:?}");
    assert!(
        missing.stderr.contains("hob run list"),
        "{}",
        missing.stderr
    );
}

#[test]
fn prices_from_the_config_become_money() {
    let sim = Sim::start(|_| Answer::words("Fine.").usage(1_000, 100));
    let house = house_with(&sim);
    house
        .hob(&["config", "set", "models.sim.price_input", "3"])
        .success();
    house
        .hob(&["config", "set", "models.sim.price_output", "15"])
        .success();
    house.hob(&["ask", "how are you?"]).success();
    let cost = house.hob(&["cost"]).success();
    assert!(cost.contains("$0.0045"), "{cost}");
}

#[test]
fn a_run_is_stopped_by_its_session() {
    let gate = Gate::new();
    let held = gate.clone();
    let sim = Sim::start(move |_| Answer::words("one two three").held_after(1, &held));
    let house = house_with(&sim);
    let params = json!({ "sessionKey": "k", "task": "count" }).to_string();
    house.hob(&["rpc", "agent.run", &params]).success();
    wait_until("the answer stands still", || gate.waiting() == 1);
    let running = document(&house, &["run", "list", "--state", "running"]);
    assert_eq!(running["runs"][0]["sessionKey"], "k");
    let stopped = house.hob(&["run", "abort", "k"]).success();
    assert!(
        stopped.contains("Stopped at step 1; no tool was run."),
        "{stopped}"
    );
    let shown = document(&house, &["run", "show", "k"]);
    assert_eq!(shown["cause"], "aborted");
    let again = house.hob(&["run", "abort", "k"]).success();
    assert!(again.contains("Nothing was running"), "{again}");
}

#[test]
fn a_budget_that_is_used_up_is_asked_for_and_allowed() {
    let sim = Sim::start(|_| Answer::words("Fine.").usage(1_000, 100));
    let house = house_with(&sim);
    for (key, value) in [
        ("models.sim.price_input", "3"),
        ("models.sim.price_output", "15"),
        ("cost.session_max", "0.0001"),
    ] {
        house.hob(&["config", "set", key, value]).success();
    }
    let waits = house.hob(&["ask", "-s", "a", "how are you?"]);
    assert_eq!(waits.code, Some(7), "{waits:?}");
    assert!(waits.stderr.contains("hob run allow"), "{}", waits.stderr);
    assert!(house.hob(&["run", "list"]).success().contains("paused"));
    house
        .hob(&["run", "allow", "a", "--dollars", "1"])
        .success();
    let state = || document(&house, &["run", "show", "a"])["state"].clone();
    wait_until("it has ended", || state() == "done");
    let mut tty = Tty::start(&house, "ask -s b 'how are you?'");
    tty.wait_for("[a] allow more");
    tty.press("a");
    tty.wait_for("How many more dollars?");
    tty.press("1.50\r");
    tty.wait_for("Fine.");
    assert_eq!(tty.end().0, Some(0));
}
