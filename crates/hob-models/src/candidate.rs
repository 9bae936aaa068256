//! One model at one provider.

use crate::error::ModelError;
use crate::exchange::ProviderExchange;
use crate::keys::KeySource;
use crate::profile::{self, ModelProfile};
use crate::prompt::{ModelReply, Prompt, ReplyDelta};
use crate::served_model::{self, ServedModel, ServiceResolver};
use crate::settings::{CallTimeouts, ProviderConfig};
use crate::{known_models, price, tokens};
use hob_core::failover::ErrorClass;
use hob_kit::secret::Secret;
use hob_net::HttpClient;
use hob_wire::content::ContentPart;
use hob_wire::rooms::model::{ModelPrice, ProviderKind};
use hob_wire::rooms::service::ServiceRole;
use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// A model at a provider; cheap to clone.
#[derive(Clone)]
pub struct ModelCandidate {
    pub(crate) provider: Arc<ProviderConfig>,
    pub(crate) model: String,
    pub(crate) deps: ModelCallDeps,
}

/// The dependencies of every call.
#[derive(Clone)]
pub(crate) struct ModelCallDeps {
    pub(crate) http: HttpClient,
    pub(crate) keys: Arc<dyn KeySource>,
    pub(crate) services: Arc<dyn ServiceResolver>,
    pub(crate) timeouts: CallTimeouts,
}

/// A provider with its key and address. A local service stays in use while this is held.
pub(crate) struct ReadyProvider<'p> {
    pub(crate) provider: Cow<'p, ProviderConfig>,
    pub(crate) key: Option<Secret>,
    /// The display name of a server that was found, not configured.
    server: Option<String>,
    _lease: Option<Box<dyn Any + Send + Sync>>,
}

impl ReadyProvider<'_> {
    pub(crate) fn sanitize(&self, error: ModelError) -> ModelError {
        error.sanitize(&self.provider.name, self.key.as_ref())
    }
}

/// The context window assumed for an unknown model, in tokens: the smallest in the table. A model
/// with less rejects the conversation as too long and is called again with a shorter one.
pub const CONTEXT_TOKENS_ASSUMED: u64 = 128_000;
/// The name of the server of the demo model, which hob starts itself.
const DEMO_SERVER: &str = "the demo model";

/// The known limits and price of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelFacts {
    /// The context window, in tokens.
    pub context_tokens: Option<u64>,
    /// The output limit, in tokens.
    pub output_tokens: Option<u64>,
    pub price: Option<ModelPrice>,
    /// True if tools are sent natively; else they are sent as text.
    pub native_tools: bool,
    /// Special request defaults, which most models do not need.
    pub profile: Option<&'static ModelProfile>,
    /// True for a model on this machine: of a service, or of a local provider. Such models fall into
    /// repetitions.
    pub local: bool,
}

impl ModelCandidate {
    /// `provider/model`.
    pub fn id(&self) -> String {
        format!("{}/{}", self.provider.name, self.model)
    }

    pub fn facts(&self) -> ModelFacts {
        let known = known_model(&self.provider, &self.model);
        let profile = self.is_modest().then_some(&profile::MODEST);
        ModelFacts {
            context_tokens: self
                .provider
                .context_tokens
                .or(known.map(|known| known.context_tokens)),
            output_tokens: profile
                .map(|profile| u64::from(profile.output_tokens))
                .or(known.map(|known| known.output_tokens)),
            price: price_of(&self.provider, &self.model),
            native_tools: !self.provider.text_tools,
            profile,
            local: self.is_local(),
        }
    }

    /// The service has one model, whatever name it is asked by.
    fn is_modest(&self) -> bool {
        let served = self.provider.served.as_ref();
        served.is_some_and(|served| served.modest)
    }

    fn is_local(&self) -> bool {
        let provider = &*self.provider;
        let of_row = provider.row.is_some_and(|row| row.local);
        match &provider.served {
            // The models behind an agent are elsewhere.
            Some(served) => served.role != ServiceRole::Agent,
            None => of_row || provider.kind == ProviderKind::Ollama,
        }
    }

    /// The price of a call with that many input tokens. Some models cost more for long prompts.
    pub fn price_for(&self, input_tokens: u64) -> Option<ModelPrice> {
        let listed = || price::price_of_prompt(self.provider.row?.name, &self.model, input_tokens);
        self.provider.price.or_else(listed)
    }

