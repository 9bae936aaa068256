//! `model.*`: the models of all configured providers.
//!
//! - `change`: providers and aliases in the config, written by the config room
//! - `trial`: asking a model for one word
//!
//! Invariants: a provider that does not answer costs its own models and nothing else; no key is in
//! the config, only the name of its variable; what is changed is on disk and in effect when it is
//! acknowledged.

mod change;
mod trial;

use crate::library::Library;
use futures_util::future::join_all;
use hob_bus::{Bus, Caller, Room};
use hob_kit::clock::Clock;
use hob_kit::dice::Dice;
use hob_kit::settings::Settings;
use hob_models::{Book, Listing};
use hob_store::Store;
use hob_wire::rooms::model::{Add, List, ListParams, Models, Provider, Remove, Set, Test};
use hob_wire::{ErrorCode, WireError};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How long one provider may take to list its models.
const LIST_WAIT: Duration = Duration::from_secs(20);

/// What the room is made of.
pub struct Parts {
    pub bus: Bus,
    /// Where the cost of a test is kept.
    pub store: Store,
    pub clock: Clock,
    pub dice: Dice,
    pub library: Library,
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").finish_non_exhaustive()
    }
}

/// The parts, and a way to the config room.
struct Shared {
    parts: Parts,
    caller: Caller,
}

impl Shared {
    fn settings(&self) -> Arc<Settings> {
        self.parts.library.settings()
    }

    /// The models as they are configured this moment.
    fn book(&self) -> Book {
        self.parts.library.book()
    }
}

/// The service `models`.
pub fn room(parts: Parts) -> Room {
    let caller = parts.bus.caller("models");
    let shared = Arc::new(Shared { parts, caller });
    let of = |shared: &Arc<Shared>| Arc::clone(shared);
    let (lists, tests) = (of(&shared), of(&shared));
    let (adds, removes, sets) = (of(&shared), of(&shared), shared);
    Room::new("models")
        .method::<List, _, _>(move |_, params| {
            let shared = of(&lists);
            async move { list(&shared, &params).await }
        })
        .method::<Add, _, _>(move |_, params| {
            let shared = of(&adds);
            async move { change::add(&shared, params).await }
        })
        .method::<Remove, _, _>(move |_, params| {
            let shared = of(&removes);
            async move { change::remove(&shared, params).await }
        })
        .method::<Test, _, _>(move |_, params| {
            let shared = of(&tests);
            async move { trial::test(&shared, &params.model).await }
        })
        .method::<Set, _, _>(move |_, params| {
            let shared = of(&sets);
            async move { change::set(&shared, params).await }
        })
}

async fn list(shared: &Shared, params: &ListParams) -> Result<Models, WireError> {
    let book = shared.book();
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
    // One that lacks its key has said so already.
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
    Ok(Models {
        models,
        providers,
        aliases: book.aliases(),
    })
}

/// The models of one provider. One that drips its list for ever is cut off.
async fn listing(book: &Book, provider: &Provider) -> Listing {
    let name = &provider.name;
    let listed = tokio::time::timeout(LIST_WAIT, book.models(Some(name))).await;
    listed.unwrap_or_else(|_| {
        let problem = hob_models::ModelError {
            class: hob_core::failover::ErrorClass::Timeout,
            message: format!(
                "{name}: its list of models did not end within {} seconds.",
                LIST_WAIT.as_secs()
            ),
            retry_after_ms: None,
        };
        Listing {
            models: Vec::new(),
            problems: vec![(name.clone(), problem)],
        }
    })
}
