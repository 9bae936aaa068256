//! Numbers as they are written.

use super::*;

#[test]
fn numbers_are_short_and_true() {
    assert_eq!(dollars(0), "$0.00");
    assert_eq!(dollars(4_200), "$0.0042");
    assert_eq!(dollars(1_204_999), "$1.20");
    assert_eq!(count(999), "999");
    assert_eq!(count(12_345), "12.3k");
    assert_eq!(count(1_250_000), "1.2M");
    assert_eq!(duration(3_999), "3s");
    assert_eq!(duration(125_000), "2m 05s");
    assert_eq!(duration(4_200_000), "1h 10m");
    assert_eq!(ago(0, 59_000), "now");
    assert_eq!(ago(0, 3 * 3_600_000), "3h");
    assert_eq!(clock(0, 3_600), "01:00:00");
    assert_eq!(clock(0, -1), "23:59:59");
}
