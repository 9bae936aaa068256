//! Parsing of `Retry-After` values.

use super::{date_ms, seconds_ms, wait_ms};
use proptest::prelude::*;

#[test]
fn seconds_and_dates_are_read() {
    assert_eq!(wait_ms("30", 0), Some(30_000));
    assert_eq!(wait_ms(" 0 ", 0), Some(0));
    assert_eq!(wait_ms("1.5", 0), Some(1_500));
    assert_eq!(wait_ms("0.0004", 0), Some(1));
    let date = "Sun, 06 Nov 1994 08:49:37 GMT";
    let at = date_ms(date).expect("is a date");
    assert_eq!(at, 784_111_777_000);
    assert_eq!(wait_ms(date, at - 2_000), Some(2_000));
    assert_eq!(wait_ms(date, at + 1), Some(0));
}

#[test]
fn nonsense_is_no_wait_and_a_huge_wait_is_bounded() {
    for text in ["", "-1", "soon", "1e9", "NaN", ".", ".5", "1.x"] {
        assert_eq!(wait_ms(text, 0), None, "{text:?}");
    }
    let week = 7 * 24 * 3_600 * 1_000;
    assert_eq!(wait_ms("99999999999999999999999", 0), Some(week));
}

proptest! {
    #[test]
    fn whole_seconds_are_exact(seconds in 0..600_000_u64) {
        prop_assert_eq!(seconds_ms(&seconds.to_string()), Some(seconds * 1_000));
    }

    #[test]
    fn any_text_is_survived(text in ".{0,40}") {
        let _ = wait_ms(&text, 1_000);
    }
}
