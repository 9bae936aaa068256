//! The rate and the remaining time.

use super::*;

#[test]
fn the_rate_is_that_of_the_last_seconds() {
    let mut rate = TransferRate::default();
    rate.note(0, 0);
    assert_eq!(rate.bytes_per_second(), None);
    rate.note(200, 1_000);
    assert_eq!(rate.bytes_per_second(), None, "too short to tell");
    rate.note(1_000, 10_000);
    assert_eq!(rate.bytes_per_second(), Some(10_000));
    assert_eq!(rate.seconds_left(25_000), Some(3));
    for second in 2..=20 {
        rate.note(second * 1_000, 10_000 + second * 100);
    }
    assert_eq!(rate.bytes_per_second(), Some(100));
    assert!(rate.samples.len() <= 6, "{}", rate.samples.len());
}

#[test]
fn a_standstill_has_no_remaining_time_and_a_new_beginning_no_past() {
    let mut rate = TransferRate::default();
    for tenth in 0..100 {
        rate.note(tenth * 100, 5_000);
    }
    assert_eq!(rate.bytes_per_second(), Some(0));
    assert_eq!(rate.seconds_left(1), None);
    rate.note(10_000, 0);
    assert_eq!(rate.bytes_per_second(), None);
    for ms in 0..10_000 {
        rate.note(10_000 + ms, ms);
    }
    assert!(rate.samples.len() <= 52, "{}", rate.samples.len());
}
