//! Faults 7 and 106: the disk fails to sync or to read for a while. The daemon says so while it
//! lasts, and goes on by itself.

use super::syscalls::{Tracer, send_one};
use crate::faults::http;
use crate::faults::ledger::{ClientRecord, audit};
use crate::faults::load::settle;
use crate::faults::rig::{Rig, eventually};
use crate::faults::trial::Trial;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::time::{Duration, Instant};

/// How long every sync fails.
const FAILING: Duration = Duration::from_secs(3);

fn ready(rig: &Rig) -> u16 {
    let bearer = format!("Authorization: Bearer {}", rig.token());
    let request = http::request("GET", rig.port(), "/ready", &[&bearer], "");
    http::exchange(rig.port(), &request)
        .expect("an answer")
        .status
}

/// The store's state, as `daemon.status` names it.
fn state(rig: &Rig) -> String {
    let status = rig.peer().must("daemon.status", &json!({}));
    let state = status["store"]["state"].as_str().expect("a state");
    state.to_owned()
}

#[test]
fn f07_every_sync_fails_for_seconds() {
    let trial = Trial::begin(7);
    let mut rig = Rig::new();
    rig.start();
    let mut peer = rig.peer();
    peer.must("session.create", &json!({ "sessionKey": "s" }));
    let mut record = ClientRecord::new("s");
    assert!(send_one(&mut peer, &mut record, "before"));
    assert_eq!(ready(&rig), 200);
    let doctor_before = rig.hob(&["doctor"]).status.code();
    let Some(tracer) = Tracer::attach(&rig, "fsync,fdatasync:error=EIO") else {
        return trial.not_run("needs strace and the right to trace: apt-get install strace");
    };
    let begun = Instant::now();
    let mut refused = 0;
    while begun.elapsed() < FAILING {
        let text = format!("while it fails {refused}");
        assert!(!send_one(&mut peer, &mut record, &text), "{text}");
        refused += 1;
        assert_eq!(ready(&rig), 503, "after {refused} refusals");
        assert_eq!(state(&rig), "failing");
    }
    let doctor = rig.hob(&["doctor"]).status.code();
    assert_eq!(doctor, Some(1), "doctor tells");
    tracer.detach();
    let healed = Instant::now();
    eventually("it is ready again by itself", || ready(&rig) == 200);
    let took = healed.elapsed();
    assert_eq!(state(&rig), "ready");
    assert_eq!(rig.hob(&["doctor"]).status.code(), doctor_before);
    settle(&mut peer, std::slice::from_mut(&mut record));
    let found = audit(&mut peer, std::slice::from_ref(&record));
    assert!(found.is_clean(), "{found}");
    rig.kill();
    rig.start();
    let last = audit(&mut rig.peer(), &[record]);
    assert!(last.is_clean(), "after a kill: {last}");
    trial.figure("refused", refused);
    trial.figure("ready_again_ms", took.as_millis());
}

/// Reads of one thread before the first that fails. Only the check after an unclean end reads so
/// much at once.
const READS_BEFORE: u32 = 300;

/// A home whose daemon was killed and whose database has some thousand pages.
fn large_and_killed() -> Rig {
    let mut rig = Rig::new();
    rig.start();
    let mut peer = rig.peer();
    peer.must("session.create", &json!({ "sessionKey": "s" }));
    for number in 0..80 {
        let content = format!("{number} {}", "x".repeat(50_000));
        let params = json!({ "sessionKey": "s", "content": content });
        peer.must("session.send", &params);
    }
    rig.stop();
    rig.start();
    rig.peer()
        .must("session.create", &json!({ "sessionKey": "unclean" }));
    rig.kill();
    rig
}

/// Starts the daemon under strace, which makes reads of the database fail; false where it cannot.
fn start_with_failing_reads(rig: &mut Rig, when: &str) -> bool {
    let report = rig.scratch().join("strace");
    let _ = std::fs::remove_file(&report);
    let inject = format!("inject=pread64:error=EIO:when={when}");
    let database = rig.home().join("hob.db").display().to_string();
    let report = report.display().to_string();
    rig.launcher(&[
        "strace",
        // With `-o` and a program to start, strace ignores SIGTERM unless told otherwise.
        "-I2",
        "-D",
        "-f",
        "-q",
        "-e",
        "trace=pread64",
        "-e",
        &inject,
        "-P",
        &database,
        "-o",
        &report,
    ]);
    let begun = rig.try_start().is_ok();
    rig.launcher(&[]);
    begun
}

