//! `model.*`: the models of all configured providers. A model's id is `provider/model`.

use crate::method::{Cli, methods};
use crate::rooms::service::ServiceRole;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

methods! { "models";
    /// Lists the models of every configured provider.
    List = "model.list" {
        params: ListParams, result: Models, scope: Read, effect: Pure,
        cli: Cli::Verb(&[]),
    }
    /// Adds a provider, or changes one.
    Add = "model.add" {
        params: AddParams, result: Provider, scope: Admin, effect: Keyed,
        cli: Cli::Verb(&["name"]),
    }
    /// Removes a provider.
    Remove = "model.remove" {
        params: RemoveParams, result: Removed, scope: Admin, effect: Keyed,
        cli: Cli::Verb(&["name"]),
    }
    /// Asks a model for one word and says how that went.
    Test = "model.test" {
        params: TestParams, result: Tested, scope: Chat, effect: Opaque,
        cli: Cli::Verb(&["model"]),
    }
    /// Points an alias (`default`, `fast`, `smart`, `local`) at models, tried in order.
    Set = "model.set" {
        params: SetParams, result: Alias, scope: Admin, effect: Keyed,
        cli: Cli::Verb(&["alias", "models"]),
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListParams {
    /// Only this provider's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Asks no provider: tells the providers and the aliases, at once, and no models.
    #[serde(default)]
    pub names_only: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Models {
    pub models: Vec<Model>,
    pub providers: Vec<Provider>,
    pub aliases: Vec<Alias>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    /// `provider/model`.
    pub id: String,
    pub provider: String,
    pub name: String,
    /// The window, in tokens, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
}

/// Millionths of a dollar for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Price {
    pub input: u64,
    pub output: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Provider {
    pub name: String,
    pub kind: ProviderKind,
    pub url: String,
    /// The environment variable its key is read from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// Whether it can be asked, and otherwise what is missing.
    pub ready: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The local service that answers; missing for all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<ProviderService>,
}

/// A local service whose models can be asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderService {
    pub role: ServiceRole,
    /// Otherwise it starts when it is asked.
    pub running: bool,
    /// The model it has, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// That is the small model hob installs.
    pub modest: bool,
}

/// The protocol a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProviderKind {
    /// OpenAI's chat completions.
    Openai,
    /// OpenAI's responses.
    OpenaiResponses,
    Anthropic,
    Gemini,
    Ollama,
    /// OpenCode's server: an agent of its own, asked like a model.
    Opencode,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AddParams {
    /// What its models' ids begin with.
    pub name: String,
    pub kind: ProviderKind,
    /// Where it answers; the provider's public address when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The environment variable that holds its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RemoveParams {
    pub name: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Removed {
    pub name: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TestParams {
    /// `provider/model` or an alias.
    pub model: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tested {
    pub model: String,
    pub ok: bool,
    /// What it answered, or why it could not.
    pub message: String,
    pub first_token_ms: Option<u64>,
    pub total_ms: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetParams {
    pub alias: String,
    /// `provider/model`, in the order they are tried.
    pub models: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Alias {
    pub alias: String,
    pub models: Vec<String>,
}
