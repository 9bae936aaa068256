//! `hob loop watch`: the live view as it looks, lines and events elsewhere, and a daemon that dies
//! meanwhile.

use super::{HOLD, teller, until_answered, until_ended};
use crate::mind::house_with;
use crate::support::{House, Pane, wait_until};
use hob_sim::Gate;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

/// A watcher that writes into a pipe, and what it wrote.
struct Watcher {
    child: Child,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Watcher {
    fn start(house: &House, line: &[&str]) -> Watcher {
        let mut child = house
            .command(line)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("hob starts");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (stdout, lines) = (child.stdout.take().expect("piped"), Arc::clone(&seen));
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                lines.lock().expect("whole").push(line);
            }
        });
        Watcher { child, seen }
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().expect("whole").clone()
    }

    fn wait_for(&self, words: &str) {
        wait_until(words, || {
            self.seen().iter().any(|line| line.contains(words))
        });
    }

    /// Waits until it ends by itself.
    fn end(mut self) -> (Option<i32>, Vec<String>) {
        wait_until("its end", || {
            self.child.try_wait().expect("a child").is_some()
        });
        let code = self.child.wait().expect("a child").code();
        std::thread::sleep(std::time::Duration::from_millis(50));
        (code, self.seen())
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn elsewhere_it_is_a_line_for_each_event_until_the_end() {
    let sim = teller(&Gate::new());
    let house = house_with(&sim);
    let line = "hob loop create two --task Count --every 1s --max 2 --monitor 'echo ok'";
    house.shell(line).success();
    let idle = house.hob(&["loop", "watch", "two"]);
    assert_eq!((idle.code, idle.stdout.as_str()), (Some(0), ""));
    assert!(
        idle.stderr.contains("hob loop start two --watch"),
        "{idle:?}"
    );
    let watcher = Watcher::start(&house, &["loop", "start", "two", "--watch"]);
    let (code, lines) = watcher.end();
    assert_eq!(code, Some(0), "{lines:#?}");
    let words: Vec<&str> = lines.iter().filter_map(|line| line.get(10..)).collect();
    let place = |wanted: &str| {
        let found = words.iter().position(|line| line.starts_with(wanted));
        found.unwrap_or_else(|| panic!("no {wanted:?} in {lines:#?}"))
    };
    let order = [
        place("iteration 1 begins"),
        place("monitor: "),
        place("prompt: "),
        place("answer: This is answer 1."),
        place("iteration 2 begins"),
        place("answer: This is answer 2."),
        place("ended: "),
    ];
    assert!(order.is_sorted(), "{lines:#?}");
}

#[test]
fn events_come_without_a_hole_across_the_death_of_the_daemon() {
    let gate = Gate::new();
    let sim = teller(&gate);
    let mut house = house_with(&sim);
    house
        .shell("hob loop create on --task Count --every 1s --start")
        .success();
    let watcher = Watcher::start(&house, &["--json", "loop", "watch", "on"]);
    watcher.wait_for("\"loop.response\"");
    house.hob(&["loop", "working", "on", HOLD]).success();
    wait_until("a prompt in flight", || gate.waiting() == 1);
    house.kill();
    gate.open();
    house.start_daemon();
    let before = watcher.seen().len();
    wait_until("it goes on", || {
        let lines = watcher.seen();
        let later = lines[before..].iter();
        later
            .filter(|line| line.contains("\"loop.response\""))
            .count()
            >= 2
    });
    house.hob(&["loop", "stop", "on"]).success();
    let (code, lines) = watcher.end();
    assert_eq!(code, Some(0));
    let events: Vec<Value> = lines
        .iter()
        .map(|line| serde_json::from_str(line).expect("an event"))
        .collect();
    let numbers = |topic: &str| -> Vec<u64> {
        let events = events.iter().filter(|event| event["event"] == topic);
        events
            .filter_map(|event| event["payload"]["iteration"].as_u64())
            .collect()
    };
    for topic in ["loop.iteration", "loop.response"] {
        let mut seen = numbers(topic);
        let first = seen[0];
        seen.retain(|number| *number >= first);
        let last = *seen.last().expect("some");
        let wanted: Vec<u64> = (first..=last).collect();
        assert_eq!(seen, wanted, "{topic}");
    }
    assert!(events.iter().any(|event| event["event"] == "run.delta"));
}

#[test]
fn a_screen_shows_it_live_and_leaving_leaves_it_running() {
    let gate = Gate::new();
    let sim = teller(&gate);
    let house = house_with(&sim);
    let line = "hob loop create live --task 'Say where you are.' --every 2s --max 50 --start \
                --monitor 'echo the log says hello'";
    house.shell(line).success();
    until_answered(&house, "live", 1);
    for (columns, rows) in [(80, 24), (40, 15)] {
        let pane = Pane::open(&house, columns, rows);
        pane.run("hob loop watch live");
        pane.wait_for("next in");
        let screen = pane.wait_for("This is answer");
        for words in [
            "live ",
            " of 50",
            "── Monitor",
            "the log says hello",
            "── Answer",
            "── Before",
        ] {
            assert!(screen.contains(words), "no {words:?} on:\n{screen}");
        }
        assert!(
            screen.trim_end().ends_with("the loop keeps running"),
            "{screen}"
        );
        pane.press("\u{3}");
        let screen = pane.wait_for("live keeps running; hob loop watch");
        assert!(
            !screen.contains("── Answer"),
            "the screen is as it was:\n{screen}"
        );
    }
    // The words of an answer stand there while it is being given.
    house.hob(&["loop", "working", "live", HOLD]).success();
    wait_until("a prompt in flight", || gate.waiting() == 1);
    let pane = Pane::open(&house, 80, 24);
    pane.run("hob loop watch live");
    pane.wait_for("asking");
    pane.wait_for("This is");
    pane.press("q");
    pane.wait_for("live keeps running");
    gate.open();
    house.hob(&["loop", "stop", "live"]).success();
    until_ended(&house, "live");
}
