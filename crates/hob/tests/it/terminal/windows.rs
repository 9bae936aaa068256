//! A window on a real display, by the command a person would use. Xvfb, xterm and xwininfo must be
//! there (`cargo xtask test` installs them).

use super::{json_of, terminal};
use crate::support::{House, wait_until};
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

/// A display of the test's own.
struct Desktop {
    server: Child,
    name: String,
}

impl Desktop {
    fn begin(house: &House) -> Desktop {
        let arguments = [
            "-displayfd",
            "1",
            "-screen",
            "0",
            "1280x800x24",
            "-nolisten",
            "tcp",
        ];
        let mut server = house
            .command_of("Xvfb", &arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("Xvfb is not installed; run: apt install xvfb");
        // It writes its number when it takes windows.
        let mut number = String::new();
        let said = server.stdout.take().expect("piped");
        BufReader::new(said).read_line(&mut number).expect("said");
        let name = format!(":{}", number.trim());
        assert!(name.len() > 1, "Xvfb did not start");
        Desktop { server, name }
    }

    fn shows(&self, house: &House, title: &str) -> bool {
        let arguments = ["-display", &self.name, "-root", "-tree"];
        let output = house
            .command_of("xwininfo", &arguments)
            .output()
            .expect("xwininfo is not installed; run: apt install x11-utils");
        String::from_utf8_lossy(&output.stdout).contains(&format!("\"{title}\""))
    }
}

impl Drop for Desktop {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn open(house: &House, desktop: &Desktop, more: &[&str]) -> String {
    let line = [&["terminal", "open", "--program", "xterm"], more].concat();
    let output = house
        .command(&line)
        .env("DISPLAY", &desktop.name)
        .output()
        .expect("hob runs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn a_window_is_opened_seen_and_closed_and_somebody_elses_stays() {
    let house = House::start();
    let desktop = Desktop::begin(&house);
    assert_eq!(
        open(&house, &desktop, &[]),
        "main is open in a window of xterm.\n"
    );
    wait_until("it is seen", || desktop.shows(&house, "hob: main"));
    wait_until("it is attached", || {
        terminal(&house, "main")["attached"] == 1
    });
    // A second time shows the same one; what runs there is seen by whoever sits at it.
    let again = open(&house, &desktop, &[]);
    assert!(again.contains("already"), "{again}");
    house.hob(&["terminal", "run", "echo seen"]).success();
    // Somebody's own window on the same terminal.
    let listed = json_of(&house, &["terminal", "list"]);
    let socket = listed["socket"].as_str().expect("a path").to_owned();
    let arguments = ["-display", &desktop.name, "-T", "foreign", "-e"];
    let attach = ["tmux", "-S", &socket, "attach", "-t", "=main"];
    let mut foreign = house
        .command_of("xterm", &[&arguments[..], &attach[..]].concat())
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("xterm is not installed; run: apt install xterm");
    wait_until("it is seen", || desktop.shows(&house, "foreign"));
    wait_until("both are attached", || {
        terminal(&house, "main")["attached"] == 2
    });
    let closed = house.hob(&["terminal", "close", "--windows"]).success();
    assert_eq!(closed, "Closed 1 window on main; the terminal stays.\n");
    wait_until("it is closed", || !desktop.shows(&house, "hob: main"));
    assert!(desktop.shows(&house, "foreign"));
    assert!(foreign.try_wait().expect("ours").is_none());
    wait_until("one is attached", || {
        terminal(&house, "main")["attached"] == 1
    });
    assert_eq!(house.hob(&["terminal", "run", "echo on"]).success(), "on\n");
    let none = house.hob(&["terminal", "close", "--windows"]).success();
    assert_eq!(none, "hob has no window open on main.\n");
    let _ = foreign.kill();
    let _ = foreign.wait();
}

#[test]
fn without_a_display_a_sentence_says_what_to_do_instead() {
    let house = House::start();
    let failed = house.hob(&["terminal", "open"]);
    assert_ne!(failed.code, Some(0));
    assert!(
        failed.stderr.contains("There is no display here"),
        "{}",
        failed.stderr
    );
    assert!(
        failed.stderr.contains("hob terminal attach main"),
        "{}",
        failed.stderr
    );
}