fn injected(rig: &Rig) -> usize {
    let report = std::fs::read_to_string(rig.scratch().join("strace")).unwrap_or_default();
    report.matches("(INJECTED)").count()
}

/// Who traces the daemon.
fn tracer_of(rig: &Rig) -> Option<Pid> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", rig.pid()));
    let status = status.expect("the daemon lives");
    let pid = status
        .lines()
        .find_map(|line| line.strip_prefix("TracerPid:"));
    pid.and_then(|pid| pid.trim().parse().ok())
        .and_then(Pid::from_raw)
}

/// Ends the strace of [`start_with_failing_reads`], which is the daemon's tracer.
fn end_tracer(rig: &Rig) {
    let tracer = tracer_of(rig).expect("strace traces the daemon");
    kill_process(tracer, Signal::TERM).expect("strace lives");
    eventually("strace lets go", || tracer_of(rig).is_none());
}

#[test]
fn f106_reads_fail_for_a_while() {
    let trial = Trial::begin(106);
    let can_trace = std::process::Command::new("strace")
        .args(["-D", "-o", "/dev/null", "true"])
        .status()
        .is_ok_and(|status| status.success());
    if !can_trace {
        return trial.not_run("needs strace and the right to trace: apt-get install strace");
    }
    let mut rig = large_and_killed();

    // Once: nobody is refused.
    assert!(start_with_failing_reads(
        &mut rig,
        &READS_BEFORE.to_string()
    ));
    eventually("a read of the check fails", || injected(&rig) > 0);
    let log = rig.home().join("logs/hob.log");
    eventually("the check noticed", || {
        std::fs::read_to_string(&log).is_ok_and(|text| text.contains("a check of the database"))
    });
    for _ in 0..20 {
        let params = json!({ "sessionKey": "s", "content": "still taken" });
        rig.peer().must("session.send", &params);
        assert_eq!(state(&rig), "ready");
    }
    rig.kill();

    // For a while: told, and over when it is over.
    assert!(start_with_failing_reads(
        &mut rig,
        &format!("{READS_BEFORE}+")
    ));
    eventually("it is told", || ready(&rig) == 503);
    assert_eq!(state(&rig), "failing");
    let status = rig.peer().must("daemon.status", &json!({}));
    let message = status["store"]["message"].as_str().unwrap_or_default();
    assert!(!message.contains("backup"), "it is no damage: {message}");
    end_tracer(&rig);
    let healed = Instant::now();
    eventually("it is ready again by itself", || ready(&rig) == 200);
    let params = json!({ "sessionKey": "s", "content": "after" });
    rig.peer().must("session.send", &params);
    trial.figure("ready_again_ms", healed.elapsed().as_millis());
}

/// SQLite calls a database malformed when one read of it fails.
#[test]
fn f106_reads_of_a_running_daemon_fail() {
    let trial = Trial::begin(106);
    let mut rig = large_and_killed();
    rig.start();
    eventually("it is ready", || ready(&rig) == 200);
    let read = || {
        let params = json!({ "sessionKey": "s" });
        let answer = rig.peer().call("session.history", &params);
        if let Err(error) = answer.expect("an answer") {
            let error = error.to_string();
            assert!(!error.contains("backup"), "it is no damage: {error}");
        }
        assert_ne!(state(&rig), "damaged");
    };

    // Once in each thread.
    let Some(tracer) = Tracer::attach(&rig, "pread64:error=EIO:when=1") else {
        return trial.not_run("needs strace and the right to trace: apt-get install strace");
    };
    for _ in 0..20 {
        read();
    }
    let seen = tracer.detach();
    assert!(seen.iter().any(|line| line.contains("(INJECTED)")));
    eventually("it is ready after single failures", || ready(&rig) == 200);

    // Every read, for a while.
    let tracer = Tracer::attach(&rig, "pread64:error=EIO").expect("strace worked before");
    let begun = Instant::now();
    while begun.elapsed() < FAILING {
        read();
    }
    assert_eq!(ready(&rig), 503);
    assert_eq!(state(&rig), "failing");
    tracer.detach();
    let healed = Instant::now();
    eventually("it is ready again by itself", || ready(&rig) == 200);
    let params = json!({ "sessionKey": "s", "content": "after" });
    rig.peer().must("session.send", &params);
    trial.figure("ready_again_ms", healed.elapsed().as_millis());
}
