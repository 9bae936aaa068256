//! Session keys, times and sentences.

use super::*;

#[test]
fn a_session_names_its_loop() {
    assert_eq!(session_key("build", 7), "loop:build:7");
    assert_eq!(loop_of_session("loop:build:7"), Some("build"));
    assert_eq!(loop_of_session("loop:build:7:subagent:x"), Some("build"));
    for other in ["chat:main", "loop", "", "loops:build:7"] {
        assert_eq!(loop_of_session(other), None, "{other}");
    }
}

#[test]
fn a_time_is_one_a_person_reads() {
    assert_eq!(format_time(1_763_283_600_000), "2025-11-16 09:00:00 UTC");
    assert!(format_time(u64::MAX).ends_with("after 1970"));
}

#[test]
fn the_end_after_failures_names_the_last() {
    let message = end_message(LoopEnd::Errors, &LoopConfig::default(), Some("no model."));
    assert_eq!(
        message,
        "10 iterations in a row failed; the last one: no model."
    );
}
