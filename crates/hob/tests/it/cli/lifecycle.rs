//! Starting and stopping: `up`, `down`, `restart`, `status`, and daemons that start by themselves.

use crate::support::{House, wait_until};
use serde_json::Value;
use std::fs;
use std::process::Stdio;

/// A home in which commands may start a daemon, and whose daemon is dead afterwards.
struct Home(House);

impl Home {
    fn new(autostart: &str) -> Home {
        let builder = House::builder().env("HOB_LISTEN_ADDRESS", "127.0.0.1:0");
        Home(builder.env("HOB_AUTOSTART", autostart).build())
    }

    fn document(&self, line: &[&str]) -> Value {
        let text = self.0.hob(&[&["--json"], line].concat()).success();
        serde_json::from_str(&text).expect("one document")
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = self.0.hob(&["down"]);
    }
}

#[test]
fn up_and_down_say_what_happened() {
    let home = Home::new("0");
    let status = home.0.hob(&["--json", "status"]);
    assert_eq!(status.code, Some(4));
    assert!(status.stdout.contains(r#""running":false"#), "{status:?}");
    let up = home.0.hob(&["up"]);
    assert!(up.stderr.contains("Starting the hob daemon"), "{up:?}");
    assert!(up.success().starts_with("Running: pid "));
    let again = home.document(&["up"]);
    assert_eq!(again["started"], false);
    let status = home.document(&["status"]);
    assert_eq!(
        (&status["running"], &status["pid"]),
        (&true.into(), &again["pid"])
    );
    let down = home.document(&["down"]);
    assert_eq!(
        (&down["stopped"], &down["pid"]),
        (&true.into(), &again["pid"])
    );
    assert_eq!(home.0.hob(&["down"]).success(), "No daemon was running.\n");
    assert_eq!(home.0.hob(&["status"]).code, Some(4));
}

#[test]
fn restart_is_a_new_process_with_the_same_memory() {
    let home = Home::new("0");
    let first = home.document(&["up"]);
    home.0.hob(&["session", "create", "k"]).success();
    let second = home.document(&["restart"]);
    assert_ne!(first["pid"], second["pid"]);
    assert_eq!(
        second["epoch"].as_u64(),
        first["epoch"].as_u64().map(|epoch| epoch + 1)
    );
    home.0.hob(&["session", "get", "k"]).success();
}

#[test]
fn a_command_starts_the_daemon_once_and_says_so() {
    let home = Home::new("1");
    let first = home.0.hob(&["session", "create", "k"]);
    assert_eq!(first.stderr.lines().count(), 1, "{first:?}");
    assert!(
        first.stderr.contains("Starting the hob daemon"),
        "{first:?}"
    );
    first.success();
    let second = home.0.hob(&["session", "get", "k"]);
    assert_eq!(second.stderr, "");
    second.success();
}

#[test]
fn starters_that_race_end_with_one_daemon() {
    let home = Home::new("1");
    let mut racers: Vec<_> = (0..4)
        .map(|number| {
            let key = format!("racer:{number}");
            let mut command = home.0.command(&["session", "create", &key]);
            command.stdout(Stdio::null()).stderr(Stdio::piped());
            command.spawn().expect("hob starts")
        })
        .collect();
    for racer in &mut racers {
        let status = racer.wait().expect("hob ends");
        assert!(status.success(), "{status}");
    }
    let status = home.document(&["status"]);
    assert_eq!(
        (&status["sessions"], &status["epoch"]),
        (&4.into(), &1.into())
    );
}

#[test]
fn commands_that_never_start_it_do_not() {
    let home = Home::new("1");
    for line in [
        &["status"][..],
        &["down"],
        &["doctor"],
        &["config", "show"],
        &["token", "list"],
        &["completions", "bash"],
        &["help"],
        &["version"],
        &["logs"],
    ] {
        home.0.hob(line);
        let state = home.0.home().join("run/daemon.json");
        assert!(!state.exists(), "hob {} started a daemon", line.join(" "));
    }
    let refused = Home::new("0").0.hob(&["session", "list"]);
    assert_eq!(refused.code, Some(4));
    assert!(refused.stderr.contains("hob up"), "{refused:?}");
}

#[test]
fn a_daemon_that_starts_by_itself_holds_on_to_nothing_of_its_starter() {
    let home = Home::new("1");
    let witness = home.0.home().join("witness");
    let line = format!("exec 7>'{}'; exec \"$0\" session list", witness.display());
    let hob = home.0.command(&[]);
    let mut shell = home.0.command_of("sh", &["-c", &line]);
    shell.arg(hob.get_program());
    let output = shell.output().expect("sh runs");
    assert!(output.status.success(), "{output:?}");
    let pid = home.document(&["status"])["pid"].clone();
    let open = fs::read_dir(format!("/proc/{pid}/fd")).expect("its descriptors");
    let open: Vec<_> = open
        .filter_map(|entry| fs::read_link(entry.ok()?.path()).ok())
        .collect();
    assert!(!open.contains(&witness), "{open:?}");
    let directory = fs::read_link(format!("/proc/{pid}/cwd")).expect("its directory");
    assert_eq!(directory, std::path::Path::new("/"));
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("its state");
    let session = stat
        .rsplit(')')
        .next()
        .and_then(|rest| rest.split_whitespace().nth(3));
    assert_eq!(
        session,
        Some(pid.to_string().as_str()),
        "a session of its own"
    );
}

#[test]
fn a_start_that_fails_says_why() {
    let home = Home::new("1");
    fs::write(home.0.home().join("config.toml"), "[log]\nlevle = 1\n").expect("writable");
    let failed = home.0.hob(&["session", "list"]);
    assert_eq!(failed.code, Some(4));
    assert!(failed.stderr.contains("levle"), "{}", failed.stderr);
    assert!(failed.stderr.contains("hob doctor"), "{}", failed.stderr);
}

#[test]
fn what_a_killed_daemon_leaves_is_no_hindrance() {
    let mut house = House::start();
    let killed = house.pid();
    house.kill();
    assert_eq!(house.hob(&["status"]).code, Some(4));
    assert_eq!(house.hob(&["down"]).success(), "No daemon was running.\n");
    house.hob(&["doctor"]).success();
    house.start_daemon();
    assert_ne!(house.pid(), killed);
    wait_until("the new daemon answers", || {
        house.hob(&["status"]).code == Some(0)
    });
}
