//! One model at one provider, ready to be asked.

use crate::error::ModelError;
use crate::exchange::Exchange;
use crate::keys::KeyDoor;
use crate::profile::{self, Profile};
use crate::prompt::{Piece, Prompt, Reply};
use crate::served::{self, Served, ServiceDoor};
use crate::settings::{Provider, Timeouts};
use crate::{price, table, tokens};
use hob_core::failover::ErrorClass;
use hob_kit::secret::Secret;
use hob_net::Http;
use hob_wire::content::Part;
use hob_wire::rooms::model::Price;
use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// A model at a provider; cheap to clone.
#[derive(Clone)]
pub struct Candidate {
    pub(crate) provider: Arc<Provider>,
    pub(crate) model: String,
    pub(crate) desk: Desk,
}

/// What every call is made with.
#[derive(Clone)]
pub(crate) struct Desk {
    pub(crate) http: Http,
    pub(crate) keys: Arc<dyn KeyDoor>,
    pub(crate) services: Arc<dyn ServiceDoor>,
    pub(crate) timeouts: Timeouts,
}

/// A provider that can be asked at once, for as long as this is held.
pub(crate) struct Open<'p> {
    pub(crate) provider: Cow<'p, Provider>,
    pub(crate) key: Option<Secret>,
    /// The server behind it, where it was found and not configured.
    server: Option<String>,
    _lease: Option<Box<dyn Any + Send + Sync>>,
}

impl Open<'_> {
    pub(crate) fn seal(&self, error: ModelError) -> ModelError {
        error.seal(&self.provider.name, self.key.as_ref())
    }
}

/// The window a model is taken to have where nobody says, in tokens: the smallest of those in the
/// table, so that the models people ask today have it. One with less says that a conversation is
/// too long, and is asked again with a shorter one.
pub const CONTEXT_TOKENS_ASSUMED: u64 = 128_000;

/// What is known of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Facts {
    /// Its window, in tokens.
    pub context_tokens: Option<u64>,
    /// The longest answer it gives, in tokens.
    pub output_tokens: Option<u64>,
    pub price: Option<Price>,
    /// Whether its protocol carries tools; otherwise they go as text, which nobody notices.
    pub native_tools: bool,
    /// What is different about asking it; most are asked alike.
    pub profile: Option<&'static Profile>,
}

impl Candidate {
    /// `provider/model`.
    pub fn id(&self) -> String {
        format!("{}/{}", self.provider.name, self.model)
    }

    pub fn facts(&self) -> Facts {
        let known = known(&self.provider, &self.model);
        Facts {
            context_tokens: self
                .provider
                .context_tokens
                .or(known.map(|known| known.context_tokens)),
            output_tokens: known.map(|known| known.output_tokens),
            price: price_of(&self.provider, &self.model),
            native_tools: !self.provider.text_tools,
            profile: self.is_modest().then_some(&profile::MODEST),
        }
    }

    fn is_modest(&self) -> bool {
        let served = self.provider.served.as_ref();
        served.is_some_and(|served| served.modest && served.model_name() == self.model)
    }

    /// What a call with so many tokens of input costs: some models cost more for long prompts.
    pub fn price_for(&self, input_tokens: u64) -> Option<Price> {
        let listed = || price::price_of_prompt(self.provider.row?.name, &self.model, input_tokens);
        self.provider.price.or_else(listed)
    }

    /// Asks the model, once. `on` gets the pieces as they come, and first of all who is asked, where
    /// nobody configured that; what it got before an error was part of no answer. Dropping the future closes the connection.
    pub async fn ask(
        &self,
        prompt: &Prompt,
        on: &mut (dyn FnMut(Piece) + Send),
    ) -> Result<Reply, ModelError> {
        let open = self.desk.open(&self.provider).await?;
        let model = self.model_at(&open).await;
        if let Some(server) = open.server.clone() {
            let model = model.clone().into_owned();
            on(Piece::Server { server, model });
        }
        let exchange = self.desk.exchange(&open, &model);
        let mut reply = exchange
            .ask(prompt, on)
            .await
            .map_err(|error| open.seal(error))?;
        reply.model = self.id();
        Ok(reply)
    }

    /// What the model is called where it is asked. A service whose model nobody named is asked for
    /// the first it has; one that does not say takes any name.
    async fn model_at(&self, open: &Open<'_>) -> Cow<'_, str> {
        let unnamed = |served: &Served| served.model.is_none() && self.model == served::UNNAMED;
        if !self.provider.served.as_ref().is_some_and(unnamed) {
            return Cow::Borrowed(&self.model);
        }
        let listed = self.desk.exchange(open, "").first_model().await;
        listed.map_or(Cow::Borrowed(self.model.as_str()), Cow::Owned)
    }

    /// About how many tokens some parts are for this model, rather too many than too few.
    pub fn count_tokens(&self, parts: &[Part]) -> u64 {
        tokens::weighed(self.provider.kind, tokens::parts(parts))
    }

    /// About how many tokens all of a prompt is.
    pub fn count_prompt(&self, prompt: &Prompt) -> u64 {
        tokens::weighed(self.provider.kind, tokens::prompt(prompt))
    }
}

impl fmt::Debug for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Candidate").field(&self.id()).finish()
    }
}

impl Desk {
    /// The key of a provider; none where none is needed.
    pub(crate) fn key(&self, provider: &Provider) -> Result<Option<Secret>, ModelError> {
        let Some(variable) = &provider.key_env else {
            return Ok(None);
        };
        match self.keys.key(variable) {
            Some(key) => Ok(Some(key)),
            None => Err(ModelError::new(
                ErrorClass::Auth,
                format!("There is no key: set the variable {variable} where the daemon starts."),
            )
            .seal(&provider.name, None)),
        }
    }

    /// The provider with its key; a local service is reached first, which starts it.
    pub(crate) async fn open<'p>(&self, provider: &'p Provider) -> Result<Open<'p>, ModelError> {
        let Some(served) = &provider.served else {
            return Ok(Open {
                provider: Cow::Borrowed(provider),
                key: self.key(provider)?,
                server: None,
                _lease: None,
            });
        };
        let reached = self.services.reach(&served.service).await;
        // The supervisor has tried what there is to try: asking again mends nothing, another
        // model may.
        let reach = reached
            .map_err(|why| ModelError::new(ErrorClass::Request, why).seal(&provider.name, None))?;
        let mut provider = provider.clone();
        provider.url = reach.url;
        Ok(Open {
            provider: Cow::Owned(provider),
            key: reach.password,
            server: reach.server,
            _lease: reach.lease,
        })
    }

    pub(crate) fn exchange<'a>(&'a self, open: &'a Open<'_>, model: &'a str) -> Exchange<'a> {
        Exchange {
            http: &self.http,
            provider: &open.provider,
            model,
            key: open.key.as_ref(),
            timeouts: self.timeouts,
        }
    }
}

/// What the table knows: only for a provider at its public address, whose list it is.
pub(crate) fn known(provider: &Provider, model: &str) -> Option<&'static table::Known> {
    table::find(provider.row?.name, model)
}

pub(crate) fn price_of(provider: &Provider, model: &str) -> Option<Price> {
    provider
        .price
        .or_else(|| price::price(provider.row?.name, model))
}
