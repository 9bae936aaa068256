//! The scan agrees with what SQLite keeps, whatever happened to the log.

use super::{WalEnd, WalScan, scan};
use crate::connection::{WriterConnection, sibling_path};
use hob_kit::randomness::Randomness;
use rusqlite::wal::CheckpointMode;
use std::path::{Path, PathBuf};

const TRANSACTIONS: usize = 30;
const FRAME_BYTES: u64 = 24 + 4_096;

/// A log of some transactions of several frames each, as a killed process leaves it.
struct Sample {
    folder: tempfile::TempDir,
    database: Vec<u8>,
    log: Vec<u8>,
    /// Frames after each transaction.
    commits: Vec<u64>,
}

impl Sample {
    fn new(rounds: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sample.db");
        std::fs::write(&path, "").unwrap();
        let mut open = WriterConnection::open(&path).unwrap();
        open.prepare().unwrap();
        open.sql
            .execute_batch("CREATE TABLE t (number INTEGER PRIMARY KEY, fill BLOB)")
            .unwrap();
        let mut commits = Vec::new();
        let mut number = 0;
        for round in 1..=rounds {
            // The last round is the shortest, so that leftovers of the earlier ones follow it.
            let transactions = TRANSACTIONS * (rounds - round + 1);
            open.sql
                .wal_checkpoint_v2(None::<&str>, CheckpointMode::RESTART)
                .unwrap();
            commits.clear();
            for _ in 0..transactions {
                number += 1;
                open.sql
                    .execute(
                        "INSERT INTO t VALUES (?1, randomblob(abs(random()) % 12000))",
                        [number],
                    )
                    .unwrap();
                commits.push(open.frames());
            }
        }
        Sample {
            database: std::fs::read(&path).unwrap(),
            log: std::fs::read(sibling_path(&path, "-wal")).unwrap(),
            folder,
            commits,
        }
    }

    /// Scans `log`, and counts the transactions that SQLite keeps of it.
    fn try_log(&self, log: &[u8]) -> (WalScan, usize) {
        let path: PathBuf = self.folder.path().join("tried.db");
        for suffix in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(sibling_path(&path, suffix));
        }
        std::fs::write(&path, &self.database).unwrap();
        std::fs::write(sibling_path(&path, "-wal"), log).unwrap();
        let scanned = scan(&sibling_path(&path, "-wal")).unwrap();
        (scanned, rows(&path) - self.rows_before())
    }

    /// Rows that are in the database file itself.
    fn rows_before(&self) -> usize {
        let path = self.folder.path().join("bare.db");
        std::fs::write(&path, &self.database).unwrap();
        rows(&path)
    }

    fn transactions_within(&self, frames: u64) -> usize {
        self.commits.iter().filter(|end| **end <= frames).count()
    }
}

fn rows(path: &Path) -> usize {
    let open = WriterConnection::open(path).unwrap();
    let count: i64 = open
        .sql
        .query_row("SELECT count(*) FROM t", [], |row| row.get(0))
        .unwrap();
    usize::try_from(count).unwrap()
}

#[test]
fn a_missing_and_an_empty_log_are_clean() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x-wal");
    assert_eq!(scan(&path).unwrap(), WalScan::empty());
    std::fs::write(&path, "").unwrap();
    assert_eq!(scan(&path).unwrap(), WalScan::empty());
}

#[test]
fn a_whole_log_is_clean_with_and_without_leftovers() {
    for rounds in [1, 3] {
        let sample = Sample::new(rounds);
        let (scanned, kept) = sample.try_log(&sample.log);
        assert_eq!(scanned.end, WalEnd::Clean, "{rounds} rounds");
        assert_eq!(Some(&scanned.kept_frames), sample.commits.last());
        assert_eq!(kept, sample.commits.len());
        let frames = (sample.log.len() as u64 - 32) / FRAME_BYTES;
        assert_eq!(frames > scanned.kept_frames, rounds > 1, "leftovers");
    }
}

#[test]
fn cut_anywhere_it_keeps_what_sqlite_keeps() {
    let sample = Sample::new(1);
    let mut dice_cuts = vec![1, 31, 32, 33, 32 + 24, 32 + 25];
    let last = sample.log.len() as u64;
    let randomness = Randomness::seeded(4);
    dice_cuts.extend((0..150).map(|_| randomness.below(last)));
    for cut in dice_cuts {
        let (scanned, kept) = sample.try_log(&sample.log[..usize::try_from(cut).unwrap()]);
        assert_eq!(
            kept,
            sample.transactions_within(scanned.kept_frames),
            "cut at {cut}"
        );
        let at_commit = cut == 32
            || sample
                .commits
                .iter()
                .any(|end| 32 + end * FRAME_BYTES == cut);
        match scanned.end {
            WalEnd::Clean => assert!(at_commit, "cut at {cut}"),
            WalEnd::Unfinished { .. } => assert!(!at_commit, "cut at {cut}"),
            other => panic!("cut at {cut}: {other:?}"),
        }
    }
}

#[test]
fn damaged_anywhere_it_keeps_what_sqlite_keeps_and_says_so() {
    let sample = Sample::new(1);
    let seed = std::process::id().into();
    let randomness = Randomness::seeded(seed);
    for turn in 0..300 {
        let place = format!("seed {seed}, turn {turn}");
        let mut log = sample.log.clone();
        let at = usize::try_from(randomness.below(log.len() as u64)).unwrap();
        if turn % 2 == 0 {
            log[at] ^= 1 << randomness.below(8);
        } else {
            let end = (at + 1 + usize::try_from(randomness.below(9_000)).unwrap()).min(log.len());
            log[at..end].fill(0);
        }
        // Zeros over zeros change nothing.
        let changed = (0..log.len()).find(|at| log[*at] != sample.log[*at]);
        let Some(at) = changed else {
            continue;
        };
        let (scanned, kept) = sample.try_log(&log);
        assert_eq!(
            kept,
            sample.transactions_within(scanned.kept_frames),
            "{place}: {scanned:?}"
        );
        let lost = sample.commits.len() - kept;
        match scanned.end {
            WalEnd::Clean | WalEnd::Unfinished { .. } => {
                assert_eq!(lost, 0, "{place}: {scanned:?}");
            }
            WalEnd::Torn { offset } => {
                assert!(
                    lost <= 1 || turn % 2 == 1,
                    "{place}: {scanned:?} lost {lost}"
                );
                assert!(offset <= at as u64, "{place}");
            }
            WalEnd::Damaged {
                offset,
                transactions,
                ..
            } => {
                assert!(
                    transactions <= lost as u64,
                    "{place}: {scanned:?} lost {lost}"
                );
                assert!(lost >= 1, "{place}");
                assert!(offset <= at as u64, "{place}");
            }
            WalEnd::NoHeader => assert!(at < 32, "{place}"),
        }
    }
}

#[test]
fn a_flip_in_leftovers_is_nobodys_loss() {
    let sample = Sample::new(2);
    let end = 32 + sample.commits.last().unwrap() * FRAME_BYTES;
    let at = usize::try_from(end).unwrap() + 5_000;
    let mut log = sample.log.clone();
    log[at] ^= 0x10;
    let (scanned, kept) = sample.try_log(&log);
    assert_eq!(scanned.end, WalEnd::Clean);
    assert_eq!(kept, sample.commits.len());
}
