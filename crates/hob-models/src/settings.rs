//! The settings of this crate, and the providers configured by them.

use crate::dialect::{self, AnswerTransport};
use crate::price;
use crate::providers::{self, ProviderQuirks, ProviderRow};
use crate::served_model::ServedModel;
use hob_kit::settings::{SettingKey, SettingKind, SettingValue, Settings};
use hob_wire::rooms::model::{ModelPrice, ProviderKind};
use std::collections::BTreeSet;
use std::time::Duration;

/// Aliases, in the order they are shown.
pub const ALIASES: &[&str] = &["default", "fast", "smart", "local"];

/// The values of `models.NAME.kind`.
pub const KINDS: &[&str] = &[
    "openai",
    "openai-responses",
    "anthropic",
    "gemini",
    "ollama",
    "opencode",
];

/// The most providers that are read.
const PROVIDERS_MAX: usize = 256;

pub const KEYS: &[SettingKey] = &[
    SettingKey::new(
        "model.default",
        SettingKind::List,
        "",
        "The models of the alias default, as PROVIDER/MODEL, tried in order. Left empty, hob takes a model of the first provider whose key is set, else that of a local service.",
    )
    .live(),
    SettingKey::new(
        "model.fast",
        SettingKind::List,
        "",
        "The models of the alias fast, tried in order.",
    )
    .live(),
    SettingKey::new(
        "model.smart",
        SettingKind::List,
        "",
        "The models of the alias smart, tried in order.",
    )
    .live(),
    SettingKey::new(
        "model.local",
        SettingKind::List,
        "",
        "The models of the alias local, tried in order: models on a machine of your own. Left empty, that of a local service.",
    )
    .live(),
    SettingKey::new(
        "model.silence_timeout",
        SettingKind::Duration {
            min_ms: 100,
            max_ms: 3_600_000,
        },
        "180s",
        "How long a model may stay silent, before its first word and between two, before the call counts as failed.",
    )
    .live(),
    SettingKey::new(
        "model.call_timeout",
        SettingKind::Duration {
            min_ms: 1_000,
            max_ms: 86_400_000,
        },
        "30m",
        "How long one call of a model may take in all.",
    )
    .live(),
    SettingKey::new(
        "models.*.kind",
        SettingKind::Choice(KINDS),
        "openai",
        "The protocol a provider of your own speaks. openai means chat completions.",
    )
    .live(),
    SettingKey::new(
        "models.*.url",
        SettingKind::Text,
        "",
        "Where the provider answers, such as http://127.0.0.1:8080/v1; its public address when left out.",
    )
    .live(),
    SettingKey::new(
        "models.*.key_env",
        SettingKind::Text,
        "",
        "The environment variable that holds the provider's key. With an address of your own it has to be named here: a known key is never sent to another address by itself.",
    )
    .live(),
    SettingKey::new(
        "models.*.tools",
        SettingKind::Choice(&["native", "text"]),
        "native",
        "How the provider's models are given tools: as their protocol has it, or as plain text for models that know no tools.",
    )
    .live(),
    SettingKey::new(
        "models.*.context_tokens",
        SettingKind::Integer {
            min: 0,
            max: 100_000_000,
        },
        "0",
        "The window of the provider's models, in tokens; 0 where the built-in table knows better. A model that neither names is taken to have 128000: a run shows it no more of a conversation, and says how many messages were left out.",
    )
    .live(),
    SettingKey::new(
        "models.*.price_input",
        SettingKind::Checked {
            expects: "dollars for a million tokens, such as 0.15",
            check: check_price,
        },
        "",
        "What a million tokens of input cost, in dollars.",
    )
    .live(),
    SettingKey::new(
        "models.*.price_output",
        SettingKind::Checked {
            expects: "dollars for a million tokens, such as 0.60",
            check: check_price,
        },
        "",
        "What a million tokens of output cost, in dollars.",
    )
    .live(),
];

/// A provider as it is configured.
#[derive(Clone, Debug)]
pub(crate) struct ProviderConfig {
    pub(crate) name: String,
    pub(crate) kind: ProviderKind,
    /// The configured URL, or the public one.
    pub(crate) url: String,
    pub(crate) key_env: Option<String>,
    pub(crate) quirks: ProviderQuirks,
    pub(crate) text_tools: bool,
    pub(crate) context_tokens: Option<u64>,
    pub(crate) price: Option<ModelPrice>,
    pub(crate) row: Option<&'static ProviderRow>,
    /// The local service behind it, which is resolved to an address at each call.
    pub(crate) served: Option<ServedModel>,
}

/// The time limits of every call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallTimeouts {
    pub(crate) silence: Duration,
    pub(crate) call: Duration,
}

pub(crate) fn timeouts(settings: &Settings) -> CallTimeouts {
    CallTimeouts {
        silence: Duration::from_millis(settings.duration_ms("model.silence_timeout")),
        call: Duration::from_millis(settings.duration_ms("model.call_timeout")),
    }
}

