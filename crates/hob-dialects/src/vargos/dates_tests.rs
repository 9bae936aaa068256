//! Dates in both directions.

use super::*;
use serde_json::json;

#[test]
fn a_date_is_read_as_it_is_written() {
    assert_eq!(iso(0), "1970-01-01T00:00:00.000Z");
    assert_eq!(iso(1_772_000_000_123), "2026-02-25T06:13:20.123Z");
    for at in [0, 1, 1_772_000_000_123] {
        assert_eq!(parse_ms(&json!(iso(at))), Some(at));
        assert_eq!(parse_ms(&json!(at)), Some(at));
    }
}

#[test]
fn what_is_no_date_is_none() {
    for wrong in [json!("yesterday"), json!(-1), json!(null), json!({})] {
        assert_eq!(parse_ms(&wrong), None, "{wrong}");
    }
}
