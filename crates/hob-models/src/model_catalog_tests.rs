//! Names lead to models.

use super::{ModelCatalog, ModelSources};
use crate::error::ResolveError;
use crate::keys::EnvKeys;
use crate::served_model::tests::served;
use crate::served_model::{NoServices, ServedModel};
use crate::settings::KEYS;
use hob_kit::clock::Clock;
use hob_kit::host_environment::EnvVars;
use hob_kit::mask::SecretMask;
use hob_kit::settings::{Settings, SettingsCatalog};
use hob_net::{HttpClient, HttpOptions};
use hob_wire::rooms::service::ServiceRole;
use std::sync::Arc;

fn book(config: &str, env: &[(&str, &str)]) -> ModelCatalog {
    serving(config, env, Vec::new())
}

fn serving(config: &str, env: &[(&str, &str)], served: Vec<ServedModel>) -> ModelCatalog {
    let catalog = Arc::new(SettingsCatalog::new(&[KEYS]));
    let env = EnvVars::from_pairs(env.iter().copied());
    let settings = Settings::load(&catalog, "config.toml", config, &env).expect("loads");
    let http = HttpClient::new(HttpOptions::new(Clock::manual(0))).expect("starts");
    ModelCatalog::new(
        &settings,
        ModelSources {
            http,
            keys: Arc::new(EnvKeys::new(env, SecretMask::new())),
            services: Arc::new(NoServices),
            served: Arc::new(served),
        },
    )
}

fn ids(book: &ModelCatalog, wanted: Option<&str>) -> Vec<String> {
    let found = book.resolve(wanted).expect("resolves");
    found.iter().map(super::ModelCandidate::id).collect()
}

const CONFIG: &str = "[model]\ndefault = [\"box/llama\", \"anthropic/claude-opus-5\"]\n\
    [models.box]\nurl = \"http://h/v1\"\n[models.openrouter]\nkind = \"openai\"\n";

#[test]
fn aliases_are_lists_in_order_and_ids_split_at_the_first_slash() {
    let book = book(CONFIG, &[("ANTHROPIC_API_KEY", "k-123456")]);
    assert_eq!(ids(&book, None), ["box/llama", "anthropic/claude-opus-5"]);
    assert_eq!(ids(&book, Some("default")).len(), 2);
    assert_eq!(ids(&book, Some("local")), ids(&book, None));
    let routed = book
        .resolve(Some("openrouter/a/b:free"))
        .expect("resolves")
        .remove(0);
    assert_eq!(
        (routed.id().as_str(), routed.model.as_str()),
        ("openrouter/a/b:free", "a/b:free")
    );
}

#[test]
fn unknown_names_say_what_there_is() {
    let book = book(CONFIG, &[]);
    let unknown = book.resolve(Some("gpt")).expect_err("is unknown");
    assert!(
        unknown.to_string().contains("default, fast, smart, local"),
        "{unknown}"
    );
    let provider = book.resolve(Some("nobody/x")).expect_err("is unknown");
    assert!(matches!(provider, ResolveError::UnknownProvider { .. }));
    assert!(
        provider.to_string().contains("box, openrouter"),
        "{provider}"
    );
    assert!(book.resolve(Some("box/")).is_err());
    // A model of the list whose provider is gone is named, not passed over.
    assert!(book.resolve(None).is_err());
}

#[test]
fn a_key_alone_is_enough_and_nothing_is_said_to_be_nothing() {
    let empty = book("", &[]);
    assert_eq!(
        empty.resolve(None).expect_err("is empty"),
        ResolveError::NothingConfigured
    );
    assert_eq!(
        empty.resolve(Some("fast")).expect_err("is empty"),
        ResolveError::NothingConfigured
    );
    let keyed = book(
        "",
        &[
            ("ANTHROPIC_API_KEY", "k-123456"),
            ("GROQ_API_KEY", "k-123456"),
        ],
    );
    assert_eq!(ids(&keyed, None), ["anthropic/claude-sonnet-5-5"]);
    assert_eq!(ids(&keyed, Some("fast")), ["anthropic/claude-haiku-5-5"]);
    assert_eq!(keyed.aliases().len(), 4);
}

#[test]
fn facts_come_from_the_table_and_the_config_beats_it() {
    let config = "[models.anthropic]\ncontext_tokens = 50000\n[models.box]\nurl = \"http://h\"\n";
    let book = book(config, &[]);
    let facts = |id| book.resolve(Some(id)).expect("resolves")[0].facts();
    let known = facts("anthropic/claude-haiku-4-5");
    assert_eq!(known.context_tokens, Some(50_000));
    assert_eq!(known.price.map(|price| price.input), Some(1_000_000));
    assert!(known.native_tools);
    let unknown = facts("box/x");
    assert_eq!((unknown.context_tokens, unknown.price), (None, None));
    let haiku = book
        .resolve(Some("anthropic/claude-haiku-5-5"))
        .expect("resolves")
        .remove(0);
    assert_eq!(haiku.price_for(1).map(|price| price.input), Some(100_000));
    assert_eq!(
        haiku.price_for(200_000).map(|price| price.input),
        Some(500_000)
    );
}

#[test]
fn with_nothing_configured_a_local_service_is_the_default() {
    let llm = ServedModel {
        model: Some("smollm2-135m".to_owned()),
        ..served("llm", ServiceRole::Llm, false)
    };
    let see = served("see", ServiceRole::Vlm, true);
    let alone = serving("", &[], vec![see.clone(), llm.clone()]);
    for alias in [None, Some("default"), Some("local"), Some("fast")] {
        assert_eq!(ids(&alone, alias), ["llm/smollm2-135m"], "{alias:?}");
    }
    assert_eq!(ids(&alone, Some("see/default")), ["see/default"]);
    let free = alone.resolve(Some("local")).expect("resolves")[0].facts();
    assert_eq!(free.price.map(|price| price.output), Some(0));

    let keyed = serving("", &[("GROQ_API_KEY", "k-123456")], vec![llm.clone()]);
    assert_eq!(ids(&keyed, None), ["groq/openai/gpt-oss-120b"]);
    assert_eq!(ids(&keyed, Some("local")), ["llm/smollm2-135m"]);

    let taken = "[models.llm]\nurl = \"http://h/v1\"\nprice_input = \"1\"\nprice_output = \"1\"\n";
    let taken = serving(taken, &[], vec![llm, see.clone()]);
    let theirs = taken.resolve(Some("llm/x")).expect("resolves")[0].facts();
    assert_eq!(theirs.price.map(|price| price.output), Some(1_000_000));

    // A service that sees is asked by name only.
    let seeing = serving("", &[], vec![see]);
    assert_eq!(
        seeing.resolve(None).expect_err("is empty"),
        ResolveError::NothingConfigured
    );
}
