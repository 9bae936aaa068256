//! `model.*`: the models of all configured providers. A model's id is `provider/model`.

use crate::method::{CliExposure, methods};
use crate::rooms::service::ServiceRole;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

methods! { "models";
    /// Lists the models of every configured provider.
    List = "model.list" {
        params: ModelListParams, result: ModelListResult, scope: Read, effect: Pure,
        cli: CliExposure::Verb(&[]),
    }
    /// Adds or changes a provider.
    Add = "model.add" {
        params: ModelAddParams, result: ProviderInfo, scope: Admin, effect: Keyed,
        cli: CliExposure::Verb(&["name"]),
    }
    /// Removes a provider.
    Remove = "model.remove" {
        params: ModelRemoveParams, result: ModelRemoveResult, scope: Admin, effect: Keyed,
        cli: CliExposure::Verb(&["name"]),
    }
    /// Tests a model: asks it for one word and reports the result.
    Test = "model.test" {
        params: ModelTestParams, result: ModelTestResult, scope: Chat, effect: Opaque,
        cli: CliExposure::Verb(&["model"]),
    }
    /// Points an alias (`default`, `fast`, `smart`, `local`) at models, tried in order.
    Set = "model.set" {
        params: ModelSetParams, result: ModelAlias, scope: Admin, effect: Keyed,
        cli: CliExposure::Verb(&["alias", "models"]),
    }
    /// Keeps the API key of a provider in hob's home, without trying it. Never replaces a kept key.
    KeepKey = "model.keep_key" {
        params: ModelKeepKeyParams, result: ModelKeepKeyResult, scope: Admin, effect: Keyed,
        cli: CliExposure::Hidden,
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelListParams {
    /// Only models of this provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Returns only providers and aliases, without asking the providers for their models.
    #[serde(default)]
    pub names_only: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelListResult {
    pub models: Vec<ModelInfo>,
    pub providers: Vec<ProviderInfo>,
    pub aliases: Vec<ModelAlias>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    /// `provider/model`.
    pub id: String,
    pub provider: String,
    pub name: String,
    /// The context window in tokens, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<ModelPrice>,
}

/// Prices in millionths of a dollar per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelPrice {
    pub input: u64,
    pub output: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderInfo {
    pub name: String,
    pub kind: ProviderKind,
    pub url: String,
    /// The environment variable that holds its API key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// True if it can be used. Otherwise `message` says what is missing.
    pub ready: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The local service behind it; missing for remote providers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<ProviderService>,
}

/// A local service that provides models.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderService {
    pub role: ServiceRole,
    /// True if it is running. Otherwise it starts on demand.
    pub running: bool,
    /// Its model, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// True if that is the small model that hob installs.
    pub modest: bool,
}

/// The protocol of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProviderKind {
    /// The OpenAI chat completions API.
    Openai,
    /// The OpenAI responses API.
    OpenaiResponses,
    Anthropic,
    Gemini,
    Ollama,
    /// An OpenCode server: a complete agent that is used like a model.
    Opencode,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelAddParams {
    /// The provider's name, which is the prefix of its models' ids.
    pub name: String,
    pub kind: ProviderKind,
    /// The base URL; the provider's public address when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The environment variable that holds its API key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelRemoveParams {
    pub name: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelRemoveResult {
    pub name: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelTestParams {
    /// `provider/model` or an alias.
    pub model: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelTestResult {
    pub model: String,
    pub ok: bool,
    /// The answer, or the reason for the failure.
    pub message: String,
    pub first_token_ms: Option<u64>,
    pub total_ms: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelSetParams {
    pub alias: String,
    /// Models as `provider/model`, in the order they are tried.
    pub models: Vec<String>,
}

#[derive(Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelKeepKeyParams {
    /// A built-in provider that needs a key.
    pub provider: String,
    pub key: String,
}

impl std::fmt::Debug for ModelKeepKeyParams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Without the key.
        f.debug_struct("ModelKeepKeyParams")
            .field("provider", &self.provider)
            .finish_non_exhaustive()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelKeepKeyResult {
    pub provider: String,
    pub outcome: KeepKeyOutcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KeepKeyOutcome {
    /// The key is kept from now on.
    Kept,
    /// The same key was kept already.
    Present,
    /// Another key is kept, and stays.
    Different,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelAlias {
    pub alias: String,
    pub models: Vec<String>,
}
