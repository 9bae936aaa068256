//! The models hob can ask: one folder per protocol, one row per provider.
//!
//! - [`ModelCatalog`]: every configured provider and alias; resolves a name to [`ModelCandidate`]s
//! - [`ModelCandidate::ask`]: one attempt at one model; the caller retries and fails over
//! - [`Prompt`], [`ReplyDelta`], [`ModelReply`], [`ModelError`]: the provider-neutral request and answer
//! - [`KeySource`], [`HomeKeys`]: the source of API keys; [`key_providers`]: who needs one
//! - [`ServedModel`], [`ServiceResolver`]: models of local services, and how to reach them
//! - [`price`]: list prices and the cost of a call
//! - `openai_chat`, `openai_responses`, `anthropic`, `gemini`: the protocols, each a request
//!   builder and a stream decoder, both pure
//! - `opencode`: an agent of its own, asked in a session like a model
//! - `providers`: the providers, as data
//!
//! Invariants: an answer is returned whole or not at all; an incomplete tool call never becomes
//! runnable; no error, log line or `Debug` output holds a key; every read has a bound.

mod anthropic;
mod candidate;
mod dialect;
mod error;
mod exchange;
mod gemini;
mod history;
mod key_providers;
mod keys;
mod known_models;
mod model_catalog;
mod openai_chat;
mod openai_responses;
mod opencode;
pub mod price;
mod profile;
mod prompt;
mod provider_refusal;
mod providers;
mod reasoning;
#[cfg(test)]
#[path = "recorded_tests.rs"]
mod recorded;
mod reply_builder;
mod schema;
mod served_model;
mod settings;
mod text_tools;
mod tokens;
mod tool_id;
mod usage;

pub use candidate::{CONTEXT_TOKENS_ASSUMED, ModelCandidate, ModelFacts};
pub use error::{ModelError, ResolveError};
pub use key_providers::{KeyProvider, key_providers, needs_key};
pub use keys::{EnvKeys, HomeKeys, KeyOrigin, KeySource};
pub use model_catalog::{ModelCatalog, ModelListing, ModelSources};
pub use profile::ModelProfile;
pub use prompt::{ModelReply, Prompt, PromptMessage, ReplyDelta, StopReason, ToolDefinition};
pub use served_model::{
    NoServices, ServedModel, ServiceEndpoint, ServiceEndpointFuture, ServiceResolver,
};
pub use settings::{ALIASES, KEYS, KINDS, is_name};