    /// Calls the model once. `on` receives the deltas as they arrive; the first one names the server
    /// if it was found, not configured, and the demo model. Deltas before an error belong to no answer. Dropping the
    /// future closes the connection.
    pub async fn ask(
        &self,
        prompt: &Prompt,
        on: &mut (dyn FnMut(ReplyDelta) + Send),
    ) -> Result<ModelReply, ModelError> {
        let open = self.deps.open(&self.provider).await?;
        let model = self.resolve_model_name(&open).await;
        let demo = self.is_modest();
        if open.server.is_some() || demo {
            // A demo is named before it answers, so that nobody takes it for more.
            on(ReplyDelta::Server {
                server: open
                    .server
                    .clone()
                    .unwrap_or_else(|| DEMO_SERVER.to_owned()),
                model: model.clone().into_owned(),
                demo,
            });
        }
        let exchange = self.deps.exchange(&open, &model);
        let mut reply = exchange
            .ask(prompt, on)
            .await
            .map_err(|error| open.sanitize(error))?;
        reply.model = self.id();
        Ok(reply)
    }

    /// The model name to send. If the service's model is unknown, this is the first model it lists;
    /// a service without a list accepts any name.
    async fn resolve_model_name(&self, open: &ReadyProvider<'_>) -> Cow<'_, str> {
        let unnamed =
            |served: &ServedModel| served.model.is_none() && self.model == served_model::UNNAMED;
        if !self.provider.served.as_ref().is_some_and(unnamed) {
            return Cow::Borrowed(&self.model);
        }
        let listed = self.deps.exchange(open, "").first_model().await;
        listed.map_or(Cow::Borrowed(self.model.as_str()), Cow::Owned)
    }

    /// Estimates the tokens of the parts for this model, rather too high than too low.
    pub fn count_tokens(&self, parts: &[ContentPart]) -> u64 {
        tokens::scale_for(self.provider.kind, tokens::parts(parts))
    }

    /// Estimates the tokens of a whole prompt.
    pub fn count_prompt(&self, prompt: &Prompt) -> u64 {
        tokens::scale_for(self.provider.kind, tokens::prompt(prompt))
    }
}

impl fmt::Debug for ModelCandidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ModelCandidate").field(&self.id()).finish()
    }
}

impl ModelCallDeps {
    /// Returns the key of a provider; `None` if it needs none.
    pub(crate) fn key(&self, provider: &ProviderConfig) -> Result<Option<Secret>, ModelError> {
        let Some(variable) = &provider.key_env else {
            return Ok(None);
        };
        match self.keys.key(variable) {
            Some(key) => Ok(Some(key)),
            None => Err(ModelError::new(
                ErrorClass::Auth,
                format!("There is no key: set the variable {variable} where the daemon starts."),
            )
            .sanitize(&provider.name, None)),
        }
    }

    /// Returns the provider with its key. Resolves a local service first, which starts it.
    pub(crate) async fn open<'p>(
        &self,
        provider: &'p ProviderConfig,
    ) -> Result<ReadyProvider<'p>, ModelError> {
        let Some(served) = &provider.served else {
            return Ok(ReadyProvider {
                provider: Cow::Borrowed(provider),
                key: self.key(provider)?,
                server: None,
                _lease: None,
            });
        };
        let reached = self.services.reach(&served.service).await;
        // The supervisor has already retried, so the class is one that goes to the next model
        // instead of retrying this one.
        let reach = reached.map_err(|why| {
            ModelError::new(ErrorClass::Request, why).sanitize(&provider.name, None)
        })?;
        let mut provider = provider.clone();
        provider.url = reach.url;
        Ok(ReadyProvider {
            provider: Cow::Owned(provider),
            key: reach.password,
            server: reach.server,
            _lease: reach.lease,
        })
    }

    pub(crate) fn exchange<'a>(
        &'a self,
        open: &'a ReadyProvider<'_>,
        model: &'a str,
    ) -> ProviderExchange<'a> {
        ProviderExchange {
            http: &self.http,
            provider: &open.provider,
            model,
            key: open.key.as_ref(),
            timeouts: self.timeouts,
        }
    }
}

/// Looks a model up in the table, which covers only providers at their public URLs.
pub(crate) fn known_model(
    provider: &ProviderConfig,
    model: &str,
) -> Option<&'static known_models::KnownModel> {
    known_models::find(provider.row?.name, model)
}

pub(crate) fn price_of(provider: &ProviderConfig, model: &str) -> Option<ModelPrice> {
    provider
        .price
        .or_else(|| price::price(provider.row?.name, model))
}
