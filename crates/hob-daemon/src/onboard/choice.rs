//! `onboard.choose`: carries out the effects of a choice.

use super::{OFFER, OnboardContext};
use hob_core::failover::ErrorClass;
use hob_core::onboarding::{
    KeyTrial, OnboardingChoice, OnboardingEffect, OnboardingEnd, OnboardingEvent,
    OnboardingMachine, check_key,
};
use hob_kit::secret::Secret;
use hob_models::{ModelSources, key_providers};
use hob_services::llm;
use hob_wire::rooms::config::{ConfigSetParams, Set as ConfigSet};
use hob_wire::rooms::model::{ModelSetParams, Set as ModelSet};
use hob_wire::rooms::model_files::{ModelPullParams, Pull};
use hob_wire::rooms::onboard::{OnboardChooseParams, OnboardChooseResult, OnboardOutcome};
use hob_wire::rooms::service::{Install, ServiceInstallParams, ServiceSelector, Stop};
use hob_wire::{ErrorCode, WireError};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Time for a provider to answer with a pasted key.
const TRIAL_WAIT: Duration = Duration::from_secs(10);

/// Carries out a choice.
pub(super) async fn choose(
    context: &OnboardContext,
    params: OnboardChooseParams,
) -> Result<OnboardChooseResult, WireError> {
    let key = match params.key.as_deref().map(check_key) {
        None => None,
        Some(Ok(key)) => {
            // Masked before anything else can see it.
            context.deps.mask.add(key);
            Some(Secret::new(key))
        }
        Some(Err(wrong)) => return Ok(refused(wrong.sentence().to_owned())),
    };
    let _guard = context.choosing.lock().await;
    let settings = context.deps.settings();
    let (facts, _) = context.machine_facts(&settings).await;
    let choice = OnboardingChoice {
        option: params.option,
        provider: params.provider,
        has_key: key.is_some(),
        model: params.model,
    };
    let mut machine = OnboardingMachine::new(&facts, &choice)
        .map_err(|refusal| WireError::new(ErrorCode::InvalidParams, refusal.sentence()))?;
    let mut effects = Vec::new();
    machine.begin(&mut effects);
    while let Some(effect) = effects.pop() {
        let event = match effect {
            OnboardingEffect::Finish(end) => return Ok(result_of(end)),
            effect => context.carry_out(effect, key.as_ref()).await,
        };
        machine.step(event, &mut effects);
    }
    Err(WireError::new(
        ErrorCode::Internal,
        "The choice did not come to an end.",
    ))
}

impl OnboardContext {
    async fn carry_out(&self, effect: OnboardingEffect, key: Option<&Secret>) -> OnboardingEvent {
        let done = match effect {
            OnboardingEffect::TryKey { provider } => {
                return OnboardingEvent::KeyTried(self.try_key(&provider, key).await);
            }
            OnboardingEffect::StoreKey { provider } => self.store_key(provider, key).await,
            OnboardingEffect::PreferServer { address } => self.prefer_server(&address).await,
            OnboardingEffect::InstallDemo => self.install_demo().await,
            OnboardingEffect::PullModel { name } => self.pull(&name).await,
            OnboardingEffect::SetDefault { model } => self.set_default(model).await,
            OnboardingEffect::StopOffering => self.set_config(OFFER, json!(false)).await,
            OnboardingEffect::Finish(_) => Ok(()),
        };
        match done {
            Ok(()) => OnboardingEvent::Done,
            Err(why) => OnboardingEvent::Failed(why),
        }
    }

