//! `model.*`: the models of all configured providers.
//!
//! - `provider_changes`: changes providers and aliases in the config
//! - `test_call`: asks a model for one word
//!
//! Invariants: a provider that does not answer only hides its own models; the config holds no API
//! key, only the name of its variable; a change is on disk and in effect when it is acknowledged.

mod provider_changes;
mod test_call;

use crate::model_library::ModelLibrary;
use futures_util::future::join_all;
use hob_bus::{Bus, Caller, Room};
use hob_kit::clock::Clock;
use hob_kit::randomness::Randomness;
use hob_kit::settings::Settings;
use hob_models::{ModelCatalog, ModelListing};
use hob_store::Store;
use hob_wire::rooms::model::{
    Add, List, ModelListParams, ModelListResult, ProviderInfo, Remove, Set, Test,
};
use hob_wire::{ErrorCode, WireError};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Time for one provider to list its models.
const LIST_WAIT: Duration = Duration::from_secs(20);

/// The dependencies of the room.
pub struct ModelDeps {
    pub bus: Bus,
    /// Keeps the cost of tests in the ledger.
    pub store: Store,
    pub clock: Clock,
    pub randomness: Randomness,
    pub library: ModelLibrary,
}

impl fmt::Debug for ModelDeps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelDeps").finish_non_exhaustive()
    }
}

/// The dependencies, and a caller for the config room.
struct ModelContext {
    deps: ModelDeps,
    caller: Caller,
}

impl ModelContext {
    fn settings(&self) -> Arc<Settings> {
        self.deps.library.settings()
    }

    /// Returns the models as they are configured now.
    fn book(&self) -> ModelCatalog {
        self.deps.library.models()
    }
}

/// Builds the room `models`.
pub fn room(deps: ModelDeps) -> Room {
    let caller = deps.bus.caller("models");
    let context = Arc::new(ModelContext { deps, caller });
    let of = |context: &Arc<ModelContext>| Arc::clone(context);
    let (lists, tests) = (of(&context), of(&context));
    let (adds, removes, sets) = (of(&context), of(&context), context);
    Room::new("models")
        .method::<List, _, _>(move |_, params| {
            let context = of(&lists);
            async move { list(&context, &params).await }
        })
        .method::<Add, _, _>(move |_, params| {
            let context = of(&adds);
            async move { provider_changes::add(&context, params).await }
        })
        .method::<Remove, _, _>(move |_, params| {
            let context = of(&removes);
            async move { provider_changes::remove(&context, params).await }
        })
        .method::<Test, _, _>(move |_, params| {
            let context = of(&tests);
            async move { test_call::test(&context, &params.model).await }
        })
        .method::<Set, _, _>(move |_, params| {
            let context = of(&sets);
            async move { provider_changes::set(&context, params).await }
        })
}

async fn list(
    context: &ModelContext,
    params: &ModelListParams,
) -> Result<ModelListResult, WireError> {
    let book = context.book();
    let mut providers = book.providers();
    if let Some(wanted) = &params.provider {
        providers.retain(|provider| provider.name == *wanted);
        if providers.is_empty() {
            let known = book.providers();
            let known: Vec<&str> = known.iter().map(|it| it.name.as_str()).collect();
            let message = format!(
                "No provider is called '{}'. Configured are: {}.",
                wanted.chars().take(64).collect::<String>(),
                if known.is_empty() {
                    "none".to_owned()
                } else {
                    known.join(", ")
                }
            );
            return Err(WireError::new(ErrorCode::NotFound, message));
        }
    }
    // A provider without its key is not asked; its message says so already.
    let ready = providers.iter();
    let ready = ready.filter(|provider| provider.ready && !params.names_only);
    let asked = ready.map(|provider| listing(&book, provider));
    let mut models = Vec::new();
    for listing in join_all(asked).await {
        models.extend(listing.models);
        for (name, problem) in listing.problems {
            for provider in providers.iter_mut().filter(|it| it.name == name) {
                provider.ready = false;
                provider.message = Some(problem.message.clone());
            }
        }
    }
    Ok(ModelListResult {
        models,
        providers,
        aliases: book.aliases(),
    })
}

/// Lists the models of one provider, within [`LIST_WAIT`] even if its answer never ends.
async fn listing(book: &ModelCatalog, provider: &ProviderInfo) -> ModelListing {
    let name = &provider.name;
    let listed = tokio::time::timeout(LIST_WAIT, book.models(Some(name))).await;
    listed.unwrap_or_else(|_| {
        let problem = hob_models::ModelError {
            class: hob_core::failover::ErrorClass::Timeout,
            message: format!(
                "{name}: the list of models took longer than {} seconds.",
                LIST_WAIT.as_secs()
            ),
            retry_after_ms: None,
        };
        ModelListing {
            models: Vec::new(),
            problems: vec![(name.clone(), problem)],
        }
    })
}
