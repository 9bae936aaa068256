//! Who waits for a run hears its end, whatever becomes of its driver.

use super::*;
use futures_util::FutureExt;
use hob_store::RunSummary;

fn a_run() -> RunId {
    RunId(hob_kit::dice::Dice::seeded(1).uuid(1))
}

fn row(run: RunId) -> RunRow {
    RunRow {
        id: run,
        parent: None,
        session_id: SessionId(run.0),
        session_key: "a".to_owned(),
        task: "Go.".to_owned(),
        limits: hob_core::turn::Limits::DEFAULT,
        queued_at: 0,
        journal_len: 0,
        first_message: None,
        last_message: None,
        summary: RunSummary::default(),
    }
}

fn told(waiter: &mut Waiter) -> Option<Told> {
    waiter.told().now_or_never().flatten()
}

#[test]
fn an_end_is_heard_though_the_driver_failed_before() {
    let (live, run) = (Live::default(), a_run());
    let mut waiter = live.wait_for(run);
    // The driver fails before the waiter has looked for anything.
    live.put_down(&run);
    assert!(told(&mut waiter).is_none());
    live.end(&run, super::super::views::view(&row(run), Vec::new()));
    assert!(matches!(told(&mut waiter), Some(Told::Ended(_))));
    assert!(live.find(&run).is_none(), "nothing of it is left");
}

#[test]
fn those_who_wait_are_told_when_nothing_more_can_be_done() {
    let (live, run) = (Live::default(), a_run());
    let (mut one, mut other) = (live.wait_for(run), live.wait_for(run));
    live.tell(&run, Told::Stuck("the disk is gone".to_owned()));
    for waiter in [&mut one, &mut other] {
        let Some(Told::Stuck(reason)) = told(waiter) else {
            panic!("is told");
        };
        assert_eq!(reason, "the disk is gone");
    }
}

#[test]
fn a_place_that_nobody_waits_at_goes_with_its_driver() {
    let (live, run) = (Live::default(), a_run());
    drop(live.wait_for(run));
    live.put_down(&run);
    assert!(live.find(&run).is_none());
}
