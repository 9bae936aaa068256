//! Fault 6: the disk is full, under a real file system of eight mebibytes.

use crate::faults::ledger::{ClientRecord, audit};
use crate::faults::peer::Peer;
use crate::faults::rig::{Rig, eventually};
use crate::faults::trial::Trial;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is freed later; large enough that the database grows before the disk is full.
const BALLAST_BYTES: usize = 3 * 1024 * 1024;
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
    let ballast = disk.0.join("ballast");
    std::fs::write(&ballast, vec![b'.'; BALLAST_BYTES]).expect("room for the ballast");
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
    rig.kill();
    rig.start();
    let last = audit(&mut rig.peer(), &[record]);
    assert!(last.is_clean(), "after a kill: {last}");
    trial.figure("lost_acks", format_args!("{}/{}", last.lost, last.acks));
    trial.figure("resume_ms", resumed.as_millis());
    rig.kill();
}

/// Sends until the disk is full; returns the refusal. Texts of two sizes, so that both rows and
/// blobs meet the end of the disk.
fn fill(peer: &mut Peer, record: &mut ClientRecord) -> Value {
    for number in 0..4_000 {
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
