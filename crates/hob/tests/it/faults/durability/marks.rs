//! Fault 4, variants: the mark is missing or damaged, with and without the log; or another program
//! took the log into the database.

use super::torn_log::restore;
use crate::faults::rig::Rig;
use crate::faults::trial::Trial;
use serde_json::json;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const MESSAGES: usize = 50;

/// What is done to a file of a killed daemon.
#[derive(Clone, Copy, Debug)]
enum Harm {
    None,
    Removed,
    Cut,
    Noise,
}

/// A home whose acknowledged messages are in the write-ahead log only, and a copy of it.
fn leave_behind(rig: &mut Rig) -> PathBuf {
    rig.start();
    rig.peer()
        .must("session.create", &json!({ "sessionKey": "s" }));
    rig.stop();
    rig.start();
    let mut peer = rig.peer();
    for number in 0..MESSAGES {
        let params = json!({ "sessionKey": "s", "content": format!("message {number}") });
        peer.must("session.send", &params);
    }
    rig.kill();
    let folder = rig.scratch().join("remains");
    restore(rig.home(), &folder);
    folder
}

fn harm(rig: &Rig, name: &str, harm: Harm) {
    let file = rig.home().join(name);
    let bytes = std::fs::read(&file).expect("a file of the store");
    match harm {
        Harm::None => {}
        Harm::Removed => std::fs::remove_file(&file).expect("it can be removed"),
        Harm::Cut => std::fs::write(&file, &bytes[..bytes.len() / 2]).expect("it can be cut"),
        Harm::Noise => std::fs::write(&file, vec![0xEE; bytes.len()]).expect("it can be spoilt"),
    }
}

#[test]
fn f04_mark_missing_or_damaged() {
    let trial = Trial::begin(4);
    let mut rig = Rig::new();
    let remains = leave_behind(&mut rig);
    let mut silent = 0;
    let cases = [
        (Harm::Removed, Harm::None),
        (Harm::Cut, Harm::None),
        (Harm::Noise, Harm::None),
        (Harm::Removed, Harm::Removed),
        (Harm::Noise, Harm::Removed),
        (Harm::Removed, Harm::Cut),
        (Harm::Noise, Harm::Cut),
        (Harm::None, Harm::Removed),
        (Harm::None, Harm::Cut),
    ];
    for (mark, log) in cases {
        let case = format!("mark {mark:?}, log {log:?}");
        restore(&remains, rig.home());
        harm(&rig, "hob.db.mark", mark);
        harm(&rig, "hob.db-wal", log);
        rig.start();
        let mut peer = rig.peer();
        let kept = peer.export("s").len();
        let status = peer.must("daemon.status", &json!({}));
        let findings = status["store"]["findings"].as_array().expect("a list");
        let text = findings
            .iter()
            .filter_map(|finding| finding.as_str())
            .collect::<String>();
        silent += usize::from(text.is_empty());
        assert!(!text.is_empty(), "{case}: {kept} kept, and nothing is said");
        assert_eq!(
            status["store"]["losses"], status["store"]["findings"],
            "{case}: acknowledged writes may be lost"
        );
        let denies = [
            "never acknowledged",
            "no acknowledged write",
            "othing is lost.",
        ];
        for denial in denies {
            assert!(!text.contains(denial), "{case}: {text}");
        }
        match mark {
            // The mark knows what was acknowledged: the session and the messages.
            Harm::None => {
                let lost = format!("events {} to {} are lost", kept + 2, MESSAGES + 1);
                assert!(text.contains(&lost), "{case}: {text}");
            }
            _ => assert!(text.contains("hob.db.mark"), "{case}: {text}"),
        }
        let log = std::fs::read_to_string(rig.home().join("logs/hob.log")).unwrap_or_default();
        assert!(log.contains("hob.db"), "{case}: the log tells as well");
        rig.kill();
    }
    trial.figure("losses_untold", silent);
}

/// Reads the database as any other program would. The last one to close it takes the log in.
fn read_with_python(rig: &Rig) -> bool {
    let program = "import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute('select count(*) from sqlite_master').fetchone()
connection.close()";
    Command::new("python3")
        .args(["-c", program])
        .arg(rig.home().join("hob.db"))
        .stdin(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

#[test]
fn f04_log_taken_in_by_another_program() {
    let trial = Trial::begin(4);
    let mut rig = Rig::new();
    leave_behind(&mut rig);
    let log = rig.home().join("hob.db-wal");
    assert!(log.exists(), "the log outlives a kill");
    if !read_with_python(&rig) {
        return trial.not_run("needs python3 with its sqlite3 module");
    }
    assert!(!log.exists(), "the log was taken in");
    rig.start();
    let mut peer = rig.peer();
    assert_eq!(peer.export("s").len(), MESSAGES);
    let status = peer.must("daemon.status", &json!({}));
    assert_eq!(status["store"]["losses"], json!([]), "{status}");
    trial.figure("false_losses", 0);
}
