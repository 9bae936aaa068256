//! A file is replaced atomically, with private mode, and at the target of a link.

use super::*;
use std::os::unix::fs::{PermissionsExt, symlink};

#[test]
fn both_ways_replace_the_whole_file_privately() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a.txt");
    for write in [replace, replace_unsynced] {
        std::fs::write(&path, "something longer than the new text").expect("writes");
        write(&path, b"new").expect("replaces");
        assert_eq!(std::fs::read(&path).expect("reads"), b"new");
        let mode = std::fs::metadata(&path)
            .expect("exists")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let left = std::fs::read_dir(directory.path()).expect("reads").count();
    assert_eq!(left, 1, "no draft is left");
}

#[test]
fn a_link_stays_a_link() {
    let directory = tempfile::tempdir().expect("a directory");
    let kept = directory.path().join("dotfiles");
    std::fs::create_dir(&kept).expect("makes it");
    std::fs::write(kept.join("real.toml"), "old").expect("writes");
    let link = directory.path().join("config.toml");
    symlink(kept.join("real.toml"), &link).expect("links");
    replace(&link, b"new").expect("replaces");
    assert!(
        std::fs::symlink_metadata(&link)
            .expect("exists")
            .is_symlink()
    );
    assert_eq!(
        std::fs::read(kept.join("real.toml")).expect("reads"),
        b"new"
    );
}

#[test]
fn a_failure_leaves_the_old_file_and_no_draft() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("taken");
    std::fs::create_dir(&path).expect("makes it");
    assert!(
        replace(&path, b"new").is_err(),
        "a directory is not replaced"
    );
    assert!(path.is_dir());
    assert_eq!(
        std::fs::read_dir(directory.path()).expect("reads").count(),
        1
    );
}

#[test]
fn a_draft_appears_when_it_is_finished_and_leaves_nothing_else() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("copy.jsonl");
    let names = || {
        let entries = std::fs::read_dir(directory.path()).expect("reads");
        entries.count()
    };
    let mut dropped = AtomicFileWriter::create(&path).expect("creates");
    dropped.write_all(b"half").expect("writes");
    assert!(!path.exists());
    drop(dropped);
    assert_eq!(names(), 0);
    let mut draft = AtomicFileWriter::create(&path).expect("creates");
    draft.write_all(b"one\n").expect("writes");
    draft.write_all(b"two\n").expect("writes");
    draft.finish().expect("finishes");
    assert_eq!(std::fs::read(&path).expect("reads"), b"one\ntwo\n");
    assert_eq!(names(), 1);
    assert!(
        AtomicFileWriter::create(Path::new("/dev/null")).is_err(),
        "no device"
    );
}
