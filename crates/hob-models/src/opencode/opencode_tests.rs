//! The list of models.

use super::OpencodeDialect;
use crate::dialect::ProviderDialect;
use serde_json::json;

#[test]
fn models_are_listed_below_their_provider_and_its_own_choice_is_first() {
    let body = json!({ "providers": [
        { "id": "loop", "models": {
            "fake": { "limit": { "context": 100_000 }, "cost": { "input": 1.5, "output": 2, "cache": { "read": 0.1 } } },
            "org/free": { "limit": { "context": 0 }, "cost": { "input": 0, "output": 0 } },
        } },
        { "models": { "nameless": {} } },
    ], "default": {} });
    let page = OpencodeDialect.parse_models(&body).expect("reads");
    let names: Vec<_> = page.models.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["default", "loop/fake", "loop/org/free"]);
    assert_eq!(page.models[1].context_tokens, Some(100_000));
    let price = page.models[1].price.expect("is priced");
    assert_eq!(
        (price.input, price.output, price.cached),
        (1_500_000, 2_000_000, Some(100_000))
    );
    // What nobody priced is not free.
    assert_eq!(
        (page.models[2].context_tokens, page.models[2].price),
        (None, None)
    );
    assert!(
        OpencodeDialect
            .parse_models(&json!({ "error": 1 }))
            .is_none()
    );
}
