//! The log stays bounded while work keeps coming, and is emptied when it rests.

use super::{FRAMES_MAX, RETRY_FRAMES, WriterDatabase, open_mark};
use crate::connection::{WriterConnection, open_reader, sibling_path};
use crate::mark::CommitMark;
use std::path::Path;

fn open(path: &Path) -> WriterDatabase {
    std::fs::write(path, "").unwrap();
    let mut connection = WriterConnection::open(path).unwrap();
    connection.prepare().unwrap();
    connection
        .sql
        .execute_batch("CREATE TABLE t (fill BLOB)")
        .unwrap();
    WriterDatabase::new(path, Some(connection), open_mark(path).unwrap())
}

/// Commits about a mebibyte, and takes note of it.
fn write(disk: &mut WriterDatabase) {
    let open = disk.connection().unwrap();
    open.sql
        .execute("INSERT INTO t VALUES (zeroblob(1000000))", [])
        .unwrap();
    disk.note_commit(1, 0);
}

fn frames(disk: &WriterDatabase) -> u64 {
    disk.connection().unwrap().frames()
}

#[test]
fn under_load_the_log_begins_anew_in_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    let mut disk = open(&path);
    while !disk.needs_checkpoint() {
        write(&mut disk);
    }
    assert!(frames(&disk) >= FRAMES_MAX);
    disk.checkpoint_log().unwrap();
    let length = sibling_path(&path, "-wal").metadata().unwrap().len();
    write(&mut disk);
    assert!(frames(&disk) < 1_000, "{} frames", frames(&disk));
    assert!(!disk.needs_checkpoint());
    let wal = sibling_path(&path, "-wal");
    assert_eq!(wal.metadata().unwrap().len(), length, "its file is reused");
    assert_eq!(
        CommitMark::read(&sibling_path(&path, ".mark"))
            .unwrap()
            .claim()
            .unwrap()
            .frames,
        frames(&disk)
    );
    assert!(disk.truncate_log().unwrap());
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
    while !disk.needs_checkpoint() {
        write(&mut disk);
    }
    disk.checkpoint_log().unwrap();
    write(&mut disk);
    let grown = frames(&disk);
    assert!(grown > FRAMES_MAX, "the reader's snapshot is kept");
    assert!(!disk.needs_checkpoint(), "and not asked for at each commit");
    reader.execute_batch("ROLLBACK").unwrap();
    while !disk.needs_checkpoint() {
        write(&mut disk);
    }
    assert!(frames(&disk) <= grown + 2 * RETRY_FRAMES);
    disk.checkpoint_log().unwrap();
    write(&mut disk);
    assert!(frames(&disk) < 1_000, "{} frames", frames(&disk));
}
