//! The log stays bounded while work keeps coming, and is emptied when it rests.

use super::{Disk, FRAMES_MAX, RETRY_FRAMES, open_mark};
use crate::connection::{WriterConnection, beside, open_reader};
use crate::mark::Mark;
use std::path::Path;

fn open(path: &Path) -> Disk {
    std::fs::write(path, "").unwrap();
    let mut connection = WriterConnection::open(path).unwrap();
    connection.prepare().unwrap();
    connection
        .sql
        .execute_batch("CREATE TABLE t (fill BLOB)")
        .unwrap();
    Disk::new(path, Some(connection), open_mark(path).unwrap())
}

/// Commits about a mebibyte, and takes note of it.
fn write(disk: &mut Disk) {
    let open = disk.connection().unwrap();
    open.sql
        .execute("INSERT INTO t VALUES (zeroblob(1000000))", [])
        .unwrap();
    disk.committed(1, 0);
}

fn frames(disk: &Disk) -> u64 {
    disk.connection().unwrap().frames()
}

#[test]
fn under_load_the_log_begins_anew_in_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    let mut disk = open(&path);
    while !disk.wants_checkpoint() {
        write(&mut disk);
    }
    assert!(frames(&disk) >= FRAMES_MAX);
    disk.checkpoint_in_passing().unwrap();
    let length = beside(&path, "-wal").metadata().unwrap().len();
    write(&mut disk);
    assert!(frames(&disk) < 1_000, "{} frames", frames(&disk));
    assert!(!disk.wants_checkpoint());
    let wal = beside(&path, "-wal");
    assert_eq!(wal.metadata().unwrap().len(), length, "its file is reused");
    assert_eq!(
        Mark::read(&beside(&path, ".mark"))
            .unwrap()
            .claim()
            .unwrap()
            .frames,
        frames(&disk)
    );
    assert!(disk.checkpoint().unwrap());
    assert_eq!(wal.metadata().unwrap().len(), 0);
    assert!(!disk.has_frames());
}

#[test]
fn a_reader_in_the_way_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    let mut disk = open(&path);
    write(&mut disk);
    let reader = open_reader(&path).unwrap();
    reader
        .execute_batch("BEGIN; SELECT count(*) FROM t")
        .unwrap();
    while !disk.wants_checkpoint() {
        write(&mut disk);
    }
    disk.checkpoint_in_passing().unwrap();
    write(&mut disk);
    let grown = frames(&disk);
    assert!(grown > FRAMES_MAX, "the reader's snapshot is kept");
    assert!(!disk.wants_checkpoint(), "and not asked for at each commit");
    reader.execute_batch("ROLLBACK").unwrap();
    while !disk.wants_checkpoint() {
        write(&mut disk);
    }
    assert!(frames(&disk) <= grown + 2 * RETRY_FRAMES);
    disk.checkpoint_in_passing().unwrap();
    write(&mut disk);
    assert!(frames(&disk) < 1_000, "{} frames", frames(&disk));
}
