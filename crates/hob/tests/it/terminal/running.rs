//! `hob terminal run` and its kin, from a script.

use super::{history, json_of, terminal};
use crate::support::{House, Tty, wait_until};
use serde_json::json;

#[test]
fn a_command_runs_prints_and_hands_on_its_exit_code() {
    let house = House::start();
    let done = house.shell("hob terminal run echo hello");
    assert_eq!(done.stdout, "hello\n", "{done:?}");
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    let done = house.shell("hob terminal run 'echo out; (exit 7)'");
    assert_eq!(
        (done.code, done.stdout.as_str()),
        (Some(7), "out\n"),
        "{done:?}"
    );
    // What was there before is no part of it, and what looks like a key or a flag is typed.
    for line in [
        "echo Enter",
        "echo -n",
        "echo 'a;' \"b\tc\" '!x' é→",
        "printf 'no end'",
    ] {
        let quoted = line.replace('\'', r"'\''");
        let done = house.shell(&format!("hob terminal run '{quoted}'"));
        let by_sh = house.shell(line).success();
        assert_eq!(done.stdout, by_sh, "{line}: {done:?}");
    }
    let many = house.shell("hob terminal run seq 2000").success();
    assert_eq!(many.lines().count(), 2_000);
    assert!(many.starts_with("1\n2\n") && many.ends_with("1999\n2000\n"));
}

#[test]
fn it_begins_where_the_person_stands_and_stays_where_its_shell_is() {
    let house = House::start();
    let here = house.work().canonicalize().expect("it is there");
    let said = house.shell("hob terminal run pwd").success();
    assert_eq!(said.trim_end(), here.display().to_string());
    house.shell("mkdir sub; hob terminal run cd sub").success();
    let said = house.shell("hob terminal run pwd").success();
    assert_eq!(said.trim_end(), here.join("sub").display().to_string());
    let other = house.shell("hob terminal run -t other pwd").success();
    assert_eq!(other.trim_end(), here.display().to_string());
    assert_eq!(terminal(&house, "main")["folder"], json!(here.join("sub")));
}

#[test]
fn one_document_says_all_of_it() {
    let house = House::start();
    let done = house.hob(&["--json", "terminal", "run", "echo hi; (exit 3)"]);
    assert_eq!(done.code, Some(3), "{done:?}");
    let command: serde_json::Value = serde_json::from_str(&done.stdout).expect("one document");
    assert_eq!(command["output"], "hi\n", "{command}");
    assert_eq!(
        (&command["by"], &command["state"]),
        (&json!("client"), &json!("done"))
    );
    assert_eq!(command["exitCode"], 3);
    assert_eq!(history(&house, "main")[0]["id"], command["id"]);
    let id = command["id"].as_str().expect("an id");
    let end = &id[id.len() - 8..];
    let shown = house.hob(&["terminal", "history", "--id", end]).success();
    assert!(shown.starts_with("$ echo hi; (exit 3)\n"), "{shown}");
    assert!(shown.ends_with("\nhi\n"), "{shown}");
    let none = house.hob(&["terminal", "history", "--id", "00000000"]);
    assert_eq!(none.code, Some(5), "{none:?}");
    assert!(none.stderr.contains("hob terminal history"), "{none:?}");
}

#[test]
fn what_waits_is_dropped_and_what_runs_is_ended() {
    let house = House::start();
    house
        .hob(&["terminal", "run", "-d", "sleep", "300"])
        .success();
    wait_until("it runs", || terminal(&house, "main")["state"] == "busy");
    house
        .hob(&["terminal", "run", "-d", "echo never"])
        .success();
    wait_until("it waits", || terminal(&house, "main")["queued"] == 1);
    let said = house.hob(&["terminal", "cancel"]).success();
    assert_eq!(said, "Ended 2 commands in main.\n");
    wait_until("it is idle", || terminal(&house, "main")["state"] == "idle");
    let states: Vec<_> = history(&house, "main")
        .iter()
        .map(|it| it["state"].clone())
        .collect();
    assert_eq!(states, ["cancelled", "cancelled"]);
    let said = house.hob(&["terminal", "cancel"]).success();
    assert_eq!(said, "Nothing of hob's runs or waits in main.\n");
    let after = house.hob(&["terminal", "run", "echo", "well"]).success();
    assert_eq!(after, "well\n");
}

#[test]
fn ctrl_c_ends_the_command() {
    let house = House::start();
    let mut tty = Tty::start(&house, "terminal run 'echo begun; sleep 300'");
    tty.wait_for("begun");
    tty.press("\u{3}");
    let (code, seen) = tty.end();
    assert_eq!(code, Some(130), "{seen}");
    wait_until("it is idle", || terminal(&house, "main")["state"] == "idle");
    assert_eq!(history(&house, "main")[0]["state"], "cancelled");
}

#[test]
fn a_deadline_interrupts_it() {
    let house = House::start();
    let done = house.shell("hob terminal run --timeout 1s sleep 300");
    assert_eq!(done.code, Some(124), "{done:?}");
    assert_eq!(history(&house, "main")[0]["state"], "timeout");
}

#[test]
fn keys_go_to_what_runs_and_the_screen_is_captured() {
    let house = House::start();
    house
        .hob(&[
            "terminal",
            "run",
            "-d",
            "read -r line; echo \"got <$line>\"",
        ])
        .success();
    wait_until("it runs", || terminal(&house, "main")["state"] == "busy");
    house
        .hob(&["terminal", "keys", "--text", "Enter -n a;b", "Enter"])
        .success();
    wait_until("it was typed", || {
        let screen = house.hob(&["terminal", "capture"]).success();
        screen.contains("got <Enter -n a;b>")
    });
    assert_eq!(history(&house, "main")[0]["exitCode"], 0);
    let wrong = house.hob(&["terminal", "keys", "NoSuchKey"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.stderr.contains("NoSuchKey"), "{wrong:?}");
    house.hob(&["terminal", "run", "seq 500"]).success();
    let captured = json_of(&house, &["terminal", "capture", "-n", "300"]);
    let text = captured["text"].as_str().expect("text");
    assert!(
        text.contains("\n250\n") && !text.contains("\n20\n"),
        "{text}"
    );
}
