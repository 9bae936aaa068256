//! A clock that is set, and a machine that was suspended.

use super::{House, job};
use hob_kit::clock::Clock;
use hob_wire::rooms::cron::{Add, CronAddParams, CronRunParams, MissedPolicy, Run, SlotState};
use hob_wire::work::RunEndCause;
use std::time::Duration;

const START: u64 = 1_800_000_000_000;
const HOUR: u64 = 3_600_000;

/// Longer than the timer sleeps between two checks of the clock.
const LOOKED: Duration = Duration::from_secs(7);

#[tokio::test]
async fn three_days_asleep_is_one_catch_up_a_job() {
    let house = House::with(Clock::manual(START), "");
    let caller = house.caller();
    for (name, missed) in [
        ("once", MissedPolicy::Once),
        ("skip", MissedPolicy::Skip),
        ("all", MissedPolicy::All),
    ] {
        let added = CronAddParams {
            missed: Some(missed),
            window_ms: Some(3 * HOUR + 60_000),
            ..job(name, "every 1h")
        };
        caller.call::<Add>(&added).await.expect("is added");
    }
    house.clock.advance(72 * HOUR + 30 * 60_000);
    house.slots_when(SlotState::Missed, 3).await;
    // Late ones begin a little apart.
    house.clock.advance(1_000);
    let ran = house.slots_when(SlotState::Running, 2).await;
    let counted = |name: &str| {
        let of = ran.iter().filter(|slot| slot.name == name);
        of.map(|slot| 1 + slot.stands_for).sum::<u64>()
    };
    for name in ["once", "skip", "all"] {
        assert_eq!(counted(name), 72, "{name}: {ran:?}");
    }
    for _ in 0..3 {
        house.agent.end(RunEndCause::Answered);
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    house.agent.end(RunEndCause::Answered);
    let ran = house.slots_when(SlotState::Ran, 4).await;
    let names: Vec<&str> = ran
        .iter()
        .filter(|slot| slot.state == SlotState::Ran)
        .map(|slot| slot.name.as_str())
        .collect();
    assert_eq!(names.iter().filter(|name| **name == "once").count(), 1);
    assert_eq!(names.iter().filter(|name| **name == "all").count(), 3);
    house.fixture.close().await;
}

#[tokio::test]
async fn a_clock_put_back_repeats_nothing_and_after_a_wrong_year_goes_on() {
    let house = House::with(Clock::manual(START), "");
    let caller = house.caller();
    caller
        .call::<Add>(&job("hourly", "every 1h"))
        .await
        .expect("is added");
    house.clock.set_wall(START + HOUR + 1_000);
    house.slots_when(SlotState::Running, 1).await;
    house.agent.end(RunEndCause::Answered);
    house.slots_when(SlotState::Ran, 1).await;
    house.clock.set_wall(START + 1_000);
    tokio::time::sleep(LOOKED).await;
    house.clock.set_wall(START + HOUR + 2_000);
    tokio::time::sleep(LOOKED).await;
    assert_eq!(
        house.slots().await.len(),
        1,
        "the same hour came twice and was run once"
    );
    // A year ahead by mistake, noticed, and put right.
    let year = 365 * 24 * HOUR;
    house.clock.set_wall(START + year + 1_000);
    house.slots_when(SlotState::Running, 1).await;
    house.agent.end(RunEndCause::Answered);
    house.slots_when(SlotState::Ran, 2).await;
    house.clock.set_wall(START + HOUR + 30_000);
    tokio::time::sleep(LOOKED).await;
    let before = house.slots().await.len();
    house.clock.set_wall(START + 2 * HOUR + 1_000);
    house.slots_when(SlotState::Running, 1).await;
    assert_eq!(house.slots().await.len(), before + 1);
    house.agent.end(RunEndCause::Answered);
    let params = CronRunParams {
        id: "hourly".to_owned(),
        idempotency_key: None,
    };
    house.slots_when(SlotState::Ran, 3).await;
    caller.call::<Run>(&params).await.expect("fires");
    house.agent.end(RunEndCause::Answered);
    house.fixture.close().await;
}

#[tokio::test]
async fn a_period_goes_on_when_the_clock_is_put_to_before_the_job_was_made() {
    let house = House::with(Clock::manual(START), "");
    let added = house.caller().call::<Add>(&job("hourly", "every 1h")).await;
    added.expect("is added");
    let back = START - 3 * 24 * HOUR;
    house.clock.set_wall(back);
    tokio::time::sleep(LOOKED).await;
    house.clock.set_wall(back + HOUR + 1_000);
    let slots = house.slots_when(SlotState::Running, 1).await;
    assert_eq!(slots.len(), 1, "{slots:?}");
    house.agent.end(RunEndCause::Answered);
    house.slots_when(SlotState::Ran, 1).await;
    // The same hour again: it counts from now on, and no time runs twice.
    house.clock.set_wall(back - 2 * HOUR);
    tokio::time::sleep(LOOKED).await;
    house.clock.set_wall(back + HOUR + 2_000);
    tokio::time::sleep(LOOKED).await;
    assert_eq!(house.slots().await.len(), 1, "it has run already");
    house.clock.set_wall(back + 2 * HOUR + 4_000);
    let slots = house.slots_when(SlotState::Running, 1).await;
    let mut dues: Vec<u64> = slots.iter().map(|slot| slot.due_at).collect();
    dues.sort_unstable();
    dues.dedup();
    assert_eq!(dues.len(), slots.len(), "{slots:?}");
    house.agent.end(RunEndCause::Answered);
    house.fixture.close().await;
}
