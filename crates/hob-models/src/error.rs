//! Errors of this crate. Invariant: no message holds a key or an unbounded part of a provider's
//! response.

use hob_core::failover::ErrorClass;
use hob_kit::mask::SecretMask;
use hob_kit::secret::Secret;
use hob_net::NetError;

/// The length limit of a message.
const MESSAGE_CHARS_MAX: usize = 600;

/// Why a model call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    pub class: ErrorClass,
    /// A sentence a person can act on.
    pub message: String,
    /// The delay the provider asks for before a retry.
    pub retry_after_ms: Option<u64>,
}

impl ModelError {
    pub(crate) fn new(class: ErrorClass, message: impl Into<String>) -> ModelError {
        ModelError {
            class,
            message: message.into(),
            retry_after_ms: None,
        }
    }

    /// An answer that violates its protocol.
    pub(crate) fn protocol(message: impl Into<String>) -> ModelError {
        ModelError::new(ErrorClass::Protocol, message)
    }

    /// A stream that ended before its answer did.
    pub(crate) fn stream_cut() -> ModelError {
        ModelError::new(
            ErrorClass::Network,
            "The stream ended before the answer did.",
        )
    }

    /// Prepares the error to leave this crate: adds the provider's name, masks the key, limits the
    /// length and removes control characters.
    pub(crate) fn sanitize(mut self, provider: &str, key: Option<&Secret>) -> ModelError {
        let mask = SecretMask::new();
        if let Some(key) = key {
            mask.add(key.expose());
        }
        // Masked before it is cut, because half a key would not be recognised.
        let masked = mask.apply(&self.message);
        let plain = masked
            .chars()
            .map(|letter| if letter.is_control() { ' ' } else { letter });
        let mut text = format!("{provider}: ");
        text.extend(plain.take(MESSAGE_CHARS_MAX));
        self.message = text;
        self
    }
}

impl From<NetError> for ModelError {
    fn from(failure: NetError) -> ModelError {
        let class = match &failure {
            NetError::Refused(_) => ErrorClass::Request,
            NetError::Connect { .. } | NetError::Cut { .. } | NetError::Client(_) => {
                ErrorClass::Network
            }
            NetError::Silent { .. } => ErrorClass::Timeout,
            NetError::TooLarge { .. } | NetError::Garbage { .. } => ErrorClass::Protocol,
        };
        ModelError::new(class, failure.to_string())
    }
}

/// Errors of resolving a model name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    #[error(
        "No model is set. Name one with `hob model set default PROVIDER/MODEL`, or set the key of a provider, such as ANTHROPIC_API_KEY."
    )]
    NothingConfigured,
    #[error(
        "No model or alias is called {wanted:?}. A model is written PROVIDER/MODEL; the aliases are {aliases}."
    )]
    UnknownName { wanted: String, aliases: String },
    #[error(
        "No provider is called {provider:?}. Configured are: {known}. Add one with `hob model add {provider} --kind KIND --url URL`."
    )]
    UnknownProvider { provider: String, known: String },
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
