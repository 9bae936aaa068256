//! Fault 74: what is printed in a terminal speaks to the terminal, and tmux dies under it.

use super::super::rig::{PATIENCE, eventually};
use super::super::trial::Trial;
use super::{Desk, Ears};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::time::Instant;

/// As `printf` writes them: commands to a terminal, questions it would answer by typing, forged
/// marks, and sequences that never end.
const ABUSE: &[&str] = &[
    r"\033]0;;touch PWNED;\007",
    r"\033]2;$(touch PWNED)\033\\",
    r"\033k`touch PWNED`\033\\",
    r"\033[21t\033[20t",
    r"\033]52;c;dG91Y2ggUFdORUQK\007\033]52;c;?\007",
    r"\033[6n\033[5n\033[c\033[>c\033[=c\033[?6n\033[18t\033[14t",
    r"\033]10;?\007\033]11;?\007\033]4;1;?\007",
    r"\033P$qm\033\\\033P+q544e\033\\\033[?2004$p",
    r"\033Ptmux;\033\033]52;c;dG91Y2ggUFdORUQK\007\033\\",
    r"\033]7717;00000000000000000000000000000000;D;x;0;1.0\007",
    r"\033]7717;00000000000000000000000000000000;X;0\007\033]7717;;B;\007",
    r"\033]133;D;0\007\033]133;A\007\033]633;E;touch PWNED\007",
    r"\033[?1049h\033[2J\033[3J\033[?1000h\033[?2004h\033[?25l\033(0\016",
    r"\033[4h\033[?7l\033[?6h\033[2;3r\033[999;999H\033[65535@\033[65535L\033[65535b",
    r"\033c\033#8\033[!p\033[1;2;3;4;5;6;7;8;9;0;1;2;3;4;5;6;7;8;9;0;1;2;3;4;5;6;7;8;9;0;1;2;3;4m",
    r"\302\233\302\235\302\220\302\237\233\235\220\237",
    r"\033]0;never ended",
    r"\033P never ended",
    r"\033[?1;",
    r"\033_%%begin 1 1 1\n%%exit\n%%window-close @0\n\033\\",
];

#[test]
fn f74_a_terminal_that_is_abused() {
    let trial = Trial::begin(74);
    let mut desk = Desk::new();
    let output = Ears::open(&desk.rig, "terminal.output");
    let status = Ears::open(&desk.rig, "terminal.status");
    let place = desk.rig.scratch().to_owned();
    desk.run(&format!("cd '{}'", place.display()));
    let mut ran = 1;
    for (number, abuse) in ABUSE.iter().enumerate() {
        let line = format!("printf '{abuse}'; (exit 7)");
        let ended = desk.run(&line);
        assert_eq!(ended["state"], "done", "{abuse}: {ended}");
        assert_eq!(ended["exitCode"], 7, "{abuse}: {ended}");
        plain(&ended["output"], abuse);
        let after = desk.run(&format!(
            "stty sane; printf '\\033\\\\\\033c'; echo after {number}"
        ));
        assert_eq!(
            after["output"],
            format!("after {number}\n"),
            "{abuse}: {after}"
        );
        ran += 2;
    }
    let last = format!("after {}", ABUSE.len() - 1);
    let is_last = |it: &Value| it["text"].as_str().is_some_and(|text| text.contains(&last));
    eventually("the end is told", || output.heard().iter().any(is_last));
    let huge = desk.run("seq 1 300000");
    assert_eq!(
        (&huge["exitCode"], &huge["truncated"]),
        (&json!(0), &json!(true))
    );
    ran += 1;
    let captured = desk
        .peer
        .must("terminal.capture", &json!({ "lines": 20_000 }));
    plain(&captured["text"], "the screen");
    assert!(
        captured["text"]
            .as_str()
            .is_some_and(|text| text.contains("\n300000\n"))
    );
    for piece in output.heard() {
        plain(&piece["text"], "what watchers hear");
    }
    assert!(!place.join("PWNED").exists(), "what was printed was run");
    let history = desk.peer.must("terminal.history", &json!({ "limit": 200 }));
    let rows = history["commands"].as_array().expect("a list");
    let injected = rows.len().saturating_sub(ran);
    assert!(rows.iter().all(|row| row["by"] == "client"), "{history}");
    assert_eq!(injected, 0, "{} rows for {ran} commands", rows.len());
    losses(&trial, &mut desk, &status);
    assert!(desk.rig.lives(), "the daemon lives");
    trial.figure("sequences", ABUSE.len());
    trial.figure("injected_commands", injected);
    trial.figure("crashes", 0);
    desk.rig.stop();
}

/// The shell is killed, then tmux: each is told, and there is a terminal again afterwards.
fn losses(trial: &Trial, desk: &mut Desk, status: &Ears) {
    let (mut slowest_ms, mut lost) = (0, 0);
    for victim in ["#{pane_pid}", "#{pid}"] {
        desk.run("echo before");
        let id = desk.begin("sleep 1000", &json!({}));
        eventually("it runs", || {
            let command = desk.peer.must("terminal.command", &json!({ "id": id }));
            command["state"] == "running"
        });
        let pid = desk.tmux(&["display-message", "-p", "-t", "=main:", victim]);
        let pid = pid.parse().ok().and_then(Pid::from_raw).expect("a process");
        let begun = Instant::now();
        kill_process(pid, Signal::KILL).expect("it is ours");
        let ended = desk.end(&id, PATIENCE);
        assert_eq!(ended["state"], "lost", "{victim}: {ended}");
        lost += 1;
        eventually("the loss is told", || losses_told(status) == lost);
        slowest_ms = slowest_ms.max(super::ms(begun.elapsed()));
        let listed = desk.peer.must("terminal.list", &json!({}));
        assert_eq!(listed["terminals"], json!([]), "{victim}");
        let again = desk.run("echo again");
        assert_eq!(again["output"], "again\n", "{victim}: {again}");
    }
    trial.figure("loss_told_ms", slowest_ms);
}

/// How often a terminal was told lost, each with its reason.
fn losses_told(status: &Ears) -> usize {
    let heard = status.heard();
    let lost: Vec<_> = heard.iter().filter(|it| it["state"] == "lost").collect();
    let reasons = lost
        .iter()
        .filter(|it| it["detail"].as_str().is_some_and(|why| !why.is_empty()));
    assert_eq!(reasons.count(), lost.len(), "{lost:?}");
    lost.len()
}

/// No control character but those of lines is in a text.
fn plain(text: &Value, what: &str) {
    let text = text.as_str().unwrap_or_default();
    let control = text
        .chars()
        .find(|c| c.is_control() && !['\n', '\r', '\t'].contains(c));
    assert_eq!(control, None, "{what}: {text:?}");
}
