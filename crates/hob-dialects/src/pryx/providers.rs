//! Health, model providers, models and the model settings.
//!
//! Invariant: no answer has a provider's key. Keys and settings are changed by their owner alone.

use crate::pryx::client::{PathParameter, PryxAnswer, PryxClient, json, not_found};
use hob_gateway::http_error::HttpError;
use hob_wire::WireError;
use hob_wire::rooms::model::{
    self, ModelInfo, ModelListParams, ModelListResult, ProviderInfo, ProviderKind,
};
use serde_json::{Value, json};

/// The alias of the model that answers if none is named.
const DEFAULT_ALIAS: &str = "default";
/// Millionths of a dollar.
const MICRO_DOLLARS: f64 = 1_000_000.0;

/// `GET /health`.
pub(crate) async fn health(client: PryxClient) -> PryxAnswer {
    let listed = providers(&client).await?;
    let ready = listed.providers.iter().filter(|provider| provider.ready);
    json(&json!({
        "status": "ok",
        "providers": ready.map(|provider| &provider.name).collect::<Vec<_>>(),
        "cloud_logged_in": false,
        "runtime": "hob",
    }))
}

/// `GET /api/v1/providers`.
pub(crate) async fn list(client: PryxClient) -> PryxAnswer {
    let listed = providers(&client).await?;
    let providers = listed.providers.iter().map(|provider| {
        json!({
            "id": provider.name,
            "name": provider.name,
            "requires_api_key": provider.key_env.is_some(),
            "ready": provider.ready,
            "message": provider.message,
        })
    });
    json(&json!({ "providers": providers.collect::<Vec<_>>() }))
}

/// `GET /api/v1/providers/{id}/models`.
pub(crate) async fn models_of(client: PryxClient, PathParameter(id): PathParameter) -> PryxAnswer {
    let provider = find_provider(&client, &id).await?;
    let params = ModelListParams {
        provider: Some(provider.name),
        ..ModelListParams::default()
    };
    let listed = client.call::<model::List>(&params).await?;
    let models: Vec<Value> = listed.models.iter().map(model_json).collect();
    json(&json!({ "models": models }))
}

/// `GET /api/v1/models`.
pub(crate) async fn models(client: PryxClient) -> PryxAnswer {
    let all = ModelListParams::default();
    let listed = client.call_if_served::<model::List>(&all).await?;
    let models = listed.map(|listed| listed.models).unwrap_or_default();
    let models: Vec<Value> = models.iter().map(model_json).collect();
    json(&json!({ "models": models }))
}

/// `GET /api/v1/providers/{id}/key`.
pub(crate) async fn key(client: PryxClient, PathParameter(id): PathParameter) -> PryxAnswer {
    let provider = find_provider(&client, &id).await?;
    json(&json!({ "configured": provider.ready }))
}

/// `POST` and `DELETE /api/v1/providers/{id}/key`.
pub(crate) async fn refuse_key(_: PryxClient, PathParameter(id): PathParameter) -> PryxAnswer {
    // The client's text is repeated in the command, so only the name of a provider is taken.
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let name = if id.chars().all(is_name) { &id } else { "NAME" };
    Err(HttpError::forbidden(format!(
        "Keys are kept by their owner alone: 'hob onboard paste --provider {name} < FILE' keeps one, 'hob model remove {name}' deletes it."
    )))
}

/// `GET /api/v1/config`.
pub(crate) async fn config(client: PryxClient) -> PryxAnswer {
    let listed = providers(&client).await?;
    let default = listed
        .aliases
        .iter()
        .find(|alias| alias.alias == DEFAULT_ALIAS);
    let default = default.and_then(|alias| alias.models.first());
    let (provider, name) = default
        .and_then(|model| model.split_once('/'))
        .unwrap_or_default();
    let ollama = listed
        .providers
        .iter()
        .find(|provider| provider.kind == ProviderKind::Ollama);
    json(&json!({
        "model_provider": provider,
        "model_name": name,
        "ollama_endpoint": ollama.map_or("", |provider| provider.url.as_str()),
    }))
}

/// `PATCH /api/v1/config`.
pub(crate) async fn refuse_config(_: PryxClient) -> PryxAnswer {
    Err(HttpError::forbidden(
        "Settings are changed by their owner alone: 'hob model set default PROVIDER/MODEL' chooses the model, 'hob config set KEY VALUE' changes the rest.",
    ))
}

/// The providers and aliases, without asking the providers for their models.
async fn providers(client: &PryxClient) -> Result<ModelListResult, WireError> {
    let names = ModelListParams {
        names_only: true,
        ..ModelListParams::default()
    };
    let listed = client.call_if_served::<model::List>(&names).await?;
    Ok(listed.unwrap_or(ModelListResult {
        models: Vec::new(),
        providers: Vec::new(),
        aliases: Vec::new(),
    }))
}

async fn find_provider(client: &PryxClient, id: &str) -> Result<ProviderInfo, HttpError> {
    let listed = providers(client).await?;
    let found = listed.providers.into_iter().find(|it| it.name == id);
    found.ok_or_else(|| {
        not_found("There is no such provider; GET /api/v1/providers lists those there are.")
    })
}

/// A model, with its prices in dollars per million tokens.
#[expect(
    clippy::cast_precision_loss,
    reason = "a price that large has no cents that matter"
)]
fn model_json(model: &ModelInfo) -> Value {
    let dollars = |micro: u64| micro as f64 / MICRO_DOLLARS;
    json!({
        // Pryx names a model without its provider.
        "id": model.id.split_once('/').map_or(model.id.as_str(), |(_, name)| name),
        "name": model.name,
        "provider": model.provider,
        "context_window": model.context_tokens,
        "input_price_1m": model.price.map(|price| dollars(price.input)),
        "output_price_1m": model.price.map(|price| dollars(price.output)),
    })
}
