//! Names are stable, apart, and within hob's bounds.

use super::{digest, hob_name, session_key};
use hob_core::loop_machine::check_name;
use hob_wire::limits::SESSION_KEY_BYTES_MAX;
use proptest::prelude::*;

#[test]
fn a_plain_key_stays_and_others_get_a_mark() {
    assert_eq!(session_key("other", "cli:chat"), "import:other:cli:chat");
    let child = session_key("other", "cli:chat:subagent:1-x");
    assert!(
        child.starts_with("import:other:cli:chat-subagent-1-x~"),
        "{child}"
    );
    assert_ne!(session_key("other", "a b"), session_key("other", "a-b"));
    assert_ne!(session_key("other", "a b"), session_key("other", "a\tb"));
}

proptest! {
    #[test]
    fn every_key_and_name_is_one_that_hob_takes(source in "(?s).{0,300}") {
        let key = session_key("other", &source);
        prop_assert!(key.len() <= SESSION_KEY_BYTES_MAX);
        prop_assert!(!key.contains(":subagent:") && !key.chars().any(char::is_control));
        prop_assert!(check_name(&hob_name("other", &source)).is_ok());
        // With the mark of a second job, too.
        let marked = format!("{}-{}", hob_name("other", &source), &digest(&[&source])[..6]);
        prop_assert!(check_name(&marked).is_ok());
    }

    #[test]
    fn different_sources_have_different_keys(one in ".{0,40}", other in ".{0,40}") {
        prop_assume!(one != other);
        prop_assert_ne!(session_key("other", &one), session_key("other", &other));
    }
}
