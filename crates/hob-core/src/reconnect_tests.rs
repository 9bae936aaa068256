//! The machine as a table: what it says at each moment of a search.

use super::*;
use proptest::prelude::*;

fn waits(may_start: bool, until_ms: u64) -> Vec<(u64, ReconnectStep)> {
    let mut search = ReconnectBackoff::default();
    let mut now_ms = 1_000;
    let mut steps = Vec::new();
    while now_ms <= 1_000 + until_ms {
        let step = search.on_failure(now_ms, may_start);
        steps.push((now_ms - 1_000, step));
        if let ReconnectStep::Wait { ms } = step {
            now_ms += ms;
        } else {
            now_ms += 1;
        }
    }
    steps
}

#[test]
fn waits_double_from_the_first_to_the_cap() {
    let steps: Vec<u64> = waits(false, 10_000)
        .into_iter()
        .map(|(_, step)| match step {
            ReconnectStep::Wait { ms } => ms,
            ReconnectStep::StartDaemon => panic!("started without leave"),
        })
        .collect();
    assert_eq!(steps[..6], [100, 200, 400, 800, 1_600, 2_000]);
    assert!(steps[6..].iter().all(|ms| *ms == WAIT_MS_MAX));
}

#[test]
fn a_daemon_is_started_after_exactly_the_patience() {
    let starts: Vec<u64> = waits(true, 11_000)
        .into_iter()
        .filter_map(|(at, step)| (step == ReconnectStep::StartDaemon).then_some(at))
        .collect();
    assert_eq!(starts, [START_AFTER_MS, 2 * START_AFTER_MS]);
}

#[test]
fn a_connection_begins_a_new_search() {
    let mut search = ReconnectBackoff::default();
    for now_ms in [0, 2_000, 4_900] {
        search.on_failure(now_ms, true);
    }
    search.reset();
    assert_eq!(
        search.on_failure(6_000, true),
        ReconnectStep::Wait { ms: FIRST_WAIT_MS }
    );
}

proptest! {
    #[test]
    fn never_starts_early_and_never_waits_past_the_cap(gaps in prop::collection::vec(0_u64..3_000, 1..60)) {
        let mut search = ReconnectBackoff::default();
        let mut now_ms = 0;
        let mut since_ms = None;
        for gap in gaps {
            now_ms += gap;
            let began_ms = *since_ms.get_or_insert(now_ms);
            match search.on_failure(now_ms, true) {
                ReconnectStep::StartDaemon => {
                    prop_assert!(now_ms - began_ms >= START_AFTER_MS);
                    since_ms = Some(now_ms);
                }
                ReconnectStep::Wait { ms } => prop_assert!((1..=WAIT_MS_MAX).contains(&ms)),
            }
        }
    }
}
