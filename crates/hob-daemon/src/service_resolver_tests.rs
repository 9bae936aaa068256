//! Leases count.

use super::Uses;

#[test]
fn a_service_is_busy_until_its_last_call_is_over() {
    let uses = Uses::default();
    assert!(!uses.busy("llm"));
    let one = uses.lease("llm");
    let other = uses.lease("llm");
    drop(one);
    assert!(uses.busy("llm") && !uses.busy("tts"));
    drop(other);
    assert!(!uses.busy("llm"));
}
