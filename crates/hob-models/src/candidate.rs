//! One model at one provider, ready to be asked.

use crate::error::ModelError;
use crate::exchange::Exchange;
use crate::keys::KeyDoor;
use crate::prompt::{Piece, Prompt, Reply};
use crate::settings::{Provider, Timeouts};
use crate::{price, table, tokens};
use hob_core::failover::ErrorClass;
use hob_kit::secret::Secret;
use hob_net::Http;
use hob_wire::content::Part;
use hob_wire::rooms::model::Price;
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
    pub(crate) timeouts: Timeouts,
}

/// What is known of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Its window, in tokens.
    pub context_tokens: Option<u64>,
    /// The longest answer it gives, in tokens.
    pub output_tokens: Option<u64>,
    pub price: Option<Price>,
    /// Whether its protocol carries tools; otherwise they go as text, which nobody notices.
    pub native_tools: bool,
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
        }
    }

    /// What a call with so many tokens of input costs: some models cost more for long prompts.
    pub fn price_for(&self, input_tokens: u64) -> Option<Price> {
        let listed = || price::price_of_prompt(self.provider.row?.name, &self.model, input_tokens);
        self.provider.price.or_else(listed)
    }

    /// Asks the model, once. `on` gets the pieces as they come; what it got before an error was
    /// part of no answer. Dropping the future closes the connection.
    pub async fn ask(
        &self,
        prompt: &Prompt,
        on: &mut (dyn FnMut(Piece) + Send),
    ) -> Result<Reply, ModelError> {
        let key = self.desk.key(&self.provider)?;
        let exchange = self
            .desk
            .exchange(&self.provider, &self.model, key.as_ref());
        let answered = exchange.ask(prompt, on).await;
        answered.map_err(|error| error.seal(&self.provider.name, key.as_ref()))
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

    pub(crate) fn exchange<'a>(
        &'a self,
        provider: &'a Provider,
        model: &'a str,
        key: Option<&'a Secret>,
    ) -> Exchange<'a> {
        Exchange {
            http: &self.http,
            provider,
            model,
            key,
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
