//! Fault 4: the write-ahead log is cut, zeroed or flipped at random places.

use crate::faults::rig::Rig;
use crate::faults::trial::Trial;
use serde_json::json;
use std::path::{Path, PathBuf};

const MESSAGES: usize = 40;
const TRIES: usize = 24;
/// The head of a write-ahead log.
const LOG_HEAD: u64 = 32;

/// What a daemon left behind when it was killed: its files, and the size of the log after each ack.
struct Remains {
    folder: PathBuf,
    log_bytes_at: Vec<u64>,
    log_bytes: u64,
}

#[derive(Debug)]
enum Damage {
    Cut(u64),
    Zero(u64, u64),
    Flip(u64, u8),
}

#[test]
fn f04_torn_write_ahead_log() {
    let trial = Trial::begin(4);
    let mut rig = Rig::new();
    let remains = leave_behind(&mut rig);
    let mut kept_total = 0;
    for damage in damages(&trial, &remains) {
        restore(&remains.folder, rig.home());
        apply(&rig.home().join("hob.db-wal"), &damage);
        kept_total += survive(&mut rig, &remains, &damage);
    }
    trial.figure("offsets_tried", TRIES);
    trial.figure("bad_opens", 0);
    trial.figure(
        "acks_kept",
        format_args!("{kept_total}/{}", TRIES * MESSAGES),
    );
}

/// Lives once to its clean end, so that the session itself is in the database, and once more to a
/// kill, so that its messages are in the log only.
fn leave_behind(rig: &mut Rig) -> Remains {
    rig.start();
    rig.peer()
        .must("session.create", &json!({ "sessionKey": "torn" }));
    rig.stop();
    rig.start();
    let mut peer = rig.peer();
    let log = rig.home().join("hob.db-wal");
    let mut log_bytes_at = Vec::new();
    for number in 0..MESSAGES {
        let text = format!("torn {number}");
        peer.must(
            "session.send",
            &json!({ "sessionKey": "torn", "content": text }),
        );
        log_bytes_at.push(log.metadata().expect("a write-ahead log").len());
    }
    rig.kill();
    let folder = rig.scratch().join("remains");
    restore(rig.home(), &folder);
    let remains = folder.join("hob.db-wal").metadata();
    let log_bytes = remains.expect("the log outlives a kill").len();
    assert!(
        log_bytes_at.is_sorted_by(|one, next| one < next),
        "the log only grew: {log_bytes_at:?}"
    );
    Remains {
        folder,
        log_bytes_at,
        log_bytes,
    }
}

/// The ends of the log and of its acknowledged parts first, then anywhere.
fn damages(trial: &Trial, remains: &Remains) -> Vec<Damage> {
    let randomness = &trial.randomness;
    let mut damages = vec![
        Damage::Cut(0),
        Damage::Cut(LOG_HEAD),
        Damage::Cut(remains.log_bytes_at[MESSAGES / 2]),
        Damage::Flip(randomness.below(LOG_HEAD), 1),
        Damage::Zero(0, LOG_HEAD),
        Damage::Zero(0, remains.log_bytes),
    ];
    while damages.len() < TRIES {
        let offset = randomness.below(remains.log_bytes);
        damages.push(match randomness.below(3) {
            0 => Damage::Cut(offset),
            1 => Damage::Zero(offset, 1 + randomness.below(8192)),
            _ => Damage::Flip(offset, 1 << randomness.below(8)),
        });
    }
    damages
}

fn apply(log: &Path, damage: &Damage) {
    let mut bytes = std::fs::read(log).expect("the log");
    match *damage {
        Damage::Cut(offset) => bytes.truncate(place(offset)),
        Damage::Zero(offset, length) => {
            let end = place(offset + length).min(bytes.len());
            bytes[place(offset)..end].fill(0);
        }
        Damage::Flip(offset, bit) => bytes[place(offset)] ^= bit,
    }
    std::fs::write(log, bytes).expect("the log can be written");
}

fn place(offset: u64) -> usize {
    usize::try_from(offset).expect("a log that fits in memory")
}

/// Starts on the damaged log: what was whole before the damage is there, the loss is told, and the
/// house goes on. Returns how many messages were kept.
fn survive(rig: &mut Rig, remains: &Remains, damage: &Damage) -> u64 {
    let (Damage::Cut(offset) | Damage::Zero(offset, _) | Damage::Flip(offset, _)) = *damage;
    let whole_before = remains
        .log_bytes_at
        .iter()
        .filter(|&&bytes| bytes <= offset)
        .count();
    rig.start();
    let mut peer = rig.peer();
    let kept = peer.export("torn");
    for (number, message) in kept.iter().enumerate() {
        assert_eq!(
            message["content"],
            format!("torn {number}"),
            "{damage:?}: a prefix is kept"
        );
    }
    assert!(
        kept.len() >= whole_before,
        "{damage:?}: {} of {whole_before} kept",
        kept.len()
    );
    let status = peer.must("daemon.status", &json!({}));
    if kept.len() < MESSAGES {
        let findings = status["store"]["findings"].as_array().expect("a list");
        assert!(
            !findings.is_empty(),
            "{damage:?}: a loss that nobody is told: {status}"
        );
    }
    let sent = peer.must(
        "session.send",
        &json!({ "sessionKey": "torn", "content": "after" }),
    );
    assert_eq!(sent["seq"], kept.len() as u64 + 1);
    rig.kill();
    rig.start();
    assert_eq!(
        rig.peer().export("torn").len(),
        kept.len() + 1,
        "{damage:?}: after one more restart"
    );
    rig.kill();
    kept.len() as u64
}

/// Makes `to` the same as `from`: the store's files and the owner's token, nothing stale.
pub(super) fn restore(from: &Path, to: &Path) {
    let _ = std::fs::remove_dir_all(to);
    copy_folder(from, to);
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a readable folder") {
        let entry = entry.expect("a readable entry");
        let kind = entry.file_type().expect("a kind of file");
        let target = to.join(entry.file_name());
        if kind.is_dir() {
            copy_folder(&entry.path(), &target);
        } else if kind.is_file() && !entry.file_name().to_string_lossy().ends_with("-shm") {
            std::fs::copy(entry.path(), target).expect("a copy");
        }
    }
}
