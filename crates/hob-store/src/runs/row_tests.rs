//! States are stored by the words of the wire.

use super::{STATES, parse_state, state_name};

#[test]
fn every_state_is_kept_by_its_own_word() {
    for (state, word) in STATES {
        assert_eq!(serde_json::to_value(state).unwrap(), word);
        assert_eq!(state_name(state), word);
        assert_eq!(parse_state(word).unwrap(), state);
    }
    assert!(parse_state("asleep").is_err());
}
