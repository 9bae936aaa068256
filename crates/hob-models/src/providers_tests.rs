//! The rows are sound.

use super::{ROWS, row, row_of_kind};
use hob_wire::rooms::model::ProviderKind;
use std::collections::BTreeSet;

#[test]
fn names_are_plain_and_unique_and_keys_have_variables() {
    let names: BTreeSet<&str> = ROWS.iter().map(|row| row.name).collect();
    assert_eq!(names.len(), ROWS.len());
    for row in ROWS {
        let plain = row.name.bytes().all(|byte| byte.is_ascii_lowercase());
        assert!(plain, "{}", row.name);
        assert_eq!(row.local, row.key_env.is_none(), "{}", row.name);
        assert!(row.local || row.url.starts_with("https://"), "{}", row.url);
        assert!(!row.url.ends_with('/'), "{}", row.url);
    }
}

#[test]
fn every_kind_has_an_address() {
    for kind in [
        ProviderKind::Openai,
        ProviderKind::OpenaiResponses,
        ProviderKind::Anthropic,
        ProviderKind::Gemini,
        ProviderKind::Ollama,
    ] {
        assert!(row_of_kind(kind).is_some(), "{kind:?}");
    }
    assert!(row("mistral").is_some() && row("nobody").is_none());
}
