//! What may be said about the files, for each combination of mark, log and database.

use super::{DatabasePosition, FileEvidence, StartupFinding, WriteLoss, assess};
use crate::mark::{MarkClaim, MarkState};
use crate::wal::{WalEnd, WalScan};
use std::path::Path;

const CLAIM: MarkClaim = MarkClaim {
    epoch: 2,
    frames: 9,
    seq: 50,
    closed: false,
    silent_commits: Some(4),
};

const HELD: DatabasePosition = DatabasePosition {
    epoch: 2,
    seq: 50,
    silent_commits: 4,
};

const CUT: WalEnd = WalEnd::Unfinished { offset: 4_152 };
const TORN: WalEnd = WalEnd::Torn { offset: 4_152 };

fn found(
    mark: MarkState,
    log: (u64, WalEnd),
    held: Option<DatabasePosition>,
) -> Option<StartupFinding> {
    found_in(true, mark, log, held)
}

fn found_in(
    had_database: bool,
    mark: MarkState,
    (kept_frames, end): (u64, WalEnd),
    held: Option<DatabasePosition>,
) -> Option<StartupFinding> {
    let bytes = if kept_frames == 0 && end == WalEnd::Clean {
        0
    } else {
        100_000
    };
    let findings = assess(&FileEvidence {
        database: Path::new("/h/hob.db"),
        had_database,
        mark,
        log: &WalScan {
            bytes,
            kept_frames,
            end,
        },
        held,
    });
    assert!(findings.len() <= 1, "{findings:?}");
    findings.into_iter().next()
}

fn loss(finding: Option<StartupFinding>) -> Option<WriteLoss> {
    finding.map(|finding| finding.loss)
}

fn held(seq: u64, silent_commits: u64) -> DatabasePosition {
    DatabasePosition {
        seq,
        silent_commits,
        ..HELD
    }
}

#[test]
fn the_mark_settles_what_the_log_cannot_tell() {
    let whole = MarkState::Whole(CLAIM);
    assert_eq!(found(whole, (9, WalEnd::Clean), Some(HELD)), None);
    assert_eq!(
        loss(found(whole, (9, CUT), Some(HELD))),
        Some(WriteLoss::None)
    );
    assert_eq!(
        loss(found(whole, (9, TORN), Some(HELD))),
        Some(WriteLoss::None)
    );
    let behind = Some(held(49, 4));
    assert_eq!(
        loss(found(whole, (8, CUT), behind)),
        Some(WriteLoss::Certain)
    );
    let text = found(whole, (8, TORN), Some(held(23, 1))).unwrap().text;
    for part in ["/h/hob.db", "events 24 to 50 are lost", "byte 4152"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Writes without an event are counted, too.
    let text = found(whole, (8, CUT), Some(held(50, 2))).unwrap();
    assert_eq!(text.loss, WriteLoss::Certain);
    assert!(text.text.contains("last 2 acknowledged"), "{text:?}");
}

#[test]
fn a_log_that_another_program_brought_into_the_database_is_no_loss() {
    let whole = MarkState::Whole(CLAIM);
    let finding = found(whole, (0, WalEnd::Clean), Some(HELD)).unwrap();
    assert_eq!(finding.loss, WriteLoss::None);
    assert!(finding.text.contains("Nothing is lost"), "{finding:?}");
    // A mark of an older version cannot tell of writes without an event.
    let older = MarkState::Whole(MarkClaim {
        silent_commits: None,
        ..CLAIM
    });
    let finding = found(older, (0, WalEnd::Clean), Some(HELD)).unwrap();
    assert_eq!(finding.loss, WriteLoss::Possible);
}

#[test]
fn an_older_copy_is_noticed_even_after_an_orderly_end() {
    let closed = MarkState::Whole(MarkClaim {
        closed: true,
        frames: 0,
        ..CLAIM
    });
    assert_eq!(found(closed, (0, WalEnd::Clean), Some(HELD)), None);
    let finding = found(closed, (0, WalEnd::Clean), Some(held(30, 4))).unwrap();
    assert_eq!(finding.loss, WriteLoss::Certain);
    assert!(finding.text.contains("older copy"), "{finding:?}");
}

#[test]
fn without_a_mark_nothing_is_called_unacknowledged() {
    for mark in [MarkState::Missing, MarkState::Damaged] {
        for end in [WalEnd::Clean, CUT, TORN, WalEnd::NoHeader] {
            for kept in [0, 9] {
                let finding = found(mark, (kept, end.clone()), Some(HELD)).unwrap();
                assert!(finding.loss >= WriteLoss::Possible, "{finding:?}");
                assert!(finding.text.contains("/h/hob.db.mark"), "{finding:?}");
                assert!(!finding.text.contains("never ack"), "{finding:?}");
                assert!(!finding.text.contains("othing is lost."), "{finding:?}");
            }
        }
    }
    let text = found(MarkState::Missing, (0, WalEnd::Clean), Some(HELD))
        .unwrap()
        .text;
    assert!(text.contains("up to event 50"), "{text}");
}

#[test]
fn a_home_that_never_had_a_mark_is_not_told_of_one() {
    let first = DatabasePosition {
        epoch: 1,
        seq: 0,
        silent_commits: 0,
    };
    for mark in [MarkState::Missing, MarkState::Damaged] {
        assert_eq!(found_in(false, mark, (0, WalEnd::Clean), Some(first)), None);
        // The database tells of a former life although the lock file is gone.
        assert!(found_in(false, mark, (0, WalEnd::Clean), Some(HELD)).is_some());
        assert!(found_in(true, mark, (0, WalEnd::Clean), Some(first)).is_some());
    }
}

#[test]
fn a_loss_names_file_place_and_count() {
    let damage = WalEnd::Damaged {
        offset: 98_920,
        frames: 41,
        transactions: 12,
    };
    let text = found(MarkState::Missing, (5, damage.clone()), Some(HELD))
        .unwrap()
        .text;
    for part in ["/h/hob.db-wal", "98920", "41 frames", "12 transactions"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let mark = MarkState::Whole(MarkClaim {
        frames: 50,
        ..CLAIM
    });
    let text = found(mark, (5, damage), None).unwrap().text;
    for part in ["/h/hob.db-wal", "98920", "45 of 50"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
