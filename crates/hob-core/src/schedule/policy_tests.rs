//! What becomes of due times, by table and by chance.

use super::*;
use jiff::tz::TimeZone;
use proptest::prelude::*;

const MINUTE: u64 = 60_000;
const DAY: u64 = 24 * 60 * MINUTE;
const START: u64 = 1_800_000_000_000;

const POLICY: Policy = Policy {
    missed: Missed::Once,
    overlap: Overlap::Skip,
    window_ms: WINDOW_MS,
    jitter_ms: 0,
    hours: None,
    failures_max: 5,
};

fn calendar(line: &str) -> Calendar {
    Calendar::parse(line, TimeZone::UTC, START).unwrap()
}

fn at(now_ms: u64) -> Tick {
    Tick {
        now_ms,
        dice: 7,
        crowd: 1,
    }
}

fn idle(cursor_ms: u64) -> Standing {
    Standing {
        cursor_ms,
        ..Standing::default()
    }
}

fn run(policy: &Policy, passed_ms: u64) -> Decision {
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
    let planned = Planned {
        due_ms,
        begin_ms: due_ms,
        stands_for: 0,
        fate: Fate::Run,
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
    assert_eq!(ran.fate, Fate::Run);
    assert_eq!(ran.due_ms, START + 3 * DAY);
    assert_eq!(ran.stands_for, 24);
    assert!(matches!(&missed.fate, Fate::Missed(why) if why.contains("window (1 day)")));
    assert_eq!(missed.stands_for + 1, 72 - 25);
    // So many that they are not all named: the one that is run stands for them.
    let decision = run(&POLICY, 3 * DAY);
    assert_eq!(decision.slots.len(), 1);
    assert_eq!(decision.slots[0].stands_for + 1, 432);
}

#[test]
fn all_are_run_in_order_within_the_window() {
    let policy = Policy {
        missed: Missed::All,
        window_ms: 35 * MINUTE,
        ..POLICY
    };
    let decision = run(&policy, 100 * MINUTE + 5_000);
    let ran: Vec<u64> = decision
        .slots
        .iter()
        .filter(|slot| slot.fate == Fate::Run)
        .map(|slot| (slot.due_ms - START) / MINUTE)
        .collect();
    assert_eq!(ran, [70, 80, 90, 100]);
    assert_eq!(decision.slots[0].stands_for, 5);
    assert!(matches!(decision.slots[0].fate, Fate::Missed(_)));
    let many = run(
        &Policy {
            window_ms: 9 * DAY,
            ..policy
        },
        5 * DAY,
    );
    assert_eq!(
        many.slots
            .iter()
            .filter(|slot| slot.fate == Fate::Run)
            .count(),
        100
    );
    assert_eq!(many.slots[0].stands_for + 1 + 100, 720);
}

#[test]
fn skipping_runs_what_is_on_time_and_nothing_that_passed() {
    let policy = Policy {
        missed: Missed::Skip,
        ..POLICY
    };
    let decision = run(&policy, 35 * MINUTE);
    assert_eq!(decision.slots.len(), 1);
    assert!(matches!(decision.slots[0].fate, Fate::Missed(_)));
    assert_eq!(decision.slots[0].stands_for, 2);
    let decision = run(&policy, 30 * MINUTE + 1_000);
    assert!(matches!(decision.slots[0].fate, Fate::Missed(_)));
    assert_eq!(decision.slots[1].fate, Fate::Run);
}

#[test]
fn a_time_before_the_window_is_missed_for_good() {
    let policy = Policy {
        window_ms: 5 * MINUTE,
        ..POLICY
    };
    let decision = run(&policy, 19 * MINUTE);
    assert_eq!(decision.slots.len(), 1);
    assert!(matches!(decision.slots[0].fate, Fate::Missed(_)));
}

#[test]
fn overlap() {
    let busy = Standing {
        at_work: true,
        ..idle(START)
    };
    let full = Standing { waiting: 1, ..busy };
    let decided = |overlap, standing: &Standing| {
        let policy = Policy { overlap, ..POLICY };
        decide(
            &calendar("every 10m"),
            &policy,
            standing,
            at(START + 10 * MINUTE),
        )
        .unwrap()
    };
    let fate = |decision: &Decision| decision.slots[0].fate.clone();
    assert!(matches!(
        fate(&decided(Overlap::Skip, &busy)),
        Fate::Skipped(_)
    ));
    assert_eq!(fate(&decided(Overlap::Queue, &busy)), Fate::Run);
    assert!(matches!(
        fate(&decided(Overlap::Queue, &full)),
        Fate::Skipped(_)
    ));
    let replaced = decided(Overlap::Replace, &full);
    assert_eq!(fate(&replaced), Fate::Run);
    assert!(replaced.replaces);
    assert!(!decided(Overlap::Replace, &idle(START)).replaces);
    let calls = Policy {
        overlap: Overlap::Queue,
        ..POLICY
    };
    let waiting = |waiting| Standing { waiting, ..busy };
    assert_eq!(admit(&calls, &waiting(99), true), Admission::Wait);
    assert!(matches!(
        admit(&calls, &waiting(100), true),
        Admission::Skip(_)
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
            let next = calendar.counted_from(cursor).next_after(cursor).unwrap();
            assert_eq!(next, cursor + 10 * MINUTE);
            let due = decide(&calendar, &POLICY, &idle(cursor), at(next)).unwrap();
            assert_eq!((due.cursor_ms, due.slots.len()), (next, 1));
        }
    }
}

#[test]
fn outside_the_hours_is_one_row_for_all() {
    let policy = Policy {
        hours: Some(Hours::parse("08:00-22:00").unwrap()),
        missed: Missed::All,
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
    assert!(matches!(&night.fate, Fate::Skipped(why) if why.contains("active hours")));
    assert_eq!(night.stands_for, 6);
    assert_eq!((&eight.fate, &nine.fate), (&Fate::Run, &Fate::Run));
}

#[test]
fn chance_spreads_what_begins() {
    let jittered = Policy {
        jitter_ms: 30_000,
        ..POLICY
    };
    let calendar = calendar("every 10m");
    let begins = |policy: &Policy, tick: Tick| {
        decide(&calendar, policy, &idle(START), tick).unwrap().slots[0].begin_ms
    };
    let due = START + 10 * MINUTE;
    for dice in [0, 1, 29_999, 30_000, 30_001, u64::MAX] {
        let tick = Tick { dice, ..at(due) };
        assert!((due..=due + 30_000).contains(&begins(&jittered, tick)));
        assert_eq!(begins(&POLICY, tick), due);
        // Ten thousand that are late together do not begin together.
        let late = Tick {
            now_ms: due + 5 * MINUTE,
            dice,
            crowd: 10_000,
        };
        assert!((late.now_ms..=late.now_ms + 60_000).contains(&begins(&POLICY, late)));
        let alone = Tick { crowd: 1, ..late };
        assert_eq!(begins(&POLICY, alone), alone.now_ms);
    }
}

#[test]
fn failures_in_a_row_give_a_job_up() {
    let mut streak = Streak(0);
    for failures in 1..5 {
        let (next, given_up) = streak.after(false, &POLICY);
        assert_eq!((next, given_up), (Streak(failures), false));
        streak = next;
    }
    assert_eq!(streak.after(true, &POLICY), (Streak(0), false));
    assert_eq!(streak.after(false, &POLICY), (Streak(5), true));
    let patient = Policy {
        failures_max: 0,
        ..POLICY
    };
    assert_eq!(Streak(1_000).after(false, &patient), (Streak(1_001), false));
}

#[test]
fn a_restart_asks_again_for_what_has_a_key_and_repeats_nothing_else() {
    assert_eq!(recover(Tribe::Keyed, true), Recovery::Begin);
    assert_eq!(recover(Tribe::Keyed, false), Recovery::Begin);
    assert_eq!(recover(Tribe::Opaque, false), Recovery::Begin);
    assert!(matches!(recover(Tribe::Opaque, true), Recovery::Fail(_)));
}

proptest! {
    /// Whatever the policy and however long nobody looked: every due time is in exactly one slot.
    #[test]
    fn every_due_time_is_accounted_for(
        missed in prop::sample::select(&[Missed::Once, Missed::All, Missed::Skip][..]),
        overlap in prop::sample::select(&[Overlap::Queue, Overlap::Skip, Overlap::Replace][..]),
        window_m in 0u64..3_000,
        hours in prop::option::of(prop::sample::select(&["08:00-22:00", "22:00-06:00", "12:00-12:10"][..])),
        line in prop::sample::select(&["every 7m", "*/10 * * * *", "0 9 * * *", "every 1h"][..]),
        looks in prop::collection::vec(1u64..5_000 * MINUTE, 1..12),
        at_work: bool,
        waiting in 0usize..3,
    ) {
        let policy = Policy {
            missed,
            overlap,
            window_ms: window_m * MINUTE,
            hours: hours.map(|text| Hours::parse(text).unwrap()),
            ..POLICY
        };
        let calendar = calendar(line);
        let (mut cursor, mut now) = (START, START);
        for passed in looks {
            now += passed;
            let due = calendar.passed(cursor, now, None);
            let standing = Standing { cursor_ms: cursor, at_work, waiting };
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
            for slot in decision.slots.iter().filter(|slot| slot.fate == Fate::Run) {
                prop_assert!(now - slot.due_ms <= policy.window_ms.max(GRACE_MS));
            }
            cursor = decision.cursor_ms;
        }
    }
}
