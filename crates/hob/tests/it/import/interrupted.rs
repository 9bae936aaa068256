//! An import that is killed in the middle, and its repeat: nothing doubled, nothing lost.

use super::{counts, import_json, rpc, session_file, texts, write};
use crate::support::{House, RandomKills, wait_until};
use serde_json::json;
use std::process::{Child, Stdio};
use std::time::Duration;

const SESSIONS: usize = 12;
const MESSAGES: usize = 60;

/// A source with more messages than are imported at once. Some texts are equal.
fn source(house: &House) -> (String, Vec<Vec<String>>) {
    let root = house.work().join("vargos");
    let all: Vec<Vec<String>> = (0..SESSIONS)
        .map(|session| {
            let text = |number| format!("session {session}, words {}", number % 20);
            (0..MESSAGES).map(text).collect()
        })
        .collect();
    for (number, texts) in all.iter().enumerate() {
        let file = format!("sessions/{number}.jsonl");
        write(&root, &file, &session_file(&format!("s{number}"), texts));
    }
    let tasks: Vec<_> = (0..20)
        .map(|number| json!({ "name": format!("job {number}"), "schedule": "@daily", "task": "x" }))
        .collect();
    write(
        &root,
        "config.json",
        &json!({ "cron": { "tasks": tasks } }).to_string(),
    );
    (root.display().to_string(), all)
}

fn begin(house: &House, path: &str) -> Child {
    let mut command = house.command(&["import", "vargos", path, "--yes"]);
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("hob starts")
}

fn messages(house: &House) -> u64 {
    let listed = rpc(house, "session.list", &json!({ "limit": 500 }));
    let sessions = listed["sessions"].as_array().expect("a list").iter();
    sessions
        .map(|it| it["messages"].as_u64().unwrap_or_default())
        .sum()
}

/// Repeats the import; everything is there once, in order.
fn assert_whole(house: &House, path: &str, all: &[Vec<String>]) {
    let report = import_json(house, &["vargos", path, "--yes"]);
    let (added, present) = counts(&report, "messages");
    assert_eq!(added + present, (SESSIONS * MESSAGES) as u64, "{report}");
    for (number, expected) in all.iter().enumerate() {
        assert_eq!(&texts(house, &format!("import:vargos:s{number}")), expected);
    }
    assert_eq!(messages(house), (SESSIONS * MESSAGES) as u64);
    let jobs = rpc(house, "cron.list", &json!({}));
    assert_eq!(jobs["jobs"].as_array().map(Vec::len), Some(20));
    let again = import_json(house, &["vargos", path, "--yes"]);
    assert_eq!(
        counts(&again, "messages"),
        (0, (SESSIONS * MESSAGES) as u64)
    );
}

#[test]
fn a_killed_command_is_continued_by_repeating_it() {
    let house = House::start();
    let (path, all) = source(&house);
    // Killed as soon as something is there, then again later.
    for part in [1, SESSIONS * MESSAGES / 2] {
        let mut child = begin(&house, &path);
        wait_until("some messages", || {
            messages(&house) >= part as u64 || child.try_wait().expect("a child").is_some()
        });
        let _ = child.kill();
        child.wait().expect("a child");
    }
    assert_whole(&house, &path, &all);
}

#[test]
fn a_killed_daemon_is_waited_for_or_the_repeat_continues() {
    let kills = RandomKills::new(4);
    let mut house = House::start();
    let (path, all) = source(&house);
    for _ in 0..kills.count {
        let mut child = begin(&house, &path);
        kills.kill(&mut house, 400);
        house.start_daemon();
        // It continues with the new daemon, or it ended with an error.
        std::thread::sleep(Duration::from_millis(kills.randomness.below(200)));
        let _ = child.kill();
        child.wait().expect("a child");
    }
    assert_whole(&house, &path, &all);
}

#[test]
fn a_command_survives_the_restart_of_its_daemon() {
    let mut house = House::start();
    let (path, all) = source(&house);
    let mut child = begin(&house, &path);
    wait_until("some messages", || messages(&house) > 0);
    house.kill();
    house.start_daemon();
    let status = child.wait().expect("a child");
    assert!(status.success(), "{status}");
    for (number, expected) in all.iter().enumerate() {
        assert_eq!(
            &texts(&house, &format!("import:vargos:s{number}")),
            expected
        );
    }
}
