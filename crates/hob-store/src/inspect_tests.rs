//! What the files say before they are opened.

use super::{copy_damaged_log, inspect};
use crate::connection::sibling_path;
use crate::error::StoreError;
use crate::mark::{CommitMark, MarkClaim};

#[test]
fn a_new_home_is_fresh_and_one_that_lived_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("hob.db");
    assert!(inspect(&database, false).unwrap().is_new);
    let missing = inspect(&database, true).unwrap_err();
    assert!(matches!(missing, StoreError::Damaged { .. }), "{missing:?}");
    std::fs::write(&database, "").unwrap();
    assert!(inspect(&database, false).unwrap().is_new);
    let empty = inspect(&database, true).unwrap_err().to_string();
    assert!(
        empty.contains("hob.db") && empty.contains("backup"),
        "{empty}"
    );
    // A mark alone tells of a former life.
    let mut mark = CommitMark::open(&sibling_path(&database, ".mark")).unwrap();
    mark.raise(MarkClaim::default()).unwrap();
    inspect(&database, false).unwrap_err();
}

#[test]
fn only_so_many_copies_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("hob.db");
    std::fs::write(sibling_path(&database, "-wal"), "damaged").unwrap();
    for now_ms in 0..20 {
        copy_damaged_log(&database, now_ms);
    }
    let copies = std::fs::read_dir(folder.path()).unwrap().count() - 1;
    assert_eq!(copies, super::COPIES_MAX);
    assert_eq!(
        std::fs::read(sibling_path(&database, "-wal.damaged-3")).unwrap(),
        b"damaged"
    );
}
