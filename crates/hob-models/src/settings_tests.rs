//! Providers as they come out of a config file.

use super::{KEYS, ProviderConfig, is_name, providers};
use crate::providers::{ProviderQuirks, row};
use hob_kit::host_environment::EnvVars;
use hob_kit::settings::{Settings, SettingsCatalog};
use hob_wire::rooms::model::ProviderKind;
use std::sync::Arc;

fn read(config: &str, keys: &[&str]) -> Vec<ProviderConfig> {
    let catalog = Arc::new(SettingsCatalog::new(&[KEYS]));
    let settings = Settings::load(&catalog, "config.toml", config, &EnvVars::default());
    let has_key = |name: &str| keys.contains(&name);
    providers(&settings.expect("loads"), &has_key)
}

fn one(config: &str) -> ProviderConfig {
    let mut found = read(config, &[]);
    assert_eq!(found.len(), 1);
    found.remove(0)
}

#[test]
fn the_declarations_are_sound() {
    assert_eq!(SettingsCatalog::new(&[KEYS]).faults(), [""; 0]);
}

#[test]
fn a_key_in_the_environment_makes_a_provider() {
    assert!(read("", &[]).is_empty());
    let found = read("", &["GROQ_API_KEY", "ANTHROPIC_API_KEY"]);
    let names: Vec<&str> = found
        .iter()
        .map(|provider| provider.name.as_str())
        .collect();
    assert_eq!(names, ["anthropic", "groq"]);
    assert_eq!(found[1].key_env.as_deref(), Some("GROQ_API_KEY"));
}

#[test]
fn a_named_row_needs_nothing_else() {
    let ollama = one("[models.ollama]\ntools = \"text\"\n");
    assert_eq!(ollama.kind, ProviderKind::Ollama);
    assert_eq!(ollama.url, "http://127.0.0.1:11434");
    assert!(ollama.text_tools);
    assert_eq!(ollama.price.map(|price| price.input), Some(0));
}

#[test]
fn a_known_key_is_not_sent_to_another_address() {
    let moved = one("[models.mistral]\nurl = \"http://127.0.0.1:9/v1\"\n");
    assert_eq!(moved.key_env, None);
    assert_eq!(moved.quirks, row("mistral").expect("is a row").quirks);
    let named = one("[models.mistral]\nurl = \"http://127.0.0.1:9/v1\"\nkey_env = \"MY_KEY\"\n");
    assert_eq!(named.key_env.as_deref(), Some("MY_KEY"));
}

#[test]
fn an_address_of_a_known_provider_brings_its_ways() {
    let mine = one("[models.mine]\nurl = \"https://api.mistral.ai/v1\"\nkey_env = \"K\"\n");
    assert_eq!(mine.quirks, row("mistral").expect("is a row").quirks);
    let other = one("[models.other]\nkind = \"anthropic\"\nurl = \"http://h\"\n");
    assert_eq!(
        (other.kind, other.quirks),
        (ProviderKind::Anthropic, ProviderQuirks::COMMON)
    );
    assert!(other.row.is_none() && other.key_env.is_none());
    let public = one("[models.work]\nkind = \"anthropic\"\n");
    assert_eq!(public.url, "https://api.anthropic.com");
    assert_eq!(public.key_env.as_deref(), Some("ANTHROPIC_API_KEY"));
}

#[test]
fn prices_and_windows_are_read() {
    let provider = one(
        "[models.x]\nurl = \"http://h\"\ncontext_tokens = 8192\nprice_input = \"0.15\"\nprice_output = \"0.60\"\n",
    );
    assert_eq!(provider.context_tokens, Some(8_192));
    let price = provider.price.expect("has a price");
    assert_eq!((price.input, price.output), (150_000, 600_000));
    let half = one("[models.x]\nurl = \"http://h\"\nprice_input = \"0.15\"\n");
    assert!(half.price.is_none());
}

#[test]
fn odd_names_are_left_out() {
    assert!(read("[models.\"a/b\"]\nurl = \"http://h\"\n", &[]).is_empty());
    assert!(is_name("my-box_2"));
    for name in ["", "a b", "a/b", "default", "ä"] {
        assert!(!is_name(name), "{name:?}");
    }
}
