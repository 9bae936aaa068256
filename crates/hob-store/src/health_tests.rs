//! Which refusals last and which pass.

use super::StoreHealth;
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
    let health = StoreHealth::default();
    assert_eq!(health.report().state, StoreState::Ready);
    health.note_error(&io());
    assert!(health.is_waiting_for_disk());
    assert_eq!(health.refusal(), Some(io()));
    let report = health.report();
    assert_eq!(report.state, StoreState::Failing);
    assert!(report.message.unwrap().contains("tries again every second"));
    health.note_error(&StoreError::Full);
    assert_eq!(health.report().state, StoreState::Full, "the newer reason");
    health.mark_recovered();
    assert_eq!(health.report().state, StoreState::Ready);
    assert_eq!(health.refusal(), None);
}

#[test]
fn damage_lasts() {
    let health = StoreHealth::default();
    health.note_error(&io());
    health.confirm_damage(&damaged());
    health.mark_recovered();
    health.note_error(&io());
    health.mark_sound();
    assert_eq!(health.report().state, StoreState::Damaged);
    assert!(!health.is_waiting_for_disk());
}

#[test]
fn a_database_that_cannot_be_read_is_ready_when_it_can() {
    let health = StoreHealth::default();
    health.mark_unreadable("error code=266");
    assert_eq!(health.report().state, StoreState::Failing);
    assert!(health.refusal().is_some());
    health.mark_recovered();
    assert_eq!(
        health.report().state,
        StoreState::Failing,
        "writes say nothing"
    );
    health.mark_sound();
    assert_eq!(health.report().state, StoreState::Ready);
}

#[test]
fn an_error_that_speaks_of_damage_waits_for_the_check() {
    let health = StoreHealth::default();
    health.note_error(&damaged());
    assert_eq!(health.report().state, StoreState::Failing);
    assert!(matches!(health.refusal(), Some(StoreError::Io(_))));
    assert!(matches!(
        health.hide_unconfirmed_damage(damaged()),
        StoreError::Io(_)
    ));
    health.begin_check();
    // It happens again while the look goes on, behind its back.
    health.note_error(&damaged());
    health.mark_sound();
    assert_eq!(health.report().state, StoreState::Failing);
    assert!(health.is_suspected());
    health.begin_check();
    health.mark_sound();
    assert_eq!(health.report().state, StoreState::Ready);
    health.confirm_damage(&damaged());
    assert_eq!(health.report().state, StoreState::Damaged);
    assert_eq!(health.hide_unconfirmed_damage(damaged()), damaged());
}

#[test]
fn losses_are_findings() {
    let health = StoreHealth::default();
    health.add_finding("a torn write".to_owned(), false);
    health.add_finding("three messages".to_owned(), true);
    let report = health.report();
    assert_eq!(report.findings.len(), 2);
    assert_eq!(report.losses, ["three messages"]);
}
