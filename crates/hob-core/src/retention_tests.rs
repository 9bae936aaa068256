//! Pruned and kept events.

use super::{EventStamp, RetentionLimits, prunable_through};
use proptest::prelude::*;

const LIMITS: RetentionLimits = RetentionLimits {
    rows_max: 10,
    age_ms_max: 1_000,
};

fn log(seqs: std::ops::RangeInclusive<u64>, at_ms: u64) -> Vec<EventStamp> {
    seqs.map(|seq| EventStamp { seq, at_ms }).collect()
}

#[test]
fn keeps_what_is_within_both_bounds() {
    assert_eq!(prunable_through(LIMITS, &log(1..=10, 0), 10, 1_000), None);
    assert_eq!(prunable_through(LIMITS, &[], 0, 1_000), None);
}

#[test]
fn cuts_the_rows_over_the_bound() {
    assert_eq!(prunable_through(LIMITS, &log(1..=10, 0), 13, 0), Some(3));
}

#[test]
fn cuts_the_old_but_never_the_newest() {
    assert_eq!(prunable_through(LIMITS, &log(1..=5, 0), 5, 5_000), Some(4));
    assert_eq!(prunable_through(LIMITS, &log(5..=5, 0), 5, 5_000), None);
}

#[test]
fn a_clock_set_back_keeps_everything() {
    assert_eq!(prunable_through(LIMITS, &log(1..=5, 9_000), 5, 10), None);
}

#[test]
fn stops_at_the_first_event_that_stays() {
    let mut log = log(1..=4, 0);
    log[1].at_ms = 5_000;
    assert_eq!(prunable_through(LIMITS, &log, 9, 5_000), Some(1));
}

proptest! {
    #[test]
    fn never_keeps_more_than_the_bound_nor_cuts_the_newest(
        first in 1_u64..1_000, rows in 1_u64..100, rows_max in 1_u64..50, now in 0_u64..10_000,
    ) {
        let limits = RetentionLimits { rows_max, age_ms_max: 1_000 };
        let newest = first + rows - 1;
        let log = log(first..=newest, 500);
        let end = prunable_through(limits, &log, newest, now).unwrap_or(first - 1);
        prop_assert!(end < newest);
        prop_assert!(newest - end <= rows_max.max(1));
    }
}
