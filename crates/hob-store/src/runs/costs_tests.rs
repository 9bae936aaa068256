//! Days and their dates.

use super::date;

#[test]
fn days_have_their_dates() {
    let dates = [
        (0, "1970-01-01"),
        (58, "1970-02-28"),
        (59, "1970-03-01"),
        (10_956, "1999-12-31"),
        (11_016, "2000-02-29"),
        (19_782, "2024-02-29"),
        (19_783, "2024-03-01"),
        (20_772, "2026-11-15"),
        (47_540, "2100-02-28"),
        (47_541, "2100-03-01"),
    ];
    for (day, expected) in dates {
        assert_eq!(date(day), expected, "day {day}");
    }
}

#[test]
fn a_sum_without_any_known_price_has_no_money() {
    let sum = |calls, unpriced| super::CostSum {
        calls,
        unpriced,
        micro_dollars: 7,
        ..super::CostSum::default()
    };
    assert_eq!(sum(3, 3).cost().micro_dollars, None);
    assert_eq!(sum(3, 2).cost().micro_dollars, Some(7));
    assert_eq!(super::CostSum::default().cost().micro_dollars, Some(0));
}
