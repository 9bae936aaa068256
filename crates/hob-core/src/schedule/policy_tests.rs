//! Decisions about due times, by table and at random.

use super::*;
use jiff::tz::TimeZone;
use proptest::prelude::*;

const MINUTE: u64 = 60_000;
const DAY: u64 = 24 * 60 * MINUTE;
const START: u64 = 1_800_000_000_000;

const POLICY: JobPolicy = JobPolicy {
    missed: MissedPolicy::Once,
    overlap: OverlapPolicy::Skip,
    window_ms: WINDOW_MS,
    jitter_ms: 0,
    hours: None,
    failures_max: 5,
};

fn calendar(line: &str) -> Calendar {
    Calendar::parse(line, TimeZone::UTC, START).unwrap()
}

fn at(now_ms: u64) -> ClockTick {
    ClockTick {
        now_ms,
        randomness: 7,
        late_jobs: 1,
    }
}

fn idle(cursor_ms: u64) -> JobStanding {
    JobStanding {
        cursor_ms,
        ..JobStanding::default()
    }
}

fn run(policy: &JobPolicy, passed_ms: u64) -> DueDecision {
    decide(
        &calendar("every 10m"),
        policy,
        &idle(START),
        at(START + passed_ms),
    )
    .unwrap()
}

#[test]
fn a_slot_on_time_is_run() {
    assert_eq!(
        decide(&calendar("every 10m"), &POLICY, &idle(START), at(START + 1)),
        None
    );
    let decision = run(&POLICY, 10 * MINUTE + 3);
    let due_ms = START + 10 * MINUTE;
    assert_eq!(decision.cursor_ms, due_ms);
    let planned = PlannedSlot {
        due_ms,
        begin_ms: due_ms,
        stands_for: 0,
        decision: SlotDecision::Run,
    };
    assert_eq!(decision.slots, [planned]);
}

#[test]
fn of_three_days_the_latest_is_run_once_and_the_rest_is_counted() {
    let hourly = calendar("every 1h");
    let decision = decide(&hourly, &POLICY, &idle(START), at(START + 3 * DAY)).unwrap();
    let [missed, ran] = &decision.slots[..] else {
        panic!("{decision:?}")
    };
    assert_eq!(ran.decision, SlotDecision::Run);
    assert_eq!(ran.due_ms, START + 3 * DAY);
    assert_eq!(ran.stands_for, 24);
    assert!(
        matches!(&missed.decision, SlotDecision::Missed(why) if why.contains("window (1 day)"))
    );
    assert_eq!(missed.stands_for + 1, 72 - 25);
    // So many that they are not all named: the one that is run stands for them.
    let decision = run(&POLICY, 3 * DAY);
    assert_eq!(decision.slots.len(), 1);
    assert_eq!(decision.slots[0].stands_for + 1, 432);
}

#[test]
fn all_are_run_in_order_within_the_window() {
    let policy = JobPolicy {
        missed: MissedPolicy::All,
        window_ms: 35 * MINUTE,
        ..POLICY
    };
    let decision = run(&policy, 100 * MINUTE + 5_000);
    let ran: Vec<u64> = decision
        .slots
        .iter()
        .filter(|slot| slot.decision == SlotDecision::Run)
        .map(|slot| (slot.due_ms - START) / MINUTE)
        .collect();
    assert_eq!(ran, [70, 80, 90, 100]);
    assert_eq!(decision.slots[0].stands_for, 5);
    assert!(matches!(
        decision.slots[0].decision,
        SlotDecision::Missed(_)
    ));
    let many = run(
        &JobPolicy {
            window_ms: 9 * DAY,
            ..policy
        },
        5 * DAY,
    );
    assert_eq!(
        many.slots
            .iter()
            .filter(|slot| slot.decision == SlotDecision::Run)
            .count(),
        100
    );
    assert_eq!(many.slots[0].stands_for + 1 + 100, 720);
}

#[test]
fn skipping_runs_what_is_on_time_and_nothing_that_passed() {
    let policy = JobPolicy {
        missed: MissedPolicy::Skip,
        ..POLICY
    };
    let decision = run(&policy, 35 * MINUTE);
    assert_eq!(decision.slots.len(), 1);
    assert!(matches!(
        decision.slots[0].decision,
        SlotDecision::Missed(_)
    ));
    assert_eq!(decision.slots[0].stands_for, 2);
    let decision = run(&policy, 30 * MINUTE + 1_000);
    assert!(matches!(
        decision.slots[0].decision,
        SlotDecision::Missed(_)
    ));
    assert_eq!(decision.slots[1].decision, SlotDecision::Run);
}

