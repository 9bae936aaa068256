//! Counting of leases.

use super::ServiceUseCounts;

#[test]
fn a_service_is_busy_until_its_last_call_is_over() {
    let uses = ServiceUseCounts::default();
    assert!(!uses.is_busy("llm"));
    let one = uses.start_use("llm");
    let other = uses.start_use("llm");
    drop(one);
    assert!(uses.is_busy("llm") && !uses.is_busy("tts"));
    drop(other);
    assert!(!uses.is_busy("llm"));
}
