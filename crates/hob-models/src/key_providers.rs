//! The providers that a person can use with a key alone.

use crate::error::ModelError;
use crate::keys::TrialKeys;
use crate::model_catalog::{ModelCatalog, ModelSources};
use crate::{providers, settings};
use hob_kit::secret::Secret;
use hob_kit::settings::Settings;
use std::sync::Arc;

/// A provider that needs a key, and has a model to begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyProvider {
    pub name: &'static str,
    /// The environment variable of its key.
    pub variable: &'static str,
    /// Its model for the alias `default`.
    pub model: &'static str,
}

/// The built-in providers that need a key, in order of preference. One that is configured with an
/// address of its own is among them only if it still takes the key of its variable.
pub fn key_providers(settings: &Settings) -> Vec<KeyProvider> {
    let configured = settings::providers(settings, &|_| false);
    let rows = providers::ROWS.iter().filter_map(|row| {
        let variable = row.key_env?;
        let own = configured.iter().find(|it| it.name == row.name);
        let takes_key = own.is_none_or(|own| own.key_env.as_deref() == Some(variable));
        (takes_key && !row.suggested.default.is_empty()).then_some(KeyProvider {
            name: row.name,
            variable,
            model: row.suggested.default,
        })
    });
    rows.collect()
}

/// Returns true for a built-in provider that needs a key.
pub fn needs_key(provider: &str) -> bool {
    providers::row(provider).is_some_and(|row| row.key_env.is_some())
}

impl KeyProvider {
    /// Asks the provider for its list of models with this key.
    pub async fn try_key(
        &self,
        settings: &Settings,
        sources: ModelSources,
        key: Secret,
    ) -> Result<(), ModelError> {
        let keys = Arc::new(TrialKeys {
            others: Arc::clone(&sources.keys),
            variable: self.variable.to_owned(),
            key,
        });
        let catalog = ModelCatalog::new(settings, ModelSources { keys, ..sources });
        let listing = catalog.models(Some(self.name)).await;
        match listing.problems.into_iter().next() {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }
}