/// The models of an alias; empty if it is not set.
pub(crate) fn alias(settings: &Settings, alias: &str) -> Vec<String> {
    settings.list(&format!("model.{alias}")).to_vec()
}

/// The configured providers, and the built-in ones whose key is set.
pub(crate) fn providers(
    settings: &Settings,
    has_key: &dyn Fn(&str) -> bool,
) -> Vec<ProviderConfig> {
    let mut names: BTreeSet<String> = BTreeSet::new();
    for key in KEYS.iter().filter(|key| key.is_pattern()) {
        names.extend(settings.names(key.path));
    }
    let (plain, odd): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| is_name(name));
    for name in odd {
        tracing::warn!(name, "a provider's name has letters a model id cannot have");
    }
    let mut found: Vec<ProviderConfig> = plain
        .iter()
        .take(PROVIDERS_MAX)
        .map(|name| provider_from_settings(settings, name))
        .collect();
    for row in providers::ROWS {
        let by_key = row.key_env.is_some_and(has_key);
        if by_key && !found.iter().any(|provider| provider.name == row.name) {
            found.push(provider_from_row(row));
        }
    }
    found
}

/// True if the name is allowed for a provider. Model ids are `provider/model`.
pub fn is_name(name: &str) -> bool {
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=64).contains(&name.len()) && name.bytes().all(fine) && !ALIASES.contains(&name)
}

fn provider_from_row(row: &'static ProviderRow) -> ProviderConfig {
    ProviderConfig {
        name: row.name.to_owned(),
        kind: row.kind,
        url: row.url.to_owned(),
        key_env: row.key_env.map(str::to_owned),
        quirks: row.quirks,
        text_tools: false,
        context_tokens: None,
        price: row.local.then_some(price::FREE),
        row: Some(row),
        served: None,
    }
}

fn provider_from_settings(settings: &Settings, name: &str) -> ProviderConfig {
    let entry = |field: &str| {
        let entry = settings.entry(&format!("models.{name}.{field}"))?;
        Some(&entry.value)
    };
    let text = |field: &str| match entry(field) {
        Some(SettingValue::Text(text)) if !text.is_empty() => Some(text.as_str()),
        _ => None,
    };
    let kind = text("kind").and_then(parse_kind);
    let named = providers::row(name);
    let row = match (named, kind) {
        (Some(row), _) => Some(row),
        (None, kind) => providers::row_of_kind(kind.unwrap_or(ProviderKind::Openai)),
    };
    let mut provider = match row {
        Some(row) => provider_from_row(row),
        None => blank_provider(),
    };
    name.clone_into(&mut provider.name);
    provider.kind = kind
        .or(named.map(|row| row.kind))
        .unwrap_or(ProviderKind::Openai);
    if let Some(url) = text("url") {
        url.clone_into(&mut provider.url);
        // The key of the public URL must not be sent to another server.
        provider.key_env = None;
        // A known provider keeps its quirks at another address, because its name says what it is.
        if named.is_none() {
            let there = providers::row_at(url);
            provider.quirks = there.map_or(ProviderQuirks::COMMON, |row| row.quirks);
            provider.price = None;
            provider.row = there;
        }
    }
    if let Some(variable) = text("key_env") {
        provider.key_env = Some(variable.to_owned());
    }
    let has_no_tools = dialect::for_kind(provider.kind).transport() == AnswerTransport::Session;
    provider.text_tools = has_no_tools || text("tools") == Some("text");
    if let Some(SettingValue::Integer(tokens @ 1..)) = entry("context_tokens") {
        provider.context_tokens = Some(*tokens);
    }
    let dollars = |field: &str| text(field).and_then(price::read_dollars);
    // With only one of the two prices the cost of a call would be wrong.
    if let (Some(input), Some(output)) = (dollars("price_input"), dollars("price_output")) {
        provider.price = Some(ModelPrice {
            input,
            output,
            cached: None,
        });
    }
    provider
}

fn blank_provider() -> ProviderConfig {
    ProviderConfig {
        name: String::new(),
        kind: ProviderKind::Openai,
        url: String::new(),
        key_env: None,
        quirks: ProviderQuirks::COMMON,
        text_tools: false,
        context_tokens: None,
        price: None,
        row: None,
        served: None,
    }
}

fn parse_kind(word: &str) -> Option<ProviderKind> {
    Some(match word {
        "openai" => ProviderKind::Openai,
        "openai-responses" => ProviderKind::OpenaiResponses,
        "anthropic" => ProviderKind::Anthropic,
        "gemini" => ProviderKind::Gemini,
        "ollama" => ProviderKind::Ollama,
        "opencode" => ProviderKind::Opencode,
        _ => return None,
    })
}

fn check_price(text: &str) -> Result<(), String> {
    if text.is_empty() || price::read_dollars(text).is_some() {
        return Ok(());
    }
    Err("is not an amount of dollars such as 0.15".to_owned())
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
