//! Which refusals last and which pass.

use super::Health;
use crate::error::StoreError;
use hob_wire::rooms::daemon::StoreState;
use std::path::PathBuf;

fn io() -> StoreError {
    StoreError::Io("disk I/O error".to_owned())
}

fn damaged() -> StoreError {
    StoreError::Damaged {
        file: PathBuf::from("/h/hob.db"),
        what: "rotten".to_owned(),
    }
}

#[test]
fn a_failing_disk_is_told_and_passes() {
    let health = Health::default();
    assert_eq!(health.report().state, StoreState::Ready);
    health.note(&io());
    assert!(health.awaits_disk());
    assert_eq!(health.refusal(), Some(io()));
    let report = health.report();
    assert_eq!(report.state, StoreState::Failing);
    assert!(report.message.unwrap().contains("by itself"));
    health.note(&StoreError::Full);
    assert_eq!(health.report().state, StoreState::Full, "the newer reason");
    health.recovered();
    assert_eq!(health.report().state, StoreState::Ready);
    assert_eq!(health.refusal(), None);
}

#[test]
fn damage_lasts() {
    let health = Health::default();
    health.note(&io());
    health.confirm_damage(&damaged());
    health.recovered();
    health.note(&io());
    health.readable_again();
    assert_eq!(health.report().state, StoreState::Damaged);
    assert!(!health.awaits_disk());
}

#[test]
fn a_database_that_cannot_be_read_is_ready_when_it_can() {
    let health = Health::default();
    health.unreadable("error code=266");
    assert_eq!(health.report().state, StoreState::Failing);
    assert!(health.refusal().is_some());
    health.recovered();
    assert_eq!(
        health.report().state,
        StoreState::Failing,
        "writes say nothing"
    );
    health.readable_again();
    assert_eq!(health.report().state, StoreState::Ready);
}

#[test]
fn an_error_that_speaks_of_damage_waits_for_the_check() {
    let health = Health::default();
    health.note(&damaged());
    assert_eq!(health.report().state, StoreState::Failing);
    assert!(matches!(health.refusal(), Some(StoreError::Io(_))));
    assert!(matches!(health.as_known(damaged()), StoreError::Io(_)));
    health.look_begins();
    // It happens again while the look goes on, behind its back.
    health.note(&damaged());
    health.readable_again();
    assert_eq!(health.report().state, StoreState::Failing);
    assert!(health.is_suspected());
    health.look_begins();
    health.readable_again();
    assert_eq!(health.report().state, StoreState::Ready);
    health.confirm_damage(&damaged());
    assert_eq!(health.report().state, StoreState::Damaged);
    assert_eq!(health.as_known(damaged()), damaged());
}

#[test]
fn losses_are_findings() {
    let health = Health::default();
    health.found("a torn write".to_owned(), false);
    health.found("three messages".to_owned(), true);
    let report = health.report();
    assert_eq!(report.findings.len(), 2);
    assert_eq!(report.losses, ["three messages"]);
}
