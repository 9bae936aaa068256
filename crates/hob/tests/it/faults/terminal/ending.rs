//! Fault 60 in the terminal: commands that never end and do not heed signals.

use super::super::rig::eventually;
use super::super::services::marked;
use super::super::trial::Trial;
use super::{Desk, ms};
use serde_json::json;
use std::time::{Duration, Instant};

const DEADLINE_MS: u64 = 1_000;
/// An interrupt, a second, a signal, another second, a kill; and a busy machine.
const OVER_MS_MAX: u64 = 15_000;

#[test]
fn f60_terminal_commands_that_never_end() {
    let trial = Trial::begin(60);
    let mut desk = Desk::new();
    let mark = format!("8{}.5", trial.randomness.u64() % 1_000_000);
    let commands = [
        format!("sleep {mark}"),
        format!("sh -c \"trap '' INT TERM HUP QUIT TSTP; while :; do sleep {mark}; done\""),
        format!("sh -c 'sleep {mark} & sleep {mark} & (sleep {mark} & wait) & wait'"),
        format!("sh -c \"trap '' INT TERM; sleep {mark} & sleep {mark}\" | cat | cat"),
        format!(
            "python3 -c 'import signal, time, sys\n\
             for s in (1, 2, 3, 15, 20): signal.signal(s, signal.SIG_IGN)\n\
             time.sleep({mark})'"
        ),
        "read -r -s nobody_types".to_owned(),
        "while :; do :; done".to_owned(),
    ];
    let mut over_ms = 0;
    let mut lived = 0;
    for command in &commands {
        let begun = Instant::now();
        let id = desk.begin(command, &json!({ "timeoutMs": DEADLINE_MS }));
        let seen = std::thread::spawn({
            let mark = mark.clone();
            move || most_of(&mark, Duration::from_millis(DEADLINE_MS))
        });
        let within = Duration::from_millis(DEADLINE_MS + OVER_MS_MAX);
        let ended = desk.end(&id, within);
        let took_ms = ms(begun.elapsed());
        lived += seen.join().expect("it only counts");
        assert_eq!(ended["state"], "timeout", "{command}: {ended}");
        over_ms = over_ms.max(took_ms.saturating_sub(DEADLINE_MS));
        // A killed process needs a moment.
        let gone = || marked(&mark).is_empty();
        eventually(&format!("nothing of {command} is left"), gone);
        let next = desk.run("echo still here");
        assert_eq!(next["output"], "still here\n", "{command}: {next}");
        assert_eq!(next["exitCode"], 0, "{command}: {next}");
    }
    assert!(lived >= commands.len(), "they were never there");
    trial.figure("terminal_over_deadline_ms", over_ms);
    trial.figure("terminal_survivors", format_args!("0/{lived}"));
    desk.rig.stop();
}

/// The most processes with this word that were there at once.
fn most_of(word: &str, during: Duration) -> usize {
    let begun = Instant::now();
    let mut most = 0;
    while begun.elapsed() < during {
        most = most.max(marked(word).len());
        std::thread::sleep(Duration::from_millis(20));
    }
    most
}
