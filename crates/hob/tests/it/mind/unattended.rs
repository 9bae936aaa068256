//! `hob ask` where nobody can be asked: denied at once, with the very line that would allow it.

use super::{house_with, is_refused};
use crate::support::House;
use hob_sim::{Answer, Sim};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn caller(tool: &'static str, args: Value) -> Sim {
    Sim::start(move |asked| match asked.results_of_task().first() {
        None => Answer::asks(tool, args.clone()),
        Some(result) if is_refused(&result.text) => Answer::words("I may not."),
        Some(_) => Answer::words("It is done."),
    })
}

/// The printed line that would allow it.
fn grant(stderr: &str) -> String {
    let lines = stderr.lines().map(str::trim);
    let mut grants = lines.filter(|line| line.starts_with("hob permission add "));
    let first = grants.next();
    first
        .unwrap_or_else(|| panic!("no grant in {stderr}"))
        .to_owned()
}

fn is_denied_until_granted(house: &House, tool: &str) {
    let began = Instant::now();
    let denied = house.shell("hob ask 'do it'");
    assert!(began.elapsed() < Duration::from_mins(1), "at once");
    assert_eq!(denied.code, Some(3), "{denied:?}");
    assert_eq!(denied.stdout, "I may not.\n");
    assert!(
        denied.stderr.contains(&format!("(tool {tool})")),
        "{}",
        denied.stderr
    );
    let line = grant(&denied.stderr);
    house.shell(&line).success();
    let done = house.shell("hob ask 'do it'");
    assert_eq!(done.code, Some(0), "after {line}: {done:?}");
    assert_eq!(done.stdout, "It is done.\n");
}

#[test]
fn the_printed_line_allows_a_change() {
    let sim = caller(
        "write",
        json!({ "path": "it's here.txt", "content": "new\n" }),
    );
    let house = house_with(&sim);
    is_denied_until_granted(&house, "write");
    assert!(house.work().join("it's here.txt").exists());
}

#[test]
fn the_printed_line_allows_a_command_whatever_is_in_it() {
    let command = "printf '%s\\n' \"a*b\" > 'it is' && cat < \"it is\" | tr a-z A-Z; echo $((1+1))";
    let sim = caller("exec", json!({ "command": command }));
    let house = house_with(&sim);
    is_denied_until_granted(&house, "exec");
    assert!(house.work().join("it is").exists());
}

#[test]
fn the_printed_line_allows_a_command_of_several_lines() {
    let sim = caller(
        "exec",
        json!({ "command": "cat > out <<'E'\n\tone \\ two\nE\n" }),
    );
    let house = house_with(&sim);
    let denied = house.shell("hob ask 'do it'");
    let line = grant(&denied.stderr);
    // What a POSIX shell cannot spell on one line, bash can.
    let mut bash = house.command_of("bash", &["-c", &line]);
    bash.current_dir(house.work());
    let added = bash.env("PATH", crate::support::hob_path()).output();
    assert!(added.expect("bash(1) runs").status.success(), "{line}");
    house.shell("hob ask 'do it'").success();
    let text = std::fs::read_to_string(house.work().join("out")).expect("readable");
    assert_eq!(text, "\tone \\ two\n");
}

#[test]
fn a_program_finds_the_grant_in_the_error() {
    let sim = caller("write", json!({ "path": "notes.txt", "content": "new\n" }));
    let house = house_with(&sim);
    let denied = house.shell("hob ask --json 'do it'");
    assert_eq!(denied.code, Some(3), "{denied:?}");
    let last = denied.stderr.lines().next_back().expect("an error");
    let error: Value = serde_json::from_str(last).expect("one object");
    let denial = &error["error"]["details"]["denied"][0];
    assert_eq!(denial["tool"], "write", "{error}");
    assert_eq!(denial["grant"]["decision"], "allow", "{error}");
    let line = error["error"]["next"].as_str().expect("a next step");
    assert!(line.contains("hob permission add --tool write"), "{line}");
    let completed = denied.stdout.lines().next_back().expect("events");
    let completed: Value = serde_json::from_str(completed).expect("an event");
    assert_eq!(completed["payload"]["denied"][0]["by"], "unattended");
}

#[test]
fn a_chat_fed_by_a_script_is_unattended_too() {
    let sim = caller("write", json!({ "path": "notes.txt", "content": "new\n" }));
    let house = house_with(&sim);
    let fed = house.shell("echo 'do it' | hob chat");
    assert_eq!(fed.code, Some(3), "{fed:?}");
    grant(&fed.stderr);
}
