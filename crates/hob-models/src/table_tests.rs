//! The table is sound and finds what it should.

use super::{TABLE, find};

#[test]
fn a_dated_name_is_its_family_and_another_model_is_not() {
    let found = |model| find("openai", model).map(|known| known.name);
    assert_eq!(found("gpt-5.4"), Some("gpt-5.4"));
    assert_eq!(found("gpt-5.4-2026-03-05"), Some("gpt-5.4"));
    assert_eq!(found("gpt-5.4x"), None);
    assert_eq!(found("gpt-5.4-nobody"), None);
    assert_eq!(find("groq", "gpt-5.4").map(|known| known.name), None);
}

#[test]
fn every_row_is_found_and_plausible() {
    for (index, row) in TABLE.iter().enumerate() {
        let found = find(row.provider, row.name).expect("is found");
        assert_eq!(found.name, row.name);
        assert!(row.context_tokens >= 4_096, "{}", row.name);
        assert!(row.output_tokens <= row.context_tokens, "{}", row.name);
        let [input, cached, output] = row.hundredths;
        assert!(cached <= input && input <= output, "{}", row.name);
        let same = |other: &&super::Known| (other.provider, other.name) == (row.provider, row.name);
        assert!(
            !TABLE[..index].iter().any(|other| same(&other)),
            "{} twice",
            row.name
        );
    }
}
