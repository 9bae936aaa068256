//! `onboard.*`: the choice of a first model.
//!
//! - `machine_facts`: what is found on this machine
//! - `choice`: carries out the effects of a choice
//!
//! `hob_core::onboarding` decides. Invariants: looking for options changes nothing and asks nobody
//! but servers of this user; a key is in no answer, event, log line or error; choices are carried out
//! one at a time.

mod choice;
mod machine_facts;

use crate::RoomContext;
use crate::model_library::ModelLibrary;
use hob_bus::{Caller, Room};
use hob_core::onboarding::{self, OnboardingOption, OnboardingOptionKind};
use hob_exec::Spawner;
use hob_kit::settings::{SettingKey, SettingKind, Settings};
use hob_models::{HomeKeys, ModelCatalog};
use hob_services::llm;
use hob_wire::WireError;
use hob_wire::rooms::onboard::{
    Choose, OnboardKind, OnboardOption, OnboardOptionsParams, OnboardOptionsResult, Options,
};
use hob_wire::rooms::service::ServiceRole;
use std::sync::Arc;
use tokio::sync::Mutex;

/// True while the choice is offered.
const OFFER: &str = "onboard.offer";

pub const KEYS: &[SettingKey] = &[SettingKey::new(
    OFFER,
    SettingKind::Bool,
    "true",
    "Whether the first command on a terminal that needs a model offers a choice of models, while none is configured. A choice turns it off, and so does a no.",
)
.live()];

/// The state that the files of this room share.
struct OnboardContext {
    deps: RoomContext,
    library: ModelLibrary,
    keys: HomeKeys,
    spawner: Spawner,
    /// Calls the rooms that carry out the effects.
    caller: Caller,
    /// Held while a choice is carried out. An async lock, because its effects wait.
    choosing: Mutex<()>,
}

/// Serves the room `onboard`.
pub fn serve(
    context: &RoomContext,
    library: &ModelLibrary,
    keys: HomeKeys,
    spawner: Spawner,
) -> Result<(), WireError> {
    let onboard = OnboardContext {
        deps: context.clone(),
        library: library.clone(),
        keys,
        spawner,
        caller: context.bus.caller("onboard"),
        choosing: Mutex::new(()),
    };
    let room = Room::new("onboard")
        .state(Arc::new(onboard))
        .method(Options, options)
        .method(Choose, choice::choose);
    context.bus.serve(room)
}

async fn options(
    context: &OnboardContext,
    params: OnboardOptionsParams,
) -> Result<OnboardOptionsResult, WireError> {
    let settings = context.deps.settings();
    let models = context.library.models(&context.deps);
    let current = models.resolve(None).ok();
    let current = current.as_deref().and_then(<[_]>::first);
    let mut result = OnboardOptionsResult {
        offer: settings.bool(OFFER) && !context.is_configured(&settings, &models),
        model: current.map(hob_models::ModelCandidate::id),
        demo: current.is_some_and(|model| model.facts().profile.is_some()),
        options: Vec::new(),
        notes: Vec::new(),
    };
    if !params.state_only {
        let (facts, notes) = context.machine_facts(&settings).await;
        let options = onboarding::options(&facts).into_iter();
        result.options = options.map(wire_option).collect();
        result.notes = notes;
    }
    Ok(result)
}

fn wire_option(option: OnboardingOption) -> OnboardOption {
    OnboardOption {
        id: option.id,
        kind: match option.kind {
            OnboardingOptionKind::Key => OnboardKind::Key,
            OnboardingOptionKind::Server => OnboardKind::Server,
            OnboardingOptionKind::Pull => OnboardKind::Pull,
            OnboardingOptionKind::Paste => OnboardKind::Paste,
            OnboardingOptionKind::Demo => OnboardKind::Demo,
        },
        title: option.title,
        models: option.models,
        providers: option.providers,
        tools: option.tools,
        download_bytes: option.download_bytes,
        memory_bytes: option.memory_bytes,
        licence: option.licence,
    }
}

impl OnboardContext {
    /// True if a person configured a model: then there is nothing to choose.
    fn is_configured(&self, settings: &Settings, models: &ModelCatalog) -> bool {
        let aliases = hob_models::ALIASES.iter();
        let mut aliases = aliases.map(|alias| settings.list(&format!("model.{alias}")));
        let has_provider = || {
            // A provider without its key cannot answer yet.
            let ready = models.providers().into_iter().filter(|it| it.ready);
            ready.into_iter().any(|provider| {
                let below = format!("models.{}.", provider.name);
                let mut entries = settings.entries();
                entries.any(|(path, _)| path.starts_with(&below))
            })
        };
        let has_service = || {
            let file = format!("{}.toml", llm::NAME);
            let served = self.library.served.borrow();
            let own = |one: &hob_models::ServedModel| {
                one.role == ServiceRole::Llm && one.service != llm::NAME
            };
            served.iter().any(own) || self.deps.home.service_files().join(file).exists()
        };
        aliases.any(|models| !models.is_empty())
            || has_provider()
            || !settings.text("llm.model").trim().is_empty()
            || has_service()
    }
}

impl std::fmt::Debug for OnboardContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OnboardContext").finish_non_exhaustive()
    }
}