#[test]
fn a_time_before_the_window_is_missed_for_good() {
    let policy = JobPolicy {
        window_ms: 5 * MINUTE,
        ..POLICY
    };
    let decision = run(&policy, 19 * MINUTE);
    assert_eq!(decision.slots.len(), 1);
    assert!(matches!(
        decision.slots[0].decision,
        SlotDecision::Missed(_)
    ));
}

#[test]
fn overlap() {
    let busy = JobStanding {
        is_running: true,
        ..idle(START)
    };
    let full = JobStanding { waiting: 1, ..busy };
    let decided = |overlap, standing: &JobStanding| {
        let policy = JobPolicy { overlap, ..POLICY };
        decide(
            &calendar("every 10m"),
            &policy,
            standing,
            at(START + 10 * MINUTE),
        )
        .unwrap()
    };
    let fate = |decision: &DueDecision| decision.slots[0].decision.clone();
    assert!(matches!(
        fate(&decided(OverlapPolicy::Skip, &busy)),
        SlotDecision::Skipped(_)
    ));
    assert_eq!(
        fate(&decided(OverlapPolicy::Queue, &busy)),
        SlotDecision::Run
    );
    assert!(matches!(
        fate(&decided(OverlapPolicy::Queue, &full)),
        SlotDecision::Skipped(_)
    ));
    let replaced = decided(OverlapPolicy::Replace, &full);
    assert_eq!(fate(&replaced), SlotDecision::Run);
    assert!(replaced.replaces);
    assert!(!decided(OverlapPolicy::Replace, &idle(START)).replaces);
    let calls = JobPolicy {
        overlap: OverlapPolicy::Queue,
        ..POLICY
    };
    let waiting = |waiting| JobStanding { waiting, ..busy };
    assert_eq!(admit(&calls, &waiting(99), true), SlotAdmission::Wait);
    assert!(matches!(
        admit(&calls, &waiting(100), true),
        SlotAdmission::Skip(_)
    ));
}

#[test]
fn a_clock_put_back_repeats_nothing_and_a_wrong_one_is_left_behind() {
    let hourly = calendar("0 * * * *");
    let standing = idle(START + DAY);
    for back in [1, MINUTE, 60 * MINUTE, DAY] {
        let back = at(START + DAY - back);
        assert_eq!(decide(&hourly, &POLICY, &standing, back), None);
    }
    let year = idle(START + 365 * DAY);
    let decision = decide(&hourly, &POLICY, &year, at(START)).unwrap();
    assert_eq!((decision.cursor_ms, decision.slots.len()), (START, 0));
}

#[test]
fn a_period_waits_no_longer_than_itself_wherever_the_clock_is_put() {
    let calendar = calendar("every 10m");
    let standing = idle(START + DAY);
    for back in [1, MINUTE, 10 * MINUTE] {
        let back = at(START + DAY - back);
        assert_eq!(decide(&calendar, &POLICY, &standing, back), None);
    }
    // Also to before it was made, and with a phase of its own.
    for cursor_ms in [START + DAY, START + DAY + 77] {
        for back in [11 * MINUTE, 60 * MINUTE, 3 * DAY, 400 * DAY] {
            let now_ms = cursor_ms - back + 1;
            let decision = decide(&calendar, &POLICY, &idle(cursor_ms), at(now_ms)).unwrap();
            assert!(decision.slots.is_empty(), "{decision:?}");
            let cursor = decision.cursor_ms;
            assert!((now_ms - 10 * MINUTE..=now_ms).contains(&cursor), "{back}");
            assert_eq!(cursor % (10 * MINUTE), cursor_ms % (10 * MINUTE), "{back}");
            let next = calendar.anchored_at(cursor).next_after(cursor).unwrap();
            assert_eq!(next, cursor + 10 * MINUTE);
            let due = decide(&calendar, &POLICY, &idle(cursor), at(next)).unwrap();
            assert_eq!((due.cursor_ms, due.slots.len()), (next, 1));
        }
    }
}

#[test]
fn outside_the_hours_is_one_row_for_all() {
    let policy = JobPolicy {
        hours: Some(ActiveHours::parse("08:00-22:00").unwrap()),
        missed: MissedPolicy::All,
        ..POLICY
    };
    let midnight = START - START % DAY;
    let hourly = Calendar::parse("@hourly", TimeZone::UTC, midnight).unwrap();
    let decision = decide(
        &hourly,
        &policy,
        &idle(midnight),
        at(midnight + 9 * 60 * MINUTE),
    )
    .unwrap();
    let [night, eight, nine] = &decision.slots[..] else {
        panic!("{decision:?}")
    };
    assert!(matches!(&night.decision, SlotDecision::Skipped(why) if why.contains("active hours")));
    assert_eq!(night.stands_for, 6);
    assert_eq!(
        (&eight.decision, &nine.decision),
        (&SlotDecision::Run, &SlotDecision::Run)
    );
}