    /// Asks the provider for its models with the key, which costs nothing.
    async fn try_key(&self, provider: &str, key: Option<&Secret>) -> KeyTrial {
        let settings = self.deps.settings();
        let providers = key_providers(&settings);
        let provider = providers.iter().find(|it| it.name == provider);
        let (Some(provider), Some(key)) = (provider, key) else {
            return KeyTrial::Untried;
        };
        let sources = ModelSources {
            http: self.deps.http.clone(),
            keys: Arc::new(self.keys.clone()),
            services: Arc::clone(&self.library.services),
            served: Arc::default(),
        };
        let asked = provider.try_key(&settings, sources, key.clone());
        match tokio::time::timeout(TRIAL_WAIT, asked).await {
            Ok(Ok(())) => KeyTrial::Accepted,
            Ok(Err(error)) if error.class == ErrorClass::Auth => KeyTrial::Refused(error.message),
            // Offline, overloaded, or without a list of models: the key may be right.
            Ok(Err(_)) | Err(_) => KeyTrial::Untried,
        }
    }

    async fn store_key(&self, provider: String, key: Option<&Secret>) -> Result<(), String> {
        let Some(key) = key.cloned() else {
            return Err("There is no key to keep.".to_owned());
        };
        let keys = self.keys.clone();
        // Writing a file blocks.
        let stored = tokio::task::spawn_blocking(move || keys.store(&provider, &key)).await;
        match stored {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(format!("The key could not be kept: {error}.")),
            Err(error) => Err(format!("The key could not be kept: {error}.")),
        }
    }

    async fn prefer_server(&self, address: &str) -> Result<(), String> {
        let settings = self.deps.settings();
        let others = settings.list("llm.servers").iter();
        let others = others.filter(|other| *other != address).cloned();
        let addresses: Vec<String> = std::iter::once(address.to_owned()).chain(others).collect();
        self.set_config("llm.servers", json!(addresses)).await?;
        // The server in use is left, so that the next question finds the preferred one.
        let params = ServiceSelector {
            name: llm::NAME.to_owned(),
        };
        let left = self.caller.call::<Stop>(&params).await;
        left.map(drop).map_err(|error| error.message)
    }

    async fn install_demo(&self) -> Result<(), String> {
        let params = ServiceInstallParams {
            name: llm::NAME.to_owned(),
            yes: true,
        };
        let begun = self.caller.call::<Install>(&params).await;
        begun.map(drop).map_err(|error| error.message)
    }

    /// Begins a download, which makes the model `local` when it is complete.
    async fn pull(&self, name: &str) -> Result<(), String> {
        let params = ModelPullParams {
            source: name.to_owned(),
            yes: true,
        };
        let begun = self.caller.call::<Pull>(&params).await;
        begun.map(drop).map_err(|error| error.message)
    }

    async fn set_default(&self, model: String) -> Result<(), String> {
        let params = ModelSetParams {
            alias: "default".to_owned(),
            models: vec![model],
        };
        let set = self.caller.call::<ModelSet>(&params).await;
        set.map(drop).map_err(|error| error.message)
    }

    async fn set_config(&self, key: &str, value: Value) -> Result<(), String> {
        let params = ConfigSetParams {
            key: key.to_owned(),
            value,
        };
        let set = self.caller.call::<ConfigSet>(&params).await;
        set.map(drop).map_err(|error| error.message)
    }
}

fn result_of(end: OnboardingEnd) -> OnboardChooseResult {
    let with_model = |outcome, model: String, message: String| OnboardChooseResult {
        outcome,
        message,
        model: Some(model),
    };
    match end {
        OnboardingEnd::Ready { model } => {
            let message = format!("hob uses {model} from now on.");
            with_model(OnboardOutcome::Ready, model, message)
        }
        OnboardingEnd::Installing { model } => {
            let message = format!("{model} is being installed.");
            with_model(OnboardOutcome::Installing, model, message)
        }
        OnboardingEnd::Declined => OnboardChooseResult {
            outcome: OnboardOutcome::Declined,
            message: "hob asks no more; `hob onboard` shows the choice again.".to_owned(),
            model: None,
        },
        OnboardingEnd::Failed(why) => refused(why),
        OnboardingEnd::Cancelled => refused("The choice was cancelled.".to_owned()),
    }
}

fn refused(message: String) -> OnboardChooseResult {
    OnboardChooseResult {
        outcome: OnboardOutcome::Refused,
        message,
        model: None,
    }
}
