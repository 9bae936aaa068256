//! How a question ends when it does not end well: refused keys, denials, limits, Ctrl-C, a
//! reader that leaves, a daemon that dies.

use super::house_with;
use crate::support::{House, wait_until};
use hob_sim::{Answer, Gate, Sim, SimParts};
use serde_json::json;
use std::io::Read;
use std::process::{Child, Stdio};
use std::time::Duration;

fn piped(house: &House, line: &[&str]) -> Child {
    let mut command = house.command(line);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().expect("hob starts")
}

fn signal(house: &House, child: &Child) {
    let pid = child.id().to_string();
    let status = house.command_of("kill", &["-INT", &pid]).status();
    assert!(status.expect("kill(1) runs").success());
}

/// Exit code, stdout, stderr.
fn finished(child: Child) -> (Option<i32>, String, String) {
    let output = child.wait_with_output().expect("hob ends");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn a_refused_key_is_said_clearly_and_never_shown() {
    let parts = SimParts {
        key: Some("sk-right".to_owned()),
        ..SimParts::default()
    };
    let sim = Sim::with(parts, |_| Answer::words("Fine.")).expect("a server");
    let house = House::builder()
        .env("SIM_KEY", "sk-wrong-and-secret")
        .start();
    let url = sim.url(hob_sim::Dialect::OpenaiChat);
    let add = [
        "model",
        "add",
        "sim",
        "--kind",
        "openai",
        "--url",
        &url,
        "--key-env",
        "SIM_KEY",
    ];
    house.hob(&add).success();
    house
        .hob(&["model", "set", "default", "sim/sim-small"])
        .success();
    let refused = house.hob(&["ask", "good morning"]);
    assert_eq!(
        (refused.code, refused.stdout.as_str()),
        (Some(6), ""),
        "{refused:?}"
    );
    assert!(
        refused.stderr.contains("does not accept the key"),
        "{}",
        refused.stderr
    );
    assert!(!refused.stderr.contains("sk-wrong"), "{}", refused.stderr);
}

#[test]
fn without_a_terminal_what_would_be_asked_is_denied_at_once() {
    let sim = Sim::start(|asked| match asked.results_of_task().first() {
        None => Answer::asks("write", json!({ "path": "notes.txt", "content": "x" })),
        Some(_) => Answer::words("I was not allowed to write."),
    });
    let house = house_with(&sim);
    let denied = house.hob(&["ask", "note this"]);
    assert_eq!(denied.code, Some(3), "{denied:?}");
    assert_eq!(denied.stdout, "I was not allowed to write.\n");
    let said = &denied.stderr;
    assert!(
        said.contains("notes.txt") && said.contains("tool write"),
        "{said}"
    );
}

#[test]
fn a_limit_ends_the_run_and_names_itself() {
    let sim = Sim::start(|_| Answer::asks("time", json!({})));
    let house = house_with(&sim);
    let ended = house.hob(&["ask", "--budget-steps", "2", "what time is it?"]);
    assert_eq!(ended.code, Some(6), "{ended:?}");
    assert!(ended.stderr.contains("--budget-steps"), "{}", ended.stderr);
    assert_eq!(sim.asked_count(), 2);
}

#[test]
fn ctrl_c_stops_the_run_and_says_what_had_happened() {
    let gate = Gate::new();
    let held = gate.clone();
    let sim = Sim::start(move |asked| match asked.results_of_task().first() {
        None => Answer::asks("time", json!({})),
        Some(_) => Answer::words("one two three four").held_after(2, &held),
    });
    let house = house_with(&sim);
    let child = piped(&house, &["ask", "count for me"]);
    wait_until("the answer stands still", || gate.waiting() == 1);
    signal(&house, &child);
    let (code, words, said) = finished(child);
    assert_eq!(code, Some(130), "{said}");
    assert_eq!(words, "one two \n");
    assert!(
        said.contains("Stopped at step 2") && said.contains("done      time"),
        "{said}"
    );
    wait_until("the provider was hung up on", || sim.cut_streams() == 1);
    let list = house.hob(&["run", "list"]).success();
    assert!(list.contains("stopped"), "{list}");
}

#[test]
fn a_reader_that_leaves_ends_the_run() {
    let sim = Sim::start(|_| Answer::tokens(100_000).pace(1, Duration::from_millis(2)));
    let house = house_with(&sim);
    let mut child = piped(&house, &["ask", "talk to me"]);
    let mut first = [0; 8];
    let mut stdout = child.stdout.take().expect("piped");
    stdout.read_exact(&mut first).expect("words");
    drop(stdout);
    let (code, _, said) = finished(child);
    assert_eq!((code, said.as_str()), (Some(0), ""));
    wait_until("the provider was hung up on", || sim.cut_streams() == 1);
}

#[test]
fn a_daemon_that_dies_on_the_way_costs_neither_gap_nor_repeat() {
    let gate = Gate::new();
    let held = gate.clone();
    let sim = Sim::start(move |asked| match asked.results_of_task().first() {
        None => Answer::words("Let me look.").call("time", json!({})),
        Some(_) => Answer::words("one two three four five").held_after(2, &held),
    });
    let mut house = house_with(&sim);
    let child = piped(&house, &["ask", "count for me"]);
    wait_until("the answer stands still", || gate.waiting() == 1);
    house.kill();
    house.start_daemon();
    wait_until("the model is asked again", || sim.asked_count() == 3);
    gate.open();
    let (code, words, said) = finished(child);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(words, "Let me look.\none two three four five\n");
    assert!(said.contains("The daemon is away"), "{said}");
}
