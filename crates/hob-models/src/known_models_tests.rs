//! The table is sound and finds what it should.

use super::{TABLE, find};
use crate::CONTEXT_TOKENS_ASSUMED;

#[test]
fn a_dated_name_is_its_family_and_another_model_is_not() {
    let found = |model| find("openai", model).map(|known| known.name);
    assert_eq!(found("gpt-5.4"), Some("gpt-5.4"));
    assert_eq!(found("gpt-5.4-2026-03-05"), Some("gpt-5.4"));
    assert_eq!(found("gpt-5.4x"), None);
    assert_eq!(found("gpt-5.4-nobody"), None);
    assert_eq!(found("gpt-5.4-mini"), Some("gpt-5.4-mini"));
    let claude = |model| find("anthropic", model).map(|known| known.name);
    assert_eq!(claude("claude-opus-5-5"), Some("claude-opus-5-5"));
    assert_eq!(claude("claude-opus-5-6"), None);
    assert_eq!(
        claude("claude-haiku-4-5-20251001"),
        Some("claude-haiku-4-5")
    );
    assert_eq!(find("groq", "gpt-5.4").map(|known| known.name), None);
}

#[test]
fn every_row_is_found_and_plausible() {
    for (index, row) in TABLE.iter().enumerate() {
        let found = find(row.provider, row.name).expect("is found");
        assert_eq!(found.name, row.name);
        assert!(row.context_tokens >= CONTEXT_TOKENS_ASSUMED, "{}", row.name);
        assert!(row.output_tokens <= row.context_tokens, "{}", row.name);
        let [input, cached, output] = row.rate;
        assert!(cached <= input && input <= output, "{}", row.name);
        if let Some((above, long)) = row.long {
            assert!(above < row.context_tokens, "{}", row.name);
            assert!(
                (0..3).all(|index| long[index] > row.rate[index]),
                "{}",
                row.name
            );
        }
        let same =
            |other: &&super::KnownModel| (other.provider, other.name) == (row.provider, row.name);
        assert!(
            !TABLE[..index].iter().any(|other| same(&other)),
            "{} twice",
            row.name
        );
    }
}

#[test]
fn a_long_prompt_costs_more() {
    let haiku = find("anthropic", "claude-haiku-5-5").expect("is known");
    assert_eq!(haiku.price(100_000).input, 100_000);
    assert_eq!(haiku.price(100_001).input, 500_000);
    assert_eq!(haiku.price(100_001).output, 2_500_000);
}
