//! `model.*`: the models of all configured providers.
//!
//! - `provider_changes`: changes providers and aliases in the config
//! - `kept_keys`: keeps the key of a provider
//! - `test_call`: asks a model for one word
//! - `pull_plan`, `pull`: downloads of model files; `fetched_models`: the files that are here
//! - `local_choice`: makes a fetched model the one that `local` means
//!
//! Invariants: a provider that does not answer only hides its own models; the config holds no API
//! key, only the name of its variable; a change is on disk and in effect when it is acknowledged.

mod fetched_models;
mod kept_keys;
mod local_choice;
mod provider_changes;
mod pull;
mod pull_plan;
mod test_call;

use crate::RoomContext;
use crate::model_library::ModelLibrary;
use futures_util::future::join_all;
use hob_bus::{Caller, EventEmitter, Room};
use hob_kit::settings::Settings;
use hob_models::{HomeKeys, ModelCatalog, ModelListing};
use hob_wire::rooms::model::{
    Add, KeepKey, List, ModelListParams, ModelListResult, ProviderInfo, Remove, Set, Test,
};
use hob_wire::rooms::model_files::{self, Abort, Catalog, Delete, Downloads, Pull};
use hob_wire::{ErrorCode, WireError};
use pull::PullJobs;
use std::sync::Arc;
use std::time::Duration;

/// Time for one provider to list its models.
const LIST_WAIT: Duration = Duration::from_secs(20);

/// The state that the files of this room share.
struct ModelContext {
    deps: RoomContext,
    library: ModelLibrary,
    /// The pasted keys.
    keys: HomeKeys,
    /// Calls the config room and the services.
    caller: Caller,
    emitter: EventEmitter,
    pulls: PullJobs,
}

impl ModelContext {
    fn settings(&self) -> Arc<Settings> {
        self.deps.settings()
    }

    /// Forgets the pasted key of a provider. Returns false if there is none.
    async fn forget_key(&self, provider: &str) -> Result<bool, WireError> {
        let (keys, provider) = (self.keys.clone(), provider.to_owned());
        // Removing a file blocks.
        let removed = tokio::task::spawn_blocking(move || keys.remove(&provider)).await;
        let removed = removed.map_err(std::io::Error::other).flatten();
        removed.map_err(|error| {
            let message = format!("The kept key could not be removed: {error}.");
            WireError::new(ErrorCode::MethodError, message)
        })
    }

    /// Returns the models as they are configured now.
    fn book(&self) -> ModelCatalog {
        self.library.models(&self.deps)
    }
}

/// Serves the room `models`.
pub fn serve(
    context: &RoomContext,
    library: &ModelLibrary,
    keys: HomeKeys,
) -> Result<(), WireError> {
    let models = ModelContext {
        deps: context.clone(),
        library: library.clone(),
        keys,
        caller: context.bus.caller("models"),
        emitter: context.bus.emitter("models"),
        pulls: PullJobs::default(),
    };
    let room = Room::new("models")
        .events(model_files::EVENTS)
        .state(Arc::new(models))
        .method(List, list)
        .method(Add, provider_changes::add)
        .method(Remove, provider_changes::remove)
        .method(Test, test_call::test)
        .method(Set, provider_changes::set)
        .method(KeepKey, kept_keys::keep)
        .method(Catalog, fetched_models::catalog)
        .method(Pull, pull::pull)
        .method(Abort, pull::abort)
        .method(Downloads, fetched_models::downloads)
        .method(Delete, fetched_models::delete);
    context.bus.serve(room)
}

async fn list(
    context: &ModelContext,
    params: ModelListParams,
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
