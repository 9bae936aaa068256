//! What works without a daemon: tokens, settings, the doctor, the log.

use crate::support::House;
use hob_sim::{Answer, Dialect, Sim};
use serde_json::Value;
use std::fs;

#[test]
fn a_token_made_without_a_daemon_works_with_one() {
    let mut house = House::builder().build();
    assert!(
        house
            .hob(&["token", "list"])
            .success()
            .contains("No tokens yet")
    );
    assert!(
        !house.home().join("hob.db").exists(),
        "looking makes nothing"
    );
    let line = [
        "token",
        "create",
        "--name",
        "phone",
        "--scope",
        "chat,service:x",
    ];
    let created = house.hob(&[&line[..], &["--expires", "30d"]].concat());
    assert!(created.stderr.contains("not shown again"), "{created:?}");
    let token = created.success();
    assert_eq!(
        token.lines().count(),
        1,
        "stdout is the token alone: {token}"
    );
    let twice = house.hob(&line);
    assert_eq!(twice.code, Some(1), "a live name is unique: {twice:?}");
    house.start_daemon();
    let mut command = house.command(&["session", "create", "k"]);
    let output = command
        .env("HOB_TOKEN", token.trim())
        .output()
        .expect("hob runs");
    assert!(output.status.success(), "{output:?}");
    house.terminate();
    let revoked = house.hob(&["token", "revoke", "phone"]).success();
    assert!(revoked.contains("phone"), "{revoked}");
    let list: Value = serde_json::from_str(&house.hob(&["--json", "token", "list"]).success())
        .expect("one document");
    assert!(list["tokens"][0]["revokedAt"].is_u64(), "{list}");
    assert_eq!(house.hob(&["token", "revoke", "nobody"]).code, Some(5));
    let scope = house.hob(&["token", "create", "--name", "y", "--scope", "everything"]);
    assert_eq!(scope.code, Some(2));
    assert!(scope.stderr.contains("service:NAME"), "{scope:?}");
}

#[test]
fn settings_are_read_and_written_without_a_daemon() {
    let house = House::builder().config("# mine\n[log]\n").build();
    assert_eq!(
        house.hob(&["config", "get", "log.level"]).success(),
        "info\n"
    );
    house
        .hob(&["config", "set", "log.level", "debug"])
        .success();
    assert_eq!(
        house.hob(&["config", "get", "log.level"]).success(),
        "debug\n"
    );
    let text = fs::read_to_string(house.home().join("config.toml")).expect("written");
    assert!(text.contains("# mine") && text.contains("debug"), "{text}");
    house
        .hob(&["config", "set", "log.level", "--default"])
        .success();
    assert_eq!(
        house.hob(&["config", "get", "log.level"]).success(),
        "info\n"
    );
    let path = house.hob(&["config", "path"]).success();
    assert_eq!(
        path.trim(),
        house.home().join("config.toml").display().to_string()
    );
    let slip = house.hob(&["config", "set", "log.levle", "debug"]);
    assert_eq!(slip.code, Some(5));
    assert!(
        slip.stderr.contains("Did you mean 'log.level'?"),
        "{slip:?}"
    );
    let unfit = house.hob(&["config", "set", "log.level", "loud"]);
    assert_eq!(unfit.code, Some(2));
    assert!(
        unfit.stderr.contains("warn"),
        "what fits is named: {unfit:?}"
    );
}

#[test]
fn a_running_daemon_applies_what_it_can_at_once() {
    let house = House::start();
    let live = house
        .hob(&["config", "set", "log.level", "debug"])
        .success();
    assert!(live.contains("in effect"), "{live}");
    let later = house
        .hob(&["config", "set", "gateway.max_connections", "100"])
        .success();
    assert!(later.contains("hob restart"), "{later}");
    let show = house.hob(&["config", "show", "log"]).success();
    assert!(
        show.contains("log.level") && show.contains("file"),
        "{show}"
    );
}

#[test]
fn the_doctor_ends_with_1_when_something_is_broken() {
    let house = House::builder().config("nonsense = 1\n").build();
    let broken = house.hob(&["--json", "doctor"]);
    assert_eq!(broken.code, Some(1));
    let report: Value = serde_json::from_str(&broken.stdout).expect("one document");
    assert_eq!(report["broken"], 1);
    let findings = report["findings"].as_array().expect("findings");
    let config = findings.iter().find(|finding| finding["check"] == "config");
    assert!(config.expect("the config was looked at")["fix"].is_string());
    fs::remove_file(house.home().join("config.toml")).expect("removable");
    house.hob(&["doctor"]).success();
}

