//! Names made of texts.

use super::*;
use proptest::prelude::*;

#[test]
fn a_text_becomes_a_name() {
    for (shown, name) in [
        ("daily-report", "daily-report"),
        ("Daily Report [v2]", "daily-report-v2"),
        ("  (Über) alles!  ", "ber-alles"),
        ("日報", "task"),
        ("", "task"),
    ] {
        assert_eq!(candidates(shown).next().as_deref(), Some(name), "{shown}");
    }
    let more: Vec<String> = candidates("A b").take(3).collect();
    assert_eq!(more, ["a-b", "a-b-2", "a-b-3"]);
}

proptest! {
    #[test]
    fn every_name_is_one_of_hobs(shown in any::<String>()) {
        for name in candidates(&shown) {
            let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            prop_assert!(!name.is_empty() && name.len() <= 64);
            prop_assert!(name.chars().all(allowed));
            prop_assert!(!name.starts_with('-') && !name.ends_with('-'));
        }
    }
}
