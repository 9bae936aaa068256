//! What the files say, before and beside what the mark claims.

use super::{Finding, inspect, judge, keep_copy};
use crate::connection::beside;
use crate::error::StoreError;
use crate::mark::{Claim, Mark};
use crate::wal::{End, Scan};
use std::path::Path;

fn found(end: End, kept_frames: u64, claimed: Option<u64>) -> Option<Finding> {
    let scan = Scan {
        bytes: 100_000,
        kept_frames,
        end,
    };
    let claim = claimed.map(|frames| Claim {
        frames,
        ..Claim::default()
    });
    judge(Path::new("/h/hob.db-wal"), &scan, claim)
}

fn is_loss(finding: Option<Finding>) -> Option<bool> {
    finding.map(|finding| finding.is_loss)
}

#[test]
fn the_mark_settles_what_the_log_cannot_tell() {
    let torn = End::Torn { offset: 4_152 };
    let cut = End::Unfinished { offset: 4_152 };
    assert_eq!(is_loss(found(End::Clean, 9, Some(9))), None);
    assert_eq!(is_loss(found(End::Clean, 9, None)), None);
    assert_eq!(is_loss(found(End::Clean, 8, Some(9))), Some(true));
    assert_eq!(is_loss(found(cut.clone(), 9, Some(9))), Some(false));
    assert_eq!(is_loss(found(cut, 8, Some(9))), Some(true));
    assert_eq!(is_loss(found(torn.clone(), 9, Some(9))), Some(false));
    assert_eq!(is_loss(found(torn.clone(), 8, Some(9))), Some(true));
    assert_eq!(is_loss(found(torn, 9, None)), Some(true));
    assert_eq!(is_loss(found(End::NoHeader, 0, None)), Some(true));
}

#[test]
fn a_loss_names_file_place_and_count() {
    let damage = End::Damaged {
        offset: 98_920,
        frames: 41,
        transactions: 12,
    };
    let text = found(damage.clone(), 5, None).unwrap().text;
    for part in ["/h/hob.db-wal", "98920", "41 frames", "12 transactions"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let text = found(damage, 5, Some(50)).unwrap().text;
    for part in ["/h/hob.db-wal", "98920", "45 of 50"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_new_home_is_fresh_and_one_that_lived_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("hob.db");
    assert!(inspect(&database, false).unwrap().fresh);
    let missing = inspect(&database, true).unwrap_err();
    assert!(matches!(missing, StoreError::Damaged { .. }), "{missing:?}");
    std::fs::write(&database, "").unwrap();
    assert!(inspect(&database, false).unwrap().fresh);
    let empty = inspect(&database, true).unwrap_err().to_string();
    assert!(
        empty.contains("hob.db") && empty.contains("backup"),
        "{empty}"
    );
    // A mark alone tells of a former life.
    let mut mark = Mark::open(&beside(&database, ".mark")).unwrap();
    mark.raise(Claim::default()).unwrap();
    inspect(&database, false).unwrap_err();
}

#[test]
fn only_so_many_copies_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("hob.db");
    std::fs::write(beside(&database, "-wal"), "damaged").unwrap();
    for now_ms in 0..20 {
        keep_copy(&database, now_ms);
    }
    let copies = std::fs::read_dir(folder.path()).unwrap().count() - 1;
    assert_eq!(copies, super::COPIES_MAX);
    assert_eq!(
        std::fs::read(beside(&database, "-wal.damaged-3")).unwrap(),
        b"damaged"
    );
}