#[test]
fn the_doctor_reads_a_store_whole_and_asks_a_daemon() {
    let mut house = House::start();
    house.hob(&["session", "create", "k"]).success();
    let running = house.hob(&["doctor"]).success();
    assert!(running.contains("answers on its socket"), "{running}");
    house.terminate();
    let offline = house.hob(&["doctor"]).success();
    assert!(offline.contains("read completely"), "{offline}");
    let database = house.home().join("hob.db");
    let mut bytes = fs::read(&database).expect("readable");
    bytes[4_096..].fill(0xA5);
    fs::write(&database, bytes).expect("writable");
    let damaged = house.hob(&["doctor"]);
    assert_eq!(damaged.code, Some(1), "{damaged:?}");
    assert!(damaged.stdout.contains("hob.db"), "{damaged:?}");
}

#[test]
fn verify_names_what_is_damaged_with_a_daemon_and_without() {
    let sim = Sim::start(|_| Answer::words("Good."));
    let mut house = House::builder().build();
    let empty = house.hob(&["verify"]).success();
    assert!(
        empty.contains("no hob home yet") || empty.contains("no database yet"),
        "{empty}"
    );
    house.start_daemon();
    let url = sim.url(Dialect::OpenaiChat);
    house
        .hob(&["model", "add", "sim", "--kind", "openai", "--url", &url])
        .success();
    house
        .hob(&["model", "set", "default", "sim/sim-small"])
        .success();
    house.hob(&["session", "create", "k"]).success();
    house
        .hob(&["session", "send", "k", "a sentence to find"])
        .success();
    // Too large for a row: a blob.
    let params = serde_json::json!({ "sessionKey": "k", "task": "x".repeat(70_000) });
    house
        .hob(&["rpc", "agent.run", &params.to_string()])
        .success();
    let running = house.hob(&["verify"]).success();
    assert_eq!(
        running
            .lines()
            .filter(|line| line.starts_with("ok"))
            .count(),
        4,
        "{running}"
    );
    house.terminate();
    let offline = house.hob(&["verify"]).success();
    for part in ["database", "rows", "blobs", "audit"] {
        assert!(offline.contains(part), "{offline}");
    }

    let database = house.home().join("hob.db");
    let mut bytes = fs::read(&database).expect("readable");
    let text = b"a sentence to find";
    let at = bytes.windows(text.len()).position(|window| window == text);
    bytes[at.expect("the message is in the file")] ^= 1;
    fs::write(&database, bytes).expect("writable");
    let blobs = fs::read_dir(house.home().join("blobs")).expect("blobs");
    for blob in blobs {
        fs::remove_file(blob.expect("a blob").path()).expect("removable");
    }
    let damaged = house.hob(&["verify"]);
    assert_eq!(damaged.code, Some(1), "{damaged:?}");
    assert!(
        damaged
            .stdout
            .contains("Message 1 of session 'k' is damaged"),
        "{damaged:?}"
    );
    assert!(damaged.stdout.contains("is missing"), "{damaged:?}");
    let report = house.hob(&["--json", "verify"]);
    assert_eq!(report.code, Some(1));
    let report: Value = serde_json::from_str(&report.stdout).expect("one document");
    assert_eq!(report["sound"], false);
    assert_eq!(report["damaged"][0]["number"], 1);
    let parts = report["parts"].as_array().expect("parts");
    let problems = |name: &str| {
        let part = parts.iter().find(|part| part["name"] == name);
        part.expect("a part")["problems"]
            .as_array()
            .expect("problems")
            .len()
    };
    assert_eq!((problems("database"), problems("rows")), (0, 1));
    assert_eq!((problems("blobs"), problems("audit")), (1, 0));

    house.start_daemon();
    let running = house.hob(&["verify"]);
    assert_eq!(running.code, Some(1), "{running:?}");
    assert!(
        running
            .stdout
            .contains("Message 1 of session 'k' is damaged"),
        "{running:?}"
    );
    let history = house.hob(&["session", "history", "k"]).success();
    assert!(
        history.contains("Message 1 of session 'k' is damaged"),
        "{history}"
    );
    let doctor = house.hob(&["doctor"]);
    assert_eq!(doctor.code, Some(1), "{doctor:?}");
    assert!(
        house
            .hob(&["status"])
            .success()
            .contains("Message 1 of session")
    );
}

#[test]
fn the_log_is_read_from_its_file() {
    let mut house = House::builder().build();
    let none = house.hob(&["logs"]);
    assert_eq!(none.code, Some(5), "{none:?}");
    house.start_daemon();
    house.terminate();
    let logs = house.hob(&["logs"]).success();
    assert!(logs.contains("listening on"), "{logs}");
    let last = house.hob(&["logs", "-n", "1", "--json"]).success();
    let line: Value = serde_json::from_str(&last).expect("one JSON line");
    assert!(line["message"].is_string(), "{line}");
}
