//! Addresses and lists.

use super::GeminiDialect;
use crate::dialect::ProviderDialect;
use crate::providers::ProviderQuirks;
use crate::recorded::{call, rich_prompt};
use serde_json::json;

#[test]
fn addresses_are_taken_as_people_write_them() {
    for given in [
        "https://h",
        "https://h/",
        "https://h/v1beta",
        "https://h/v1beta/models/",
    ] {
        assert_eq!(GeminiDialect.base_url(given), "https://h");
    }
    let path = |model: &str| {
        call(
            &GeminiDialect,
            &rich_prompt(model, "x"),
            &ProviderQuirks::COMMON,
        )
        .path
    };
    assert_eq!(
        path("gemini-x"),
        "/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
    );
    assert_eq!(
        path("tunedModels/a"),
        "/v1beta/tunedModels/a:streamGenerateContent?alt=sse"
    );
    assert_eq!(
        path("a?key=b#c"),
        "/v1beta/models/a%3Fkey%3Db%23c:streamGenerateContent?alt=sse"
    );
}

#[test]
fn lists_have_pages_and_leave_out_what_does_not_answer() {
    let page = GeminiDialect.parse_models(&json!({
        "models": [
            { "name": "models/gemini-x", "inputTokenLimit": 1_048_576, "supportedGenerationMethods": ["generateContent"] },
            { "name": "models/embedding-x", "supportedGenerationMethods": ["embedContent"] },
        ],
        "nextPageToken": "a b",
    }));
    let page = page.expect("is read");
    assert_eq!(page.models.len(), 1);
    assert_eq!(page.models[0].name, "gemini-x");
    assert_eq!(
        page.next.as_deref(),
        Some("/v1beta/models?pageSize=1000&pageToken=a%20b")
    );
}
