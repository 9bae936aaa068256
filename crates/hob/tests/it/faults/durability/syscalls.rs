//! Faults 7 and 8: system calls under the store fail, write short or are interrupted.

use crate::faults::ledger::{ClientRecord, audit};
use crate::faults::load::{idempotency_key, settle};
use crate::faults::peer::Peer;
use crate::faults::process::Beside;
use crate::faults::rig::{PATIENCE, Rig, eventually};
use crate::faults::trial::Trial;
use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const MESSAGES: usize = 24;

/// strace at work on a daemon: it makes chosen calls fail and writes down what it saw.
pub(super) struct Tracer {
    strace: Beside,
    report: PathBuf,
}

impl Tracer {
    /// Attaches to the daemon; none where strace is missing or may not.
    pub(super) fn attach(rig: &Rig, inject: &str) -> Option<Tracer> {
        let report = rig.scratch().join("strace");
        let said = rig.scratch().join("strace.stderr");
        let database = rig.home().join("hob.db");
        let _ = std::fs::remove_file(&report);
        let injected = inject.split(':').next().unwrap_or_default();
        let traced = format!("trace=fsync,fdatasync,pwrite64,openat,{injected}");
        let mut command = Command::new("strace");
        command
            .args(["-f", "-y", "-e", &traced])
            .args(["-e", &format!("inject={inject}")])
            .arg("-P")
            .arg(&database)
            .arg("-P")
            .arg(database.with_file_name("hob.db-wal"))
            .arg("-o")
            .arg(&report)
            .args(["-p", &rig.pid().to_string()])
            .stderr(std::fs::File::create(&said).expect("a file"))
            .stdin(Stdio::null());
        let mut strace = Beside::start(&mut command).ok()?;
        let mut refused = false;
        eventually("strace attaches", || {
            refused = strace.wait(std::time::Duration::ZERO).is_some();
            refused || std::fs::read_to_string(&said).is_ok_and(|text| text.contains("attached"))
        });
        (!refused).then_some(Tracer { strace, report })
    }

    /// Lets go of the daemon and returns the lines of the report.
    pub(super) fn detach(mut self) -> Vec<String> {
        self.strace.signal(Signal::INT);
        assert!(self.strace.wait(PATIENCE).is_some(), "strace lets go");
        lines(&self.report)
    }
}

