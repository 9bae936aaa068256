//! Waiters of a run get its end, whatever happens to its driver.

use super::*;
use futures_util::FutureExt;
use hob_store::RunSummary;

fn a_run() -> RunId {
    RunId(hob_kit::randomness::Randomness::seeded(1).uuid(1))
}

fn row(run: RunId) -> RunRow {
    RunRow {
        id: run,
        parent: None,
        session_id: SessionId(run.0),
        session_key: "a".to_owned(),
        task: "Go.".to_owned(),
        limits: hob_core::turn::RunLimits::DEFAULT,
        queued_at: 0,
        journal_len: 0,
        first_message: None,
        last_message: None,
        summary: RunSummary::default(),
    }
}

fn outcome_now(waiter: &mut EndWaiter) -> Option<WaitOutcome> {
    waiter.wait().now_or_never().flatten()
}

#[test]
fn a_waiter_gets_the_end_after_its_driver_failed() {
    let (live, run) = (LiveRuns::default(), a_run());
    let mut waiter = live.wait_for(run);
    // The driver fails before the waiter has looked for anything.
    live.release_driver(&run);
    assert!(outcome_now(&mut waiter).is_none());
    live.finish(&run, super::super::views::run_view(&row(run), Vec::new()));
    assert!(matches!(
        outcome_now(&mut waiter),
        Some(WaitOutcome::Ended(_))
    ));
    assert!(live.find(&run).is_none(), "nothing of it is left");
}

#[test]
fn waiters_learn_that_a_run_is_stuck() {
    let (live, run) = (LiveRuns::default(), a_run());
    let (mut one, mut other) = (live.wait_for(run), live.wait_for(run));
    live.resolve_waiters(&run, WaitOutcome::Stuck("the disk is gone".to_owned()));
    for waiter in [&mut one, &mut other] {
        let Some(WaitOutcome::Stuck(reason)) = outcome_now(waiter) else {
            panic!("is told");
        };
        assert_eq!(reason, "the disk is gone");
    }
}

#[test]
fn an_entry_without_waiters_goes_with_its_driver() {
    let (live, run) = (LiveRuns::default(), a_run());
    drop(live.wait_for(run));
    live.release_driver(&run);
    assert!(live.find(&run).is_none());
}
