//! Plain words: `hob "what's my uptime?"`. The scripted model decides; what runs, runs in a real
//! terminal.

use super::house_with;
use crate::support::{House, Pane, Tty, wait_until};
use hob_sim::{Answer, Sim, SimRequest};
use serde_json::{Value, json};

/// A model that does as it is told in plain words: runs what is to be run, explains the rest.
fn sensible() -> Sim {
    Sim::start(|asked: &SimRequest| match asked.results_of_task().first() {
        None if asked.last_user().contains("uptime") => Answer::asks("terminal", uptime()),
        None => Answer::words("`rm -rf` removes a folder with all that is in it."),
        Some(result) if result.text.contains("up-as-ever") => {
            Answer::words("It has been up as ever.")
        }
        Some(result) => Answer::words(format!("I would have run it. {}", result.text)),
    })
}

fn uptime() -> Value {
    json!({
        "action": "run",
        "command": "echo up-as-ever",
        "reason": "Shows how long the machine has run.",
    })
}

/// What was run in the house's terminals.
fn history(house: &House) -> Vec<Value> {
    let text = house.hob(&["--json", "terminal", "history"]).success();
    let page: Value = serde_json::from_str(&text).expect("one document");
    page["commands"].as_array().expect("a list").clone()
}

#[test]
fn a_question_about_a_command_is_answered_and_runs_nothing() {
    let sim = sensible();
    let house = house_with(&sim);
    for words in ["what does `rm -rf` do?", "I typed rm -rf / by mistake"] {
        let said = house.hob(&[words]).success();
        assert!(said.contains("removes a folder"), "{said}");
    }
    assert_eq!(history(&house), Vec::<Value>::new());
    // The model has the terminal and nothing else, and knows the three kinds of words.
    let asked = sim.asked();
    assert_eq!(asked[0].tools, ["terminal"]);
    assert!(asked[0].system.contains("A mention"), "{}", asked[0].system);
}

#[test]
fn a_command_that_a_model_only_mentions_is_not_run() {
    let sim = Sim::start(|_| Answer::words("Run this:\n```sh\ntouch mentioned\n```\n"));
    let house = house_with(&sim);
    let said = house.hob(&["how do I make a file?"]).success();
    assert!(said.contains("touch mentioned"), "{said}");
    assert!(history(&house).is_empty() && !house.work().join("mentioned").exists());
}

#[test]
fn a_yes_runs_it_in_the_terminal_and_the_answer_is_of_what_it_printed() {
    let sim = sensible();
    let house = house_with(&sim);
    let mut tty = Tty::start(&house, "\"what's my uptime?\"");
    tty.wait_for("[y] yes, once");
    let seen = tty.seen();
    for words in [
        "$ echo up-as-ever",
        "why: Shows how long the machine has run.",
        "Not sandboxed",
    ] {
        assert!(seen.contains(words), "{words} in\n{seen}");
    }
    assert!(history(&house).is_empty(), "nothing before the yes");
    tty.press("y");
    tty.wait_for("It has been up as ever.");
    let (code, seen) = tty.end();
    assert_eq!(code, Some(0), "{seen}");
    let run = &history(&house)[0];
    assert_eq!(run["command"], "echo up-as-ever", "{run}");
    assert_eq!((&run["by"], &run["exitCode"]), (&json!("model"), &json!(0)));
    assert_eq!(run["reason"], "Shows how long the machine has run.");
}

#[test]
fn a_no_types_nothing() {
    let sim = sensible();
    let house = house_with(&sim);
    let mut tty = Tty::start(&house, "-- whats my uptime");
    tty.wait_for("[y] yes, once");
    tty.press("n");
    tty.wait_for("I would have run it.");
    assert_eq!(tty.end().0, Some(3));
    assert!(history(&house).is_empty());
}

#[test]
fn without_a_person_it_is_denied_and_the_grant_is_named() {
    let sim = sensible();
    let house = house_with(&sim);
    let denied = house.shell("hob \"what's my uptime?\"");
    assert_eq!(denied.code, Some(3), "{denied:?}");
    assert!(denied.stderr.contains("$ echo up-as-ever"), "{denied:?}");
    assert!(history(&house).is_empty());
    let lines = denied.stderr.lines().map(str::trim);
    let mut grants = lines.filter(|line| line.starts_with("hob permission add "));
    let grant = grants.next().expect("the line that allows it");
    house.shell(grant).success();
    let said = house.shell("hob \"what's my uptime?\"").success();
    assert_eq!(said, "It has been up as ever.\n");
    let program = house.shell("hob --json \"what's my uptime?\"").success();
    let last = program.lines().next_back().expect("events");
    let last: Value = serde_json::from_str(last).expect("an event");
    assert_eq!(last["payload"]["response"], "It has been up as ever.");
    assert_eq!(history(&house).len(), 2);
}

#[test]
fn a_run_that_nobody_watches_is_not_told_of_the_terminal_unless_a_rule_allows_it() {
    let sim = Sim::start(|_| Answer::words("Good morning."));
    let house = house_with(&sim);
    let is_told = || {
        house.shell("hob ask 'good morning'").success();
        let asked = sim.asked();
        let last = asked.last().expect("it was asked");
        assert!(last.tools.iter().any(|tool| tool == "exec"));
        last.tools.iter().any(|tool| tool == "terminal")
    };
    assert!(!is_told());
    house
        .shell(
            "hob permission add --tool terminal --match command=uptime --decision allow \
             --scope always",
        )
        .success();
    assert!(is_told());
    let tty = Tty::start(&house, "ask 'good morning'");
    tty.wait_for("Good morning.");
    let asked = sim.asked();
    let last = asked.last().expect("it was asked");
    assert!(last.tools.iter().any(|tool| tool == "terminal"));
}

#[test]
fn a_models_command_outlives_the_daemon_and_nobody_is_asked_what_became_of_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let go = folder.path().join("go");
    let line = format!(
        "echo before; while [ ! -e '{}' ]; do sleep 0.05; done; echo up-as-ever",
        go.display()
    );
    let sim = Sim::start(
        move |asked: &SimRequest| match asked.results_of_task().first() {
            None => {
                let args = json!({ "action": "run", "command": line, "reason": "Waits." });
                Answer::asks("terminal", args)
            }
            Some(result) => Answer::words(format!("It said: {}", result.text)),
        },
    );
    let mut house = house_with(&sim);
    house
        .shell("hob permission add --tool terminal --decision allow --scope always")
        .success();
    let asking = house
        .command(&["wait for it now"])
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("hob starts");
    wait_until("it runs", || {
        let all = history(&house);
        all.first().is_some_and(|it| it["state"] == "running")
    });
    house.kill();
    std::fs::write(&go, "").expect("writes");
    house.start_daemon();
    let done = asking.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{said} {done:?}");
    assert_eq!(said, "It said: before\nup-as-ever\n");
    assert_eq!(history(&house).len(), 1, "it was typed once");
}

#[test]
fn ctrl_c_at_the_question_types_nothing() {
    let sim = sensible();
    let house = house_with(&sim);
    let pane = Pane::open(&house, 80, 24);
    pane.run("hob \"what's my uptime?\"; echo code=$?");
    pane.wait_for("[y] yes, once");
    pane.press("\u{3}");
    pane.wait_for("code=130");
    assert!(history(&house).is_empty());
}

#[test]
fn a_word_that_is_no_command_is_still_a_mistake() {
    let house = House::builder().build();
    let wrong = house.hob(&["termnal"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(
        wrong.stderr.contains("Did you mean 'terminal'?"),
        "{wrong:?}"
    );
}