#[test]
fn chance_spreads_what_begins() {
    let jittered = JobPolicy {
        jitter_ms: 30_000,
        ..POLICY
    };
    let calendar = calendar("every 10m");
    let begins = |policy: &JobPolicy, tick: ClockTick| {
        decide(&calendar, policy, &idle(START), tick).unwrap().slots[0].begin_ms
    };
    let due = START + 10 * MINUTE;
    for randomness in [0, 1, 29_999, 30_000, 30_001, u64::MAX] {
        let tick = ClockTick {
            randomness,
            ..at(due)
        };
        assert!((due..=due + 30_000).contains(&begins(&jittered, tick)));
        assert_eq!(begins(&POLICY, tick), due);
        // Ten thousand that are late together do not begin together.
        let late = ClockTick {
            now_ms: due + 5 * MINUTE,
            randomness,
            late_jobs: 10_000,
        };
        assert!((late.now_ms..=late.now_ms + 60_000).contains(&begins(&POLICY, late)));
        let alone = ClockTick {
            late_jobs: 1,
            ..late
        };
        assert_eq!(begins(&POLICY, alone), alone.now_ms);
    }
}

#[test]
fn failures_in_a_row_give_a_job_up() {
    let mut streak = FailureStreak(0);
    for failures in 1..5 {
        let (next, given_up) = streak.after(false, &POLICY);
        assert_eq!((next, given_up), (FailureStreak(failures), false));
        streak = next;
    }
    assert_eq!(streak.after(true, &POLICY), (FailureStreak(0), false));
    assert_eq!(streak.after(false, &POLICY), (FailureStreak(5), true));
    let patient = JobPolicy {
        failures_max: 0,
        ..POLICY
    };
    assert_eq!(
        FailureStreak(1_000).after(false, &patient),
        (FailureStreak(1_001), false)
    );
}

#[test]
fn a_restart_asks_again_for_what_has_a_key_and_repeats_nothing_else() {
    assert_eq!(recover(WorkRepeatability::Keyed, true), SlotRecovery::Begin);
    assert_eq!(
        recover(WorkRepeatability::Keyed, false),
        SlotRecovery::Begin
    );
    assert_eq!(
        recover(WorkRepeatability::Opaque, false),
        SlotRecovery::Begin
    );
    assert!(matches!(
        recover(WorkRepeatability::Opaque, true),
        SlotRecovery::Fail(_)
    ));
}

proptest! {
    /// Whatever the policy and however long nobody looked: every due time is in exactly one slot.
    #[test]
    fn every_due_time_is_accounted_for(
        missed in prop::sample::select(&[MissedPolicy::Once, MissedPolicy::All, MissedPolicy::Skip][..]),
        overlap in prop::sample::select(&[OverlapPolicy::Queue, OverlapPolicy::Skip, OverlapPolicy::Replace][..]),
        window_m in 0u64..3_000,
        hours in prop::option::of(prop::sample::select(&["08:00-22:00", "22:00-06:00", "12:00-12:10"][..])),
        line in prop::sample::select(&["every 7m", "*/10 * * * *", "0 9 * * *", "every 1h"][..]),
        looks in prop::collection::vec(1u64..5_000 * MINUTE, 1..12),
        is_running: bool,
        waiting in 0usize..3,
    ) {
        let policy = JobPolicy {
            missed,
            overlap,
            window_ms: window_m * MINUTE,
            hours: hours.map(|text| ActiveHours::parse(text).unwrap()),
            ..POLICY
        };
        let calendar = calendar(line);
        let (mut cursor, mut now) = (START, START);
        for passed in looks {
            now += passed;
            let due = calendar.passed(cursor, now, None);
            let standing = JobStanding { cursor_ms: cursor, is_running, waiting };
            let Some(decision) = decide(&calendar, &policy, &standing, at(now)) else {
                prop_assert_eq!(due.inside.count, 0);
                continue;
            };
            let counted: u64 = decision.slots.iter().map(|slot| 1 + slot.stands_for).sum();
            prop_assert_eq!(counted, due.inside.count, "{:?}", decision);
            prop_assert_eq!(Some(decision.cursor_ms), due.latest_ms);
            prop_assert!(decision.cursor_ms > cursor && decision.cursor_ms <= now);
            let mut keys: Vec<u64> = decision.slots.iter().map(|slot| slot.due_ms).collect();
            keys.dedup();
            prop_assert_eq!(keys.len(), decision.slots.len(), "a key is used twice: {:?}", decision);
            prop_assert!(keys.iter().all(|due| *due > cursor && *due <= now));
            for slot in decision.slots.iter().filter(|slot| slot.decision == SlotDecision::Run) {
                prop_assert!(now - slot.due_ms <= policy.window_ms.max(GRACE_MS));
            }
            cursor = decision.cursor_ms;
        }
    }
}
