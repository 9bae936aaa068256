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

/// Whether a command has begun: it waits for something, which is after it noted the last `hob
/// down`, or has ended.
fn has_begun(command: &mut std::process::Child) -> bool {
    if command.try_wait().expect("a child").is_some() {
        return true;
    }
    let open = fs::read_dir(format!("/proc/{}/fd", command.id()));
    let waits = |entry: std::io::Result<fs::DirEntry>| {
        let target = entry
            .ok()
            .and_then(|entry| fs::read_link(entry.path()).ok());
        target.is_some_and(|target| target.ends_with("anon_inode:[eventpoll]"))
    };
    open.is_ok_and(|mut entries| entries.any(waits))
}

/// Daemons of this home, starting or running.
fn daemons(home: &Home) -> Vec<u32> {
    let root = home.0.home().display().to_string();
    let variable = format!("HOB_HOME={root}");
    let entries = fs::read_dir("/proc").expect("the processes");
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let is_one = |pid: &u32| {
        let read = |file: &str| fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        let has = |bytes: &[u8], part: &str| {
            bytes
                .split(|byte| *byte == 0)
                .any(|it| it == part.as_bytes())
        };
        has(&read("cmdline"), "--detached") && has(&read("environ"), &variable)
    };
    pids.filter(is_one).collect()
}

#[test]
fn nothing_that_began_before_down_runs_after_it() {
    for moment in ["at once", "while one starts", "when one answers"] {
        let home = Home::new("1");
        let mut starters: Vec<_> = (0..10)
            .map(|_| {
                let mut command = home.0.command(&["up"]);
                command.stdout(Stdio::null()).stderr(Stdio::piped());
                command.spawn().expect("hob starts")
            })
            .collect();
        wait_until("all have begun", || starters.iter_mut().all(has_begun));
        wait_until(moment, || match moment {
            "while one starts" => !daemons(&home).is_empty(),
            "when one answers" => home.0.hob(&["status"]).code == Some(0),
            _ => true,
        });
        home.0.hob(&["down"]).success();
        for starter in &mut starters {
            starter.wait().expect("hob ends");
        }
        wait_until("no daemon is left", || daemons(&home).is_empty());
        assert_eq!(home.0.hob(&["status"]).code, Some(4), "{moment}");
        // A start that begins afterwards is as good as ever.
        home.0.hob(&["up"]).success();
        assert_eq!(home.0.hob(&["status"]).code, Some(0));
    }
}

#[test]
fn a_start_that_a_down_overtook_says_so() {
    let home = Home::new("1");
    let overtaken = home.0.hob(&["daemon", "--last-down", "another"]);
    assert_eq!(overtaken.code, Some(1), "{overtaken:?}");
    assert!(
        overtaken.stderr.contains("'hob down' was run"),
        "{overtaken:?}"
    );
}

#[test]
fn a_taken_port_is_told_with_what_it_means() {
    // Whoever has it: this test, or another program of this machine.
    let _held = std::net::TcpListener::bind("127.0.0.1:7717");
    let home = Home(House::builder().env("HOB_AUTOSTART", "0").build());
    let before = home.0.hob(&["doctor"]);
    assert!(
        before.stdout.contains("Another program has 127.0.0.1:7717"),
        "{before:?}"
    );
    let up = home.0.hob(&["up"]);
    for said in [&up.stderr, &home.0.hob(&["status"]).stdout] {
        let said = said.replace(['\n', ' '], "");
        for part in [
            "Another program has port 7717",
            "sends its token to that program",
            "hob restart",
        ] {
            assert!(said.contains(&part.replace(' ', "")), "{said}");
        }
    }
    let status = home.document(&["status"]);
    assert_eq!(
        status["notes"].as_array().map(Vec::len),
        Some(1),
        "{status}"
    );
    let doctor = home.0.hob(&["doctor"]).stdout;
    assert!(doctor.contains("Another program has port 7717"), "{doctor}");
}

#[test]
fn no_token_is_sent_to_a_port_that_a_dead_daemon_had() {
    let mut house = House::start();
    let address = house.address().to_owned();
    house.kill();
    let thief = std::net::TcpListener::bind(&address).expect("the port is free again");
    thief.set_nonblocking(true).expect("is set");
    assert!(house.home().join("run/daemon.json").exists(), "it is stale");
    for line in [
        &["status"][..],
        &["session", "list"],
        &["doctor"],
        &["service", "list"],
    ] {
        house.hob(line);
    }
    let met = thief.accept().map(|(_, peer)| peer);
    assert!(met.is_err(), "somebody came: {met:?}");
}

#[test]
fn a_config_file_that_is_no_text_is_told_with_its_line() {
    let home = Home::new("1");
    let bytes = b"[log]\n# caf\xe9\nlevel = \"info\"\n";
    fs::write(home.0.home().join("config.toml"), bytes).expect("writable");
    for line in [&["up"][..], &["doctor"]] {
        let failed = home.0.hob(line);
        let said = format!("{}{}", failed.stdout, failed.stderr).replace(['\n', ' '], "");
        for part in [
            "config.toml",
            "line 2",
            "byte 0xe9 at column 6",
            "Save the file as UTF-8",
        ] {
            assert!(
                said.contains(&part.replace(' ', "")),
                "{line:?}: {part}: {failed:?}"
            );
        }
    }
}
