//! `hob autostart`: the unit is written, enabled and started as the service manager would start it;
//! jobs go on after the daemon was killed. The manager is a script that does to files what the real
//! one does.

use crate::support::{House, Tty, hob_path, wait_until};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

const MANAGER: &str = r#"#!/bin/sh
echo "$@" >> "$HOME/systemctl.log"
units="$HOME/.config/systemd/user"
case "$2" in
    enable) mkdir -p "$units/default.target.wants" && ln -sf "../$3" "$units/default.target.wants/$3" ;;
    disable) rm -f "$units/default.target.wants/$3" ;;
esac
"#;

/// A house whose path holds a service manager.
fn managed() -> (tempfile::TempDir, House) {
    let bin = tempfile::tempdir().expect("a folder");
    let manager = bin.path().join("systemctl");
    fs::write(&manager, MANAGER).expect("writable");
    fs::set_permissions(&manager, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let path = format!("{}:{}", bin.path().display(), hob_path());
    let house = House::builder().env("PATH", &path).build();
    (bin, house)
}

fn units(house: &House) -> PathBuf {
    house.home().join(".config/systemd/user")
}

/// The daemon of a unit, started with a socket that hears what it tells the manager.
struct Unit {
    daemon: Child,
    heard: UnixDatagram,
}

impl Unit {
    fn start(house: &House, text: &str) -> Unit {
        let socket = house.work().join("notify");
        let _ = fs::remove_file(&socket);
        let heard = UnixDatagram::bind(&socket).expect("a socket");
        heard
            .set_read_timeout(Some(Duration::from_secs(30)))
            .expect("a socket");
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("ExecStart="));
        let mut words = line.expect("a command").split(' ');
        let program = words.next().expect("a program").trim_matches('"');
        let mut command = house.command_of(program, &words.collect::<Vec<_>>());
        for pair in text
            .lines()
            .filter_map(|line| line.strip_prefix("Environment="))
        {
            let (name, value) = pair.trim_matches('"').split_once('=').expect("a pair");
            command.env(name, value);
        }
        let daemon = command
            .env("NOTIFY_SOCKET", &socket)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("the unit's program starts");
        Unit { daemon, heard }
    }

    fn hear(&self) -> String {
        let mut bytes = [0; 1_024];
        let length = self
            .heard
            .recv(&mut bytes)
            .expect("the daemon tells its manager");
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    }

    fn wait_ready(&self) {
        let told = self.hear();
        assert!(told.starts_with("READY=1\n"), "{told}");
        assert!(
            told.contains(&format!("MAINPID={}", self.daemon.id())),
            "{told}"
        );
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

fn slots(house: &House) -> usize {
    let text = house.hob(&["--json", "cron", "history", "tick"]).success();
    let page: Value = serde_json::from_str(&text).expect("one document");
    let slots = page["slots"].as_array().expect("a list");
    slots.iter().filter(|slot| slot["state"] == "ran").count()
}

#[test]
fn the_unit_starts_the_daemon_and_jobs_go_on_after_a_kill() {
    let (_bin, house) = managed();
    let status = house.hob(&["autostart", "status"]).success();
    assert!(status.contains("Autostart is off"), "{status}");
    let on = house.hob(&["autostart", "on"]).success();
    assert!(on.contains("Autostart is on"), "{on}");
    assert!(
        on.contains("loginctl enable-linger"),
        "lingering is explained: {on}"
    );
    let log = fs::read_to_string(house.home().join("systemctl.log")).expect("it was asked");
    for asked in ["daemon-reload", "enable hob-", "start hob-"] {
        assert!(log.contains(asked), "{log}");
    }
    let unit = fs::read_dir(units(&house)).expect("a folder").flatten();
    let unit = unit.map(|entry| entry.path()).find(|path| path.is_file());
    let text = fs::read_to_string(unit.expect("a unit")).expect("readable");
    assert!(
        text.contains(&format!("HOB_HOME={}", house.home().display())),
        "{text}"
    );

    let mut first = Unit::start(&house, &text);
    first.wait_ready();
    let added = house.shell("hob cron add tick --every 1s --command 'echo x >> ticks'");
    assert!(!added.stderr.contains("autostart"), "it is on: {added:?}");
    added.success();
    wait_until("the job ran", || slots(&house) >= 1);
    first.daemon.kill().expect("it can be killed");
    first.daemon.wait().expect("it ends");
    drop(first);

    let second = Unit::start(&house, &text);
    second.wait_ready();
    let before = slots(&house);
    wait_until("the job runs again", || slots(&house) > before);
    let doctor = house.hob(&["--json", "doctor"]).stdout;
    assert!(doctor.contains("the user unit starts hob"), "{doctor}");
    house.hob(&["down"]).success();
    assert_eq!(second.hear(), "STOPPING=1");

    let off = house.hob(&["autostart", "off"]).success();
    assert!(off.contains("Autostart is off"), "{off}");
    let left = fs::read_dir(units(&house)).expect("a folder").flatten();
    let left: Vec<PathBuf> = left
        .map(|entry| entry.path())
        .filter(|path| path.is_file())
        .collect();
    assert_eq!(left, Vec::<PathBuf>::new());
}

#[test]
fn without_a_service_manager_the_desktop_starts_it() {
    let empty = tempfile::tempdir().expect("a folder");
    let path = empty.path().display().to_string();
    let house = House::builder().env("PATH", &path).build();
    let on = house.hob(&["autostart", "on"]).success();
    assert!(on.contains("your desktop starts hob"), "{on}");
    let entry = fs::read_dir(house.home().join(".config/autostart")).expect("a folder");
    let entry = entry.flatten().next().expect("an entry").path();
    let text = fs::read_to_string(&entry).expect("readable");
    assert!(
        text.contains("HOB_HOME=") && text.contains(" up\n"),
        "{text}"
    );
    let told: Value =
        serde_json::from_str(&house.hob(&["--json", "autostart", "status"]).success())
            .expect("one document");
    assert_eq!(
        (told["on"].as_bool(), told["by"].as_str()),
        (Some(true), Some("desktop"))
    );
    house.hob(&["autostart", "off"]).success();
    assert!(!entry.exists());
}

#[test]
fn scheduled_work_says_that_a_reboot_would_stop_it() {
    let house = House::start();
    let added = house.shell("hob cron add tick --every 1h --command true");
    assert!(added.stderr.contains("hob autostart on"), "{added:?}");
    added.success();
    let doctor = house.hob(&["doctor"]).stdout;
    assert!(doctor.contains("autostart: off"), "{doctor}");
    let json = house.shell("hob --json cron add other --every 1h --command true");
    assert_eq!(json.stderr, "");
}

#[test]
fn uninstall_stops_everything_and_lists_what_is_left() {
    let mut house = House::start();
    house
        .hob(&["terminal", "run", "--detach", "sleep", "600"])
        .success();
    let unasked = house.hob(&["uninstall"]);
    assert_eq!(unasked.code, Some(2), "{unasked:?}");
    assert!(unasked.stderr.contains("--yes"), "{unasked:?}");
    let done = house.hob(&["uninstall", "--yes"]).success();
    assert!(done.contains("Stopped the daemon"), "{done}");
    // A yes for the daemon is none for what the person runs.
    assert!(
        done.contains("the terminals main; close them with: tmux -S"),
        "{done}"
    );
    assert!(done.contains(&house.home().display().to_string()), "{done}");
    assert!(done.contains("the program; remove it with: rm "), "{done}");
    assert!(house.wait_exit(Duration::from_secs(10)).success());
    assert!(house.home().join("hob.db").exists(), "the data stays");

    let purged = house
        .hob(&["uninstall", "--yes", "--purge", "--close-terminals"])
        .success();
    assert!(purged.contains("Closed the terminals: main."), "{purged}");
    let mut left: Vec<String> = names(house.home());
    // The shell in the terminal wrote its history.
    left.retain(|name| name != ".bash_history");
    assert_eq!(left, ["test-stderr.txt"], "only what is not hob's");
}

#[test]
fn uninstall_asks_on_a_terminal_and_asks_again_about_terminals() {
    let mut house = House::start();
    house
        .hob(&["terminal", "run", "--detach", "sleep", "600"])
        .success();
    let mut tty = Tty::start(&house, "uninstall");
    tty.wait_for("Go on? [y] yes  [n] no");
    tty.press("n");
    let (code, seen) = tty.end();
    assert_eq!(code, Some(1), "{seen}");
    assert!(seen.contains("Nothing was changed."), "{seen}");
    house.hob(&["status"]).success();

    let mut tty = Tty::start(&house, "uninstall");
    tty.wait_for("Go on?");
    tty.press("y");
    tty.wait_for("Close your terminals (main) and what runs in them?");
    tty.press("n");
    let (code, seen) = tty.end();
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains("kill-server"), "they are left: {seen}");
    assert!(house.wait_exit(Duration::from_secs(10)).success());
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}
