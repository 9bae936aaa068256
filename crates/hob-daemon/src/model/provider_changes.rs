//! Changes providers and aliases through the config room.
//!
//! Invariant: a change that fails half way is rolled back.

use super::ModelContext;
use hob_models::{ALIASES, is_name};
use hob_wire::rooms::config::{ConfigSetParams as ConfigParams, Set as ConfigSet};
use hob_wire::rooms::model::{
    ModelAddParams, ModelAlias, ModelRemoveParams, ModelRemoveResult, ModelSetParams, ProviderInfo,
};
use hob_wire::{ErrorCode, WireError};
use serde_json::{Value, json};

const URL_BYTES_MAX: usize = 2_048;
const VARIABLE_CHARS_MAX: usize = 128;
/// Models of one alias.
const MODELS_MAX: usize = 16;

/// Adds a provider, or changes one.
pub(super) async fn add(
    context: &ModelContext,
    params: ModelAddParams,
) -> Result<ProviderInfo, WireError> {
    let name = params.name.as_str();
    if !is_name(name) {
        let aliases = ALIASES.join(", ");
        return Err(invalid(format!(
            "A provider's name is up to 64 letters, digits, '-' and '_', and none of {aliases}."
        )));
    }
    if let Some(url) = &params.url {
        check_url(url).map_err(invalid)?;
    }
    if let Some(variable) = &params.key_env {
        check_variable(variable).map_err(invalid)?;
    }
    let kind = serde_json::to_value(params.kind)
        .map_err(|error| WireError::new(ErrorCode::Internal, error.to_string()))?;
    let optional = |text: Option<String>| text.map_or(Value::Null, Value::from);
    let changes = vec![
        (format!("models.{name}.kind"), kind),
        (format!("models.{name}.url"), optional(params.url)),
        (format!("models.{name}.key_env"), optional(params.key_env)),
    ];
    apply_changes(context, changes).await?;
    let mut providers = context.book().providers().into_iter();
    let added = providers.find(|provider| provider.name == name);
    added.ok_or_else(|| WireError::new(ErrorCode::Internal, "The provider was not added."))
}

/// Removes a provider.
pub(super) async fn remove(
    context: &ModelContext,
    params: ModelRemoveParams,
) -> Result<ModelRemoveResult, WireError> {
    let name = params.name.as_str();
    let below = format!("models.{name}.");
    let settings = context.settings();
    let keys = settings.entries().map(|(path, _)| path);
    let keys: Vec<&str> = keys.filter(|path| path.starts_with(&below)).collect();
    // A pasted key goes with its provider.
    let forgotten = is_name(name) && context.forget_key(name).await?;
    if keys.is_empty() && forgotten {
        return Ok(ModelRemoveResult { name: params.name });
    }
    if keys.is_empty() || !is_name(name) {
        return Err(WireError::new(
            ErrorCode::NotFound,
            nothing_to_remove(context, name),
        ));
    }
    let changes = keys.iter().map(|path| ((*path).to_owned(), Value::Null));
    apply_changes(context, changes.collect()).await?;
    Ok(ModelRemoveResult { name: params.name })
}

fn nothing_to_remove(context: &ModelContext, name: &str) -> String {
    let providers = context.book().providers();
    let found = providers.iter().find(|provider| provider.name == name);
    let shown: String = name.chars().take(64).collect();
    let by_key = found.and_then(|provider| provider.key_env.as_deref());
    let reason = by_key.map(|variable| {
        format!(
            "'{shown}' is not in the config: it is there because the variable {variable} is set. Unset it where the daemon starts."
        )
    });
    reason.unwrap_or_else(|| format!("No provider is called '{shown}'."))
}

/// Points an alias at models; an empty list resets it to the default.
pub(super) async fn set(
    context: &ModelContext,
    params: ModelSetParams,
) -> Result<ModelAlias, WireError> {
    let alias = params.alias.as_str();
    if !ALIASES.contains(&alias) {
        let aliases = ALIASES.join(", ");
        return Err(invalid(format!("The aliases are {aliases}.")));
    }
    if params.models.len() > MODELS_MAX {
        return Err(invalid(format!(
            "An alias has at most {MODELS_MAX} models."
        )));
    }
    let book = context.book();
    for id in &params.models {
        if ALIASES.contains(&id.as_str()) || id.contains(',') {
            return Err(invalid(format!(
                "'{id}' is not a model: write PROVIDER/MODEL."
            )));
        }
        book.resolve(Some(id))
            .map_err(|error| WireError::new(ErrorCode::NotFound, error.to_string()))?;
    }
    let value = match &params.models[..] {
        [] => Value::Null,
        models => json!(models),
    };
    apply_changes(context, vec![(format!("model.{alias}"), value)]).await?;
    let mut aliases = context.book().aliases().into_iter();
    let now = aliases.find(|it| it.alias == alias);
    now.ok_or_else(|| WireError::new(ErrorCode::Internal, "The alias was not set."))
}

/// Sets config keys one after the other. If one is refused, the earlier ones get their former
/// values back.
pub(super) async fn apply_changes(
    context: &ModelContext,
    changes: Vec<(String, Value)>,
) -> Result<(), WireError> {
    let before = context.settings();
    let former = |key: &str| {
        let entry = before.entry(key);
        entry.map_or(Value::Null, |entry| entry.value.to_json())
    };
    let mut done: Vec<String> = Vec::new();
    for (key, value) in changes {
        // An unchanged key is not written, so it is not touched by a rollback either.
        if value == former(&key) {
            continue;
        }
        if let Err(error) = write(context, &key, value).await {
            for key in done {
                // The rollback goes on after an error: the other keys can still be restored.
                if let Err(error) = write(context, &key, former(&key)).await {
                    tracing::warn!(key, "a change could not be rolled back: {error}");
                }
            }
            return Err(error);
        }
        done.push(key);
    }
    Ok(())
}

async fn write(context: &ModelContext, key: &str, value: Value) -> Result<(), WireError> {
    let params = ConfigParams {
        key: key.to_owned(),
        value,
    };
    context.caller.call::<ConfigSet>(&params).await.map(drop)
}

fn check_url(url: &str) -> Result<(), String> {
    let rest = url
        .strip_prefix("http://")
        .or_else(|| url.strip_prefix("https://"))
        .ok_or("The url must begin with http:// or https://.")?;
    let host = rest.split('/').next().unwrap_or_default();
    // Text before an '@' is a login, and the config must hold no secrets.
    if host.contains('@') {
        return Err(
            "The url must not contain a name or password; give the key's variable with keyEnv."
                .to_owned(),
        );
    }
    let plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#' | b'"' | b'\\');
    if host.is_empty() || url.len() > URL_BYTES_MAX || !url.bytes().all(plain) {
        return Err("The url must be a plain address such as http://127.0.0.1:8080/v1.".to_owned());
    }
    Ok(())
}

/// Checks the name of an environment variable. The error does not repeat the text, which may be a
/// key that was pasted by mistake.
fn check_variable(name: &str) -> Result<(), String> {
    let mut letters = name.bytes();
    let first = letters.next();
    let sound = first.is_some_and(|byte| byte.is_ascii_uppercase() || byte == b'_')
        && letters.all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
        && name.len() <= VARIABLE_CHARS_MAX;
    if sound {
        return Ok(());
    }
    Err("keyEnv is the name of an environment variable in capitals, such as OPENAI_API_KEY; the key itself is never written down.".to_owned())
}

fn invalid(message: impl Into<String>) -> WireError {
    WireError::new(ErrorCode::InvalidParams, message)
}
