//! Formats models, providers and aliases.

use super::table::TextTable;
use super::text::{one_line, pad, width};
use super::{ScreenStyle, TextTone, time};
use hob_wire::rooms::model::{
    ModelAlias, ModelListResult, ModelPrice, ModelRemoveResult, ModelTestResult, ProviderInfo,
};

/// The list of models, then the aliases, then the providers that could not be asked.
pub fn list(found: &ModelListResult, screen: &ScreenStyle) -> Vec<String> {
    if found.providers.is_empty() {
        return vec![
            "No provider is configured. Set a key such as ANTHROPIC_API_KEY where the daemon starts, add one, or install a small model of your own:".to_owned(),
            screen.paint(
                TextTone::Command,
                "hob model add NAME --kind openai --url http://127.0.0.1:8080/v1",
            ),
            screen.paint(TextTone::Command, "hob service install llm"),
        ];
    }
    let mut lines = Vec::new();
    if !found.models.is_empty() {
        let mut table = TextTable::new()
            .column("MODEL")
            .number("WINDOW")
            .lesser()
            .number("$/M IN")
            .lesser()
            .number("$/M OUT")
            .lesser()
            .column("ALIAS");
        for model in &found.models {
            let price = |amount: fn(&ModelPrice) -> u64| {
                let price = model.price.as_ref();
                price.map_or_else(|| "?".to_owned(), |price| dollars(amount(price)))
            };
            table.row(vec![
                one_line(&model.id),
                model.context_tokens.map_or_else(|| "?".to_owned(), tokens),
                price(|price| price.input),
                price(|price| price.output),
                named(&found.aliases, &model.id),
            ]);
        }
        lines.extend(table.lines(screen));
    }
    lines.extend(aliases(&found.aliases, screen));
    lines.extend(services(&found.providers, screen));
    lines.extend(troubles(&found.providers, screen));
    // An empty line separates blocks; the first block needs none.
    if lines.first().is_some_and(String::is_empty) {
        lines.remove(0);
    }
    lines
}

pub fn added(provider: &ProviderInfo, screen: &ScreenStyle) -> Vec<String> {
    let name = one_line(&provider.name);
    let mut lines = vec![format!("{name} is at {}.", one_line(&provider.url))];
    match &provider.message {
        Some(message) => lines.push(screen.paint(TextTone::Warning, &one_line(message))),
        None => lines.push(format!("See its models: hob model list --provider {name}")),
    }
    lines
}

pub fn removed(removed: &ModelRemoveResult, _: &ScreenStyle) -> Vec<String> {
    vec![format!("Removed {}.", one_line(&removed.name))]
}

pub fn set(alias: &ModelAlias, _: &ScreenStyle) -> Vec<String> {
    let name = one_line(&alias.alias);
    vec![match &alias.models[..] {
        [] => format!("{name} stands for no model now."),
        models => format!("{name} is now {}.", one_line(&models.join(", then "))),
    }]
}

/// One sentence: who answered what and how fast, or why not.
pub fn tested(tested: &ModelTestResult, screen: &ScreenStyle) -> Vec<String> {
    let model = one_line(&tested.model);
    let message = one_line(&tested.message);
    let total = took(tested.total_ms);
    if !tested.ok {
        let failed = format!("{model} did not answer: {message}");
        return vec![screen.paint(TextTone::Bad, &failed)];
    }
    let first = match tested.first_token_ms {
        Some(first_ms) => format!(", the first word after {}", took(first_ms)),
        None => String::new(),
    };
    let line = format!("{model} answered \"{message}\" in {total}{first}.");
    vec![screen.paint(TextTone::Good, &line)]
}

fn aliases(aliases: &[ModelAlias], screen: &ScreenStyle) -> Vec<String> {
    let led = aliases.iter().filter(|alias| !alias.models.is_empty());
    let led: Vec<&ModelAlias> = led.collect();
    let widest = led.iter().map(|alias| width(&alias.alias)).max();
    let Some(widest) = widest else {
        let advice = "Choose one: hob model set default PROVIDER/MODEL";
        return vec![String::new(), screen.paint(TextTone::Quiet, advice)];
    };
    let mut lines = vec![String::new()];
    for alias in led {
        let name = screen.paint(TextTone::Quiet, &pad(&one_line(&alias.alias), widest));
        let models = one_line(&alias.models.join(", then "));
        lines.push(format!("{name}  {models}"));
    }
    lines
}

/// The providers that are local services, with their state.
fn services(providers: &[ProviderInfo], screen: &ScreenStyle) -> Vec<String> {
    let mut lines = Vec::new();
    for provider in providers {
        let Some(service) = &provider.service else {
            continue;
        };
        if lines.is_empty() {
            lines.push(String::new());
        }
        let name = one_line(&provider.name);
        let state = if service.running {
            "it runs"
        } else {
            "it starts when it is asked"
        };
        let modest = if service.modest { ", a small one" } else { "" };
        let line = format!("{name} is a service of this machine{modest}: {state}.");
        lines.push(screen.paint(TextTone::Quiet, &line));
    }
    lines
}

fn troubles(providers: &[ProviderInfo], screen: &ScreenStyle) -> Vec<String> {
    let mut lines = Vec::new();
    for provider in providers.iter().filter(|provider| !provider.ready) {
        if lines.is_empty() {
            lines.push(String::new());
        }
        let message = provider.message.as_deref().unwrap_or("It cannot be asked.");
        // A problem already names its provider.
        lines.push(screen.paint(TextTone::Warning, &one_line(message)));
    }
    lines
}

/// The aliases that name this model.
fn named(aliases: &[ModelAlias], id: &str) -> String {
    let names = aliases
        .iter()
        .filter(|alias| alias.models.iter().any(|model| model == id))
        .map(|alias| one_line(&alias.alias));
    names.collect::<Vec<_>>().join(", ")
}

/// `200k`, `1M`.
fn tokens(count: u64) -> String {
    match count {
        0..10_000 => count.to_string(),
        10_000..1_000_000 => format!("{}k", count / 1_000),
        _ => {
            let tenths = count / 100_000;
            match tenths % 10 {
                0 => format!("{}M", tenths / 10),
                tenth => format!("{}.{tenth}M", tenths / 10),
            }
        }
    }
}

/// Formats millionths of a dollar with at least two decimal places.
fn dollars(micro: u64) -> String {
    let text = format!("{}.{:06}", micro / 1_000_000, micro % 1_000_000);
    let trimmed = text.trim_end_matches('0');
    let shortest = text.len() - 4;
    text[..trimmed.len().max(shortest)].to_owned()
}

fn took(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        _ => time::span(ms),
    }
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;
