//! Fault 6: the disk is full, under a real file system of eight mebibytes.

use crate::faults::ledger::{ClientRecord, audit};
use crate::faults::peer::Peer;
use crate::faults::rig::{Rig, eventually};
use crate::faults::trial::Trial;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is freed later, twice over; large enough for what waits in the write-ahead log.
const BALLAST_BYTES: usize = 5 * 1024 * 1024 / 2;
const SENTENCE: &str =
    "The disk is full; hob stopped accepting work. Free some space and it goes on by itself.";
/// Set in the copy of this test that runs inside a namespace where it may mount.
const INSIDE: &str = "HOB_FAULT_INSIDE_NAMESPACE";

/// A small file system that is unmounted whatever happens.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: &Path) -> Option<SmallDisk> {
        std::fs::create_dir_all(at).expect("a folder");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=8m,mode=700", "hob-fault"])
            .arg(at)
            .status();
        mounted
            .is_ok_and(|status| status.success())
            .then(|| SmallDisk(at.to_owned()))
    }

    /// A file that takes up room until it is removed.
    fn ballast(&self, name: &str, bytes: usize) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, vec![b'.'; bytes]).expect("room for the ballast");
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn f06_full_disk() {
    let trial = Trial::begin(6);
    let mut rig = Rig::new();
    let Some(disk) = SmallDisk::mount(rig.home()) else {
        return run_in_namespace(&trial);
    };
    let ballast = disk.ballast("ballast", BALLAST_BYTES);
    let last_ballast = disk.ballast("last ballast", BALLAST_BYTES);
    rig.start();
    let mut peer = rig.peer();
    peer.must("session.create", &json!({ "sessionKey": "full" }));
    let mut record = ClientRecord::new("full");
    let refusal = fill(&mut peer, &mut record);
    assert_eq!(refusal["code"], "OVERLOADED", "{refusal}");
    assert_eq!(refusal["message"], SENTENCE);
    assert_eq!(refusal["retryable"], true, "{refusal}");

    let while_full = audit(&mut peer, std::slice::from_ref(&record));
    assert!(while_full.is_clean(), "reads go on: {while_full}");
    let status = peer.must("daemon.status", &json!({}));
    assert_eq!(status["store"]["state"], "full", "{status}");
    assert_eq!(status["store"]["message"], SENTENCE, "{status}");

    std::fs::remove_file(&ballast).expect("space can be freed");
    let text = "after the flood";
    let resumed = eventually("work goes on by itself", || {
        let params = json!({ "sessionKey": "full", "content": text, "idempotencyKey": text });
        let answer = peer.call("session.send", &params).expect("an answer");
        answer.is_ok_and(|sent| {
            record.acknowledged(text, &sent);
            true
        })
    });
    let status = peer.must("daemon.status", &json!({}));
    assert_eq!(status["store"]["state"], "ready", "{status}");
    fill(&mut peer, &mut record);
    rig.kill();
    refuses_or_reads(&mut rig, &record);
    std::fs::remove_file(&last_ballast).expect("space can be freed");
    rig.start();
    let last = audit(&mut rig.peer(), &[record]);
    assert!(last.is_clean(), "after a kill: {last}");
    trial.figure("lost_acks", format_args!("{}/{}", last.lost, last.acks));
    trial.figure("resume_ms", resumed.as_millis());
    rig.kill();
}

/// Starts on a full disk. A daemon that cannot record its own start says why and leaves; one that
/// can shows all there is.
fn refuses_or_reads(rig: &mut Rig, record: &ClientRecord) {
    match rig.try_start() {
        Ok(_) => {
            let found = audit(&mut rig.peer(), std::slice::from_ref(record));
            assert!(found.is_clean(), "started on a full disk: {found}");
            rig.kill();
        }
        Err(ended) => {
            assert!(ended.status.code().is_some(), "politely: {}", ended.status);
            let said = &ended.stderr;
            assert!(said.contains("The disk is full"), "it says why: {said}");
            assert!(said.contains("start it again"), "and what to do: {said}");
        }
    }
}

/// Sends until the disk is full; returns the refusal. Texts of two sizes, so that both rows and
/// blobs meet the end of the disk.
fn fill(peer: &mut Peer, record: &mut ClientRecord) -> Value {
    let begun = record.acks.len();
    for number in begun..begun + 4_000 {
        let size = if number % 16 == 0 { 100_000 } else { 8_000 };
        let text = format!("{number} {}", "x".repeat(size));
        let params =
            json!({ "sessionKey": "full", "content": text, "idempotencyKey": format!("{number}") });
        match peer
            .call("session.send", &params)
            .expect("an answer, even from a full disk")
        {
            Ok(sent) => record.acknowledged(&text, &sent),
            Err(error) => {
                record.in_doubt.push(text);
                return error;
            }
        }
    }
    panic!("eight mebibytes took more than they hold");
}

/// Runs this very test where an ordinary user may mount; says so where nobody may.
fn run_in_namespace(trial: &Trial) {
    if std::env::var_os(INSIDE).is_some() {
        return trial.not_run("a tmpfs can be mounted neither here nor in a namespace");
    }
    let program = std::env::current_exe().expect("this test's program");
    let inner = Command::new("unshare")
        .args(["--map-root-user", "--mount"])
        .arg(program)
        .args([
            "--exact",
            "faults::durability::space::f06_full_disk",
            "--nocapture",
        ])
        .env(INSIDE, "1")
        .status();
    match inner {
        Ok(status) => assert!(status.success(), "in its own namespace: {status}"),
        Err(error) => trial.not_run(&format!("neither mount nor unshare works here: {error}")),
    }
}
