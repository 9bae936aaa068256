//! `hob service …` as a person or a script uses it.

use super::{describe, house, lives, pid, server};
use crate::support::{House, Tty, wait_until};
use serde_json::Value;

fn status(house: &House, name: &str) -> Value {
    let text = house.hob(&["service", "status", name, "--json"]).success();
    serde_json::from_str(&text).expect("is JSON")
}

#[test]
fn a_service_is_started_shown_and_stopped() {
    let mut house = house();
    server(
        &house,
        "web",
        "about = \"A small page\"\naliases = [\"page\"]",
    );
    describe(&house, "odd", "kind = \"http\"\ncomand = [\"x\"]\n");
    house.start_daemon();
    let started = house.hob(&["service", "start", "page"]).success();
    assert!(started.starts_with("web runs at port "), "{started}");
    let shown = status(&house, "web");
    let keys: Vec<&String> = shown.as_object().expect("an object").keys().collect();
    let wanted = [
        "name", "state", "pid", "port", "detail", "lastExit", "restarts",
    ];
    assert_eq!(keys, wanted);
    assert_eq!(
        (&shown["state"], &shown["lastExit"]),
        (&"running".into(), &Value::Null)
    );

    let list = house.hob(&["service", "list"]).success();
    let row = list.lines().find(|line| line.starts_with("web "));
    let row = row.unwrap_or_else(|| panic!("no web in:\n{list}"));
    assert!(
        row.contains("running") && row.ends_with("A small page"),
        "{row}"
    );
    assert!(list.contains("there is no key 'comand'"), "{list}");

    wait_until("its line", || {
        let printed = house.hob(&["service", "logs", "web"]).success();
        printed.contains("serving on ")
    });
    let metrics = house
        .hob(&["--json", "service", "metrics", "page"])
        .success();
    let metrics: Value = serde_json::from_str(&metrics).expect("is JSON");
    let sample = &metrics["samples"][0];
    assert!(sample["memoryBytes"].as_u64() > Some(100_000), "{metrics}");
    assert!(sample["processes"].as_u64() >= Some(1), "{metrics}");
    let table = house.hob(&["service", "metrics", "web"]).success();
    assert!(table.starts_with("TIME"), "{table}");
    let unknown = house.hob(&["service", "metrics", "nobody"]);
    assert_eq!(unknown.code, Some(5));
    let first = pid(&shown);
    house.hob(&["service", "restart", "web"]).success();
    let again = status(&house, "web");
    assert_ne!(pid(&again), first);
    assert_eq!(
        house.hob(&["service", "stop", "web"]).success(),
        "web is stopped.\n"
    );
    assert!(!lives(first) && !lives(pid(&again)));
    let missing = house.hob(&["service", "start", "nobody"]);
    assert_eq!(missing.code, Some(5));
    assert!(missing.stderr.contains("hob service list"), "{missing:?}");
}

#[test]
fn a_start_that_fails_says_why_and_what_was_printed_last() {
    let mut house = house();
    describe(
        &house,
        "boom",
        "kind = \"http\"\nport = 0\nhealth = \"/\"\nrestart = \"never\"\n\
         command = [\"sh\", \"-c\", \"echo the cupboard is bare >&2; exit 3\"]\n",
    );
    house.start_daemon();
    let failed = house.hob(&["service", "start", "boom"]);
    assert_eq!((failed.code, failed.stdout.as_str()), (Some(1), ""));
    for words in ["boom did not start", "3", "\n    the cupboard is bare"] {
        assert!(
            failed.stderr.contains(words),
            "{words:?} in {}",
            failed.stderr
        );
    }
    let failed = house.hob(&["--json", "service", "start", "boom"]);
    assert_eq!(failed.code, Some(1));
    let shown: Value = serde_json::from_str(&failed.stdout).expect("is JSON");
    assert_eq!(shown["state"], "failed");
    house
        .hob(&["service", "start", "boom", "--no-wait"])
        .success();
}

#[test]
fn lines_are_followed_beyond_the_death_of_a_daemon() {
    let mut house = house();
    describe(
        &house,
        "clock",
        "kind = \"process\"\nautostart = true\n\
         command = [\"sh\", \"-c\", \"while :; do echo tick $$; sleep 0.1; done\"]\n",
    );
    house.start_daemon();
    let tty = Tty::start(&house, "service logs clock -f -n 5");
    tty.wait_for("  tick ");
    house.kill();
    tty.wait_for("The daemon is away");
    house.start_daemon();
    tty.wait_for("The daemon is back.");
    wait_until("it runs again", || status(&house, "clock")["pid"].is_u64());
    let process = pid(&status(&house, "clock"));
    tty.wait_for(&format!("  tick {process}"));
}

#[test]
fn an_installation_needs_a_yes_and_goes_on_without_its_watcher() {
    let (_bin, builder) = super::without_model("sleep 600");
    let house = builder.start();
    let silent = house.hob(&["service", "install", "llm"]);
    assert_eq!(silent.code, Some(2));
    assert!(silent.stdout.contains(" to download, "), "{silent:?}");
    assert!(
        silent.stderr.contains("hob service install llm --yes"),
        "{silent:?}"
    );

    let mut tty = Tty::start(&house, "service install llm");
    tty.wait_for("Install llm? [Y/n]");
    tty.press("\r");
    tty.wait_for("1/");
    tty.press("\u{3}");
    tty.wait_for("continues to install in the background");
    let (code, seen) = tty.end();
    assert_eq!(code, Some(130), "{seen}");
    let list = house.hob(&["service", "list"]).success();
    assert!(list.contains("llm is being installed"), "{list}");
    // Who comes back sees the same one, as events here.
    let mut child = house
        .command(&["--json", "service", "install", "llm", "--yes"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("hob starts");
    let mut line = String::new();
    let stdout = child.stdout.take().expect("is piped");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line).expect("a line");
    let event: Value = serde_json::from_str(&line).expect("is JSON");
    assert_eq!(event["event"], "service.install.progress");
    assert_eq!(event["payload"]["state"], "running", "{event}");
    child.kill().expect("is killed");
    child.wait().expect("has ended");
}

#[test]
fn an_installation_that_fails_says_why() {
    let (_bin, builder) = super::without_model("echo 'ERROR: no such package' >&2; exit 1");
    let house = builder.start();
    let failed = house.hob(&["service", "install", "llm", "--yes"]);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(
        failed.stderr.contains("llm was not installed."),
        "{failed:?}"
    );
    assert!(failed.stderr.contains("no such package"), "{failed:?}");
}
