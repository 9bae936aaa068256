//! Streams and pipes: events as they come, readers that leave, Ctrl-C.

use crate::support::{House, wait_until};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

/// Generous, because test machines are noisy; nothing waits that long unless it is broken.
const PATIENCE: Duration = Duration::from_secs(30);

/// `hob LINE` with its output piped to the test.
fn piped(house: &House, line: &[&str]) -> Child {
    let mut command = house.command(line);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().expect("hob starts")
}

/// The lines a child prints, read on a thread so that waiting for one has an end.
fn lines_of(child: &mut Child) -> Receiver<String> {
    let stdout = child.stdout.take().expect("piped");
    let (sender, receiver) = sync_channel(64);
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

fn interrupt(house: &House, child: &Child) {
    let pid = child.id().to_string();
    let status = house.command_of("kill", &["-INT", &pid]).status();
    assert!(status.expect("kill(1) runs").success());
}

#[test]
fn events_go_on_across_a_crash_without_gap_or_repeat() {
    let mut house = House::start();
    house.hob(&["session", "create", "k"]).success();
    let mut child = piped(
        &house,
        &["--json", "events", "session.message", "--since", "0"],
    );
    let lines = lines_of(&mut child);
    let next = || {
        let line = lines.recv_timeout(PATIENCE).expect("an event comes");
        let event: Value = serde_json::from_str(&line).expect("JSON");
        event["payload"]["content"]
            .as_str()
            .expect("a text")
            .to_owned()
    };
    for number in 0..6 {
        if number == 2 || number == 4 {
            house.kill();
            house.start_daemon();
        }
        let content = format!("m{number}");
        house.hob(&["session", "send", "k", &content]).success();
        assert_eq!(next(), content);
    }
    interrupt(&house, &child);
    assert_eq!(child.wait().expect("hob ends").code(), Some(130));
    let mut said = String::new();
    let mut stderr = child.stderr.take().expect("piped");
    stderr.read_to_string(&mut said).expect("text");
    assert!(said.contains("The daemon is away"), "{said}");
}

#[test]
fn a_count_ends_a_stream_and_a_session_filters_it() {
    let house = House::start();
    for key in ["a", "b"] {
        house.hob(&["session", "create", key]).success();
        house.hob(&["session", "send", key, "hello"]).success();
    }
    let line = [
        "events",
        "--since",
        "0",
        "--session",
        "b",
        "--count",
        "2",
        "session.*",
    ];
    let text = house.hob(&line).success();
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(text.lines().all(|line| line.contains('b')), "{text}");
    assert!(text.contains("user: hello"), "{text}");
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let house = House::start();
    house.hob(&["session", "create", "k"]).success();
    for _ in 0..8 {
        let big = "x".repeat(64 * 1024);
        house
            .hob_with_input(&["session", "send", "k", "-"], &big)
            .success();
    }
    let mut child = piped(&house, &["session", "export", "k"]);
    drop(child.stdout.take());
    let status = child.wait().expect("hob ends");
    let mut said = String::new();
    let mut stderr = child.stderr.take().expect("piped");
    stderr.read_to_string(&mut said).expect("text");
    assert_eq!((status.code(), said.as_str()), (Some(0), ""));
}

#[test]
fn ctrl_c_ends_a_wait_with_130() {
    let house = House::start();
    let mut child = piped(&house, &["events"]);
    wait_until("the stream is open", || {
        let text = house.hob(&["--json", "gateway", "inspect"]).success();
        let inspection: Value = serde_json::from_str(&text).expect("JSON");
        let connections = inspection["connections"].as_array().expect("a list");
        let listens = |one: &Value| {
            one["subscriptions"]
                .as_array()
                .is_some_and(|s| !s.is_empty())
        };
        connections.iter().any(listens)
    });
    interrupt(&house, &child);
    assert_eq!(child.wait().expect("hob ends").code(), Some(130));
}

#[test]
fn ctrl_c_ends_a_command_that_waits_for_its_stdin() {
    let house = House::start();
    house.hob(&["session", "create", "k"]).success();
    for line in [
        &["session", "send", "k", "-"][..],
        &["rpc", "session.get", "-"],
    ] {
        let mut command = house.command(line);
        let mut child = command.stdin(Stdio::piped()).spawn().expect("hob starts");
        let stdin = child.stdin.take();
        // Until it has come so far that it listens for signals, one would end it by itself.
        let status = format!("/proc/{}/status", child.id());
        wait_until("it reads", || {
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:"));
            let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
            caught.is_some_and(|mask| mask & 0b10 != 0)
        });
        interrupt(&house, &child);
        assert_eq!(
            child.wait().expect("hob ends").code(),
            Some(130),
            "{line:?}"
        );
        drop(stdin);
    }
}

#[test]
fn a_log_is_followed_as_it_grows() {
    let house = House::start();
    let mut child = piped(&house, &["logs", "--follow", "-n", "0", "--json"]);
    let lines = lines_of(&mut child);
    // What is logged before the follower looks first is not its business, so log until it hears.
    let mut number = 0;
    wait_until("the follower shows a line", || {
        number += 1;
        let name = format!("t{number}");
        house
            .hob(&["token", "create", "--name", &name, "--scope", "read"])
            .success();
        lines
            .try_iter()
            .any(|line| line.contains("a token was created"))
    });
    interrupt(&house, &child);
    assert_eq!(child.wait().expect("hob ends").code(), Some(130));
}