fn lines(report: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(report).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Sends one message and records its fate; false when it was refused.
pub(super) fn send_one(peer: &mut Peer, record: &mut ClientRecord, text: &str) -> bool {
    let key = idempotency_key(text);
    let params = json!({ "sessionKey": record.session, "content": text, "idempotencyKey": key });
    if let Ok(sent) = peer.call("session.send", &params).expect("an answer") {
        record.acknowledged(text, &sent);
        return true;
    }
    record.in_doubt.push(text.to_owned());
    false
}

/// Starts the daemon, and a session that is not part of what is tried.
fn start(rig: &mut Rig, session: &str) -> Peer {
    rig.start();
    let mut peer = rig.peer();
    peer.must("session.create", &json!({ "sessionKey": session }));
    peer
}

/// Sends one message after the other; returns the record and how many were refused.
fn send_in_turn(peer: &mut Peer, session: &str) -> (ClientRecord, usize) {
    let mut record = ClientRecord::new(session);
    for number in 0..MESSAGES {
        send_one(peer, &mut record, &format!("{session} message {number}"));
    }
    let refused = record.in_doubt.len();
    (record, refused)
}

/// Waits until messages are taken again, then sends once more what was refused.
fn works_again(peer: &mut Peer, record: &mut ClientRecord, probe: &str) {
    let found = audit(peer, std::slice::from_ref(record));
    assert!(found.is_clean(), "while it runs: {found}");
    let mut tries = ClientRecord::new(&record.session);
    eventually("writes work again", || send_one(peer, &mut tries, probe));
    record.acks.append(&mut tries.acks);
    settle(peer, std::slice::from_mut(record));
}

#[test]
fn f07_fsync_fails_once() {
    let trial = Trial::begin(7);
    let mut rig = Rig::new();
    let mut failures = 0;
    let mut false_acks = 0;
    let mut records = Vec::new();
    for round in 0..4 {
        let session = format!("fsync {round}");
        let mut peer = start(&mut rig, &session);
        let when = 3 + trial.randomness.below(MESSAGES as u64 / 2);
        let Some(tracer) = Tracer::attach(&rig, &format!("fsync,fdatasync:error=EIO:when={when}"))
        else {
            return trial.not_run("needs strace and the right to trace: apt-get install strace");
        };
        let (mut record, refused) = send_in_turn(&mut peer, &session);
        let seen = tracer.detach();
        let failed_at = seen.iter().position(|line| line.contains("(INJECTED)"));
        let failed_at = failed_at.expect("a sync of the store failed");
        let injected = seen
            .iter()
            .filter(|line| line.contains("(INJECTED)"))
            .count();
        failures += injected;
        false_acks += injected.saturating_sub(refused);
        assert!(
            refused >= injected,
            "round {round}: {injected} syncs failed, {refused} were refused"
        );
        assert!(
            refused <= 2 * injected,
            "round {round}: work goes on: {refused} refused"
        );
        let opened_again = seen[failed_at..]
            .iter()
            .any(|line| line.contains("openat("));
        assert!(opened_again, "round {round}: the files are opened again");
        settle(&mut peer, std::slice::from_mut(&mut record));
        rig.kill();
        records.push(record);
    }
    rig.start();
    let last = audit(&mut rig.peer(), &records);
    assert!(last.is_clean(), "after the kills: {last}");
    trial.figure("failed_syncs", failures);
    trial.figure("false_acks", false_acks);
}

#[test]
fn f08_writes_fail_short_or_interrupted() {
    let trial = Trial::begin(8);
    let mut rig = Rig::new();
    // A write past the file size limit is short, then refused; the signal that comes with it
    // would end the process and hide that.
    rig.launcher(&["env", "--ignore-signal=XFSZ"]);
    let mut records = Vec::new();
    let mut faults = 0;
    for (name, error, must_refuse) in [
        ("failed", "EIO", true),
        ("full", "ENOSPC", true),
        ("interrupted", "EINTR", false),
    ] {
        let session = format!("write {name}");
        let mut peer = start(&mut rig, &session);
        let when = 5 + trial.randomness.below(MESSAGES as u64 / 2);
        let Some(tracer) = Tracer::attach(&rig, &format!("pwrite64:error={error}:when={when}"))
        else {
            return trial.not_run("needs strace and the right to trace: apt-get install strace");
        };
        let (mut record, refused) = send_in_turn(&mut peer, &session);
        let injected = tracer
            .detach()
            .iter()
            .filter(|line| line.contains("(INJECTED)"))
            .count();
        assert!(injected > 0, "{name}: a write of the store was hit");
        faults += injected;
        assert_eq!(refused > 0, must_refuse, "{name}: {refused} refused");
        works_again(&mut peer, &mut record, "probe");
        rig.kill();
        records.push(record);
    }
    let (short, short_writes) = short_writes(&trial, &mut rig);
    faults += short_writes;
    records.push(short);
    rig.start();
    let last = audit(&mut rig.peer(), &records);
    assert!(last.is_clean(), "after the kills: {last}");
    trial.figure("faulty_writes", faults);
    trial.figure("false_acks", last.lost);
}

/// Lowers the file size limit below the end of the next write, a few times over.
fn short_writes(trial: &Trial, rig: &mut Rig) -> (ClientRecord, usize) {
    let mut peer = start(rig, "write short");
    let mut record = ClientRecord::new("write short");
    let log = rig.home().join("hob.db-wal");
    let mut hit = 0;
    for number in 0..6 {
        let bytes = log.metadata().expect("a write-ahead log").len();
        limit_file_size(rig, Some(bytes + 1 + trial.randomness.below(4_000)));
        let text = format!("write short message {number}");
        hit += usize::from(!send_one(&mut peer, &mut record, &text));
        limit_file_size(rig, None);
        works_again(&mut peer, &mut record, &format!("probe {number}"));
    }
    assert!(hit > 0, "some write was cut short");
    rig.kill();
    (record, hit)
}

fn limit_file_size(rig: &Rig, bytes: Option<u64>) {
    let pid = Pid::from_raw(i32::try_from(rig.pid()).expect("a pid")).expect("a live pid");
    let limit = Rlimit {
        current: bytes,
        maximum: None,
    };
    prlimit(Some(pid), Resource::Fsize, limit).expect("the limit of a child can be set");
}
