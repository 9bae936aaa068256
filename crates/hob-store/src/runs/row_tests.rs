//! States are stored by the words of the wire.

use super::{STATES, state_of, state_word};

#[test]
fn every_state_is_kept_by_its_own_word() {
    for (state, word) in STATES {
        assert_eq!(serde_json::to_value(state).unwrap(), word);
        assert_eq!(state_word(state), word);
        assert_eq!(state_of(word).unwrap(), state);
    }
    assert!(state_of("asleep").is_err());
}
