//! Models as Loop Runner's page sends them.

use super::choose;
use crate::looprunner::types::{LoopRunnerModel, LoopRunnerModelChange};
use hob_wire::rooms::model::{ModelInfo, ModelListResult, ProviderInfo, ProviderKind};

fn listed() -> ModelListResult {
    let model = |id: &str| ModelInfo {
        id: id.to_owned(),
        provider: id.split('/').next().unwrap().to_owned(),
        name: id.to_owned(),
        context_tokens: None,
        price: None,
    };
    let provider = |name: &str, ready| ProviderInfo {
        name: name.to_owned(),
        kind: ProviderKind::Openai,
        url: String::new(),
        key_env: None,
        ready,
        message: None,
        service: None,
    };
    ModelListResult {
        models: [
            "lab/small",
            "router/meta/llama",
            "router/meta/code",
            "router/big/one",
        ]
        .map(model)
        .to_vec(),
        providers: vec![
            provider("lab", true),
            provider("router", true),
            provider("away", false),
        ],
        aliases: Vec::new(),
    }
}

fn choice(provider: &str, model: &str) -> Result<Option<String>, String> {
    let requested = LoopRunnerModelChange {
        provider_id: provider.to_owned(),
        model_id: model.to_owned(),
    };
    let shown = LoopRunnerModel {
        provider_id: "router".to_owned(),
        model_id: "meta/code".to_owned(),
    };
    choose(&requested, &shown, &listed())
}

#[test]
fn an_id_with_slashes_is_found_however_it_is_cut() {
    for (provider, model, id) in [
        ("lab", "small", "lab/small"),
        ("router", "meta/llama", "router/meta/llama"),
        ("router/meta", "llama", "router/meta/llama"),
        ("", "router/meta/llama", "router/meta/llama"),
        ("", "meta/llama", "router/meta/llama"),
        ("", "llama", "router/meta/llama"),
        ("meta", "llama", "router/meta/llama"),
        // The page cuts the id after its second part.
        ("router", "big", "router/big/one"),
        ("router/", "/big/one", "router/big/one"),
    ] {
        let found = choice(provider, model);
        assert_eq!(found, Ok(Some(id.to_owned())), "{provider} {model}");
    }
}

#[test]
fn no_model_and_the_shown_one_choose_nothing() {
    for (provider, model) in [
        ("", ""),
        ("router", "meta/code"),
        // Several begin so, but this one is chosen already.
        ("router", "meta"),
        ("", "code"),
    ] {
        assert_eq!(choice(provider, model), Ok(None), "{provider} {model}");
    }
}

#[test]
fn what_is_not_there_or_fits_several_is_told() {
    for (provider, model, word) in [
        ("lab", "huge", "lab/huge"),
        ("nobody", "x", "no provider 'nobody'"),
        ("", "x", "GET /api/models"),
        ("", "mall", "GET /api/models"),
        ("lab", "small/er", "lab/small/er"),
    ] {
        let why = choice(provider, model).unwrap_err();
        assert!(why.contains(word) && why.ends_with('.'), "{why}");
    }
    let shown = LoopRunnerModel::default();
    let requested = LoopRunnerModelChange {
        provider_id: "router".to_owned(),
        model_id: "meta".to_owned(),
    };
    let why = choose(&requested, &shown, &listed()).unwrap_err();
    assert!(why.contains("router/meta/llama, router/meta/code"), "{why}");
    // A provider that cannot list its models now is taken at its word.
    assert_eq!(choice("away", "x"), Ok(Some("away/x".to_owned())));
    assert!(choice("away", "").is_err());
}
