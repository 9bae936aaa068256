//! Following a terminal while the daemon is killed: nothing twice, nothing missing.

use super::json_of;
use crate::support::{House, RandomKills, Tty, wait_until};
use std::fs::File;
use std::io::Read;
use std::process::{Child, Stdio};

/// Kills of one test.
const KILLS: u64 = 12;

/// `hob ARGS` with its output in a file.
fn begin(house: &House, args: &[&str], out: &str) -> Child {
    let out = File::create(house.work().join(out)).expect("a file");
    let mut command = house.command(args);
    command
        .current_dir(house.work())
        .stdin(Stdio::null())
        .stdout(out);
    command.spawn().expect("hob starts")
}

fn text_of(house: &House, file: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut file = File::open(house.work().join(file)).expect("a file");
    file.read_to_end(&mut bytes).expect("is read");
    bytes
}

#[test]
fn a_killed_daemon_repeats_and_loses_nothing_of_a_command() {
    let kills = RandomKills::new(KILLS);
    let mut house = House::start();
    house.hob(&["terminal", "run", "true"]).success();
    let line = format!(
        "i=0; while [ ! -e '{}' ]; do i=$((i+1)); printf '\\033[3%dmline %d: h\\303' $((i%8)) $i; \
         printf '\\251 \\342\\202\\254\\033[0m\\n'; sleep 0.01; done; echo $i > count; printf end; (exit 7)",
        house.work().join("go").display()
    );
    let whole = begin(&house, &["terminal", "stream", "--follow"], "stream");
    let mut run = begin(
        &house,
        &[
            "terminal",
            "run",
            &format!("cd '{}'; {line}", house.work().display()),
        ],
        "run",
    );
    for _ in 0..kills.count {
        kills.kill(&mut house, 300);
        house.start_daemon();
    }
    std::fs::write(house.work().join("go"), "").expect("writes");
    let ended = run.wait().expect("ends");
    assert_eq!(ended.code(), Some(7));
    let count = String::from_utf8(text_of(&house, "count")).expect("text");
    let count: u32 = count.trim().parse().expect("a number");
    let lines = (1..=count).map(|number| format!("line {number}: h\u{e9} \u{20ac}\n"));
    let wanted = lines.collect::<String>() + "end";
    let printed = String::from_utf8(text_of(&house, "run")).expect("text");
    let differs = printed.lines().zip(wanted.lines()).find(|(a, b)| a != b);
    let ends = [&printed, &wanted].map(|text| (text.len(), text.lines().next_back()));
    assert!(printed == wanted, "of {count} lines: {differs:?}, {ends:?}");
    end_stream(&house, whole);
}

/// Ends the terminal: the follower ends with it, and has what is read at once.
fn end_stream(house: &House, mut follower: Child) {
    let all = json_of(house, &["terminal", "stream"]);
    let end = all["end"].as_u64().expect("an offset");
    let once = begin(house, &["terminal", "stream"], "once").wait();
    assert!(once.expect("ends").success());
    let once = text_of(house, "once");
    assert!(once.len() as u64 >= end);
    house.hob(&["terminal", "close", "--yes"]).success();
    assert!(follower.wait().expect("ends").success());
    let streamed = text_of(house, "stream");
    assert!(
        streamed.starts_with(&once),
        "{} and {} bytes",
        streamed.len(),
        once.len()
    );
}

#[test]
fn a_daemon_that_is_restarted_in_order_is_waited_for() {
    let mut house = House::start();
    let line = "echo one; while [ ! -e go ]; do sleep 0.05; done; echo two";
    house
        .hob(&["terminal", "run", "cd", &house.work().display().to_string()])
        .success();
    let mut run = begin(&house, &["terminal", "run", line], "run");
    wait_until("it has printed", || text_of(&house, "run") == b"one\n");
    assert!(house.terminate().success());
    std::fs::write(house.work().join("go"), "").expect("writes");
    house.start_daemon();
    assert!(run.wait().expect("ends").success());
    assert_eq!(text_of(&house, "run"), b"one\ntwo\n");
}

#[test]
fn control_sequences_reach_a_terminal_only_when_asked_for() {
    let house = House::start();
    house
        .hob(&["terminal", "run", "printf '\\033]0;title\\007'"])
        .success();
    let tty = Tty::start(&house, "terminal stream");
    let (code, seen) = tty.end();
    assert_eq!(code, Some(2), "{seen}");
    assert!(
        seen.contains("--raw") && !seen.contains("title\u{7}"),
        "{seen:?}"
    );
    let tty = Tty::start(&house, "terminal stream --raw");
    let (code, seen) = tty.end();
    assert_eq!(code, Some(0), "{seen}");
    let page = json_of(&house, &["terminal", "stream", "--since", "5"]);
    assert_eq!(page["offset"], 5, "{page}");
    assert!(
        page["next"] == page["end"] && page["skipped"] == 0,
        "{page}"
    );
    let none = house.hob(&["terminal", "stream", "other"]);
    assert_eq!(none.code, Some(5), "{none:?}");
}
