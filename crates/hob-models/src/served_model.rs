//! Models served by local services, and the resolver that reaches those services.
//!
//! Invariant: the address of a service is resolved for each call and never stored. Resolving
//! starts the service.

use crate::dialect::{self, AnswerTransport};
use crate::price;
use crate::profile;
use crate::providers::ProviderQuirks;
use crate::settings::ProviderConfig;
use hob_kit::secret::Secret;
use hob_wire::rooms::model::{ProviderKind, ProviderService};
use hob_wire::rooms::service::ServiceRole;
use std::any::Any;
use std::fmt;
use std::future::Future;
use std::pin::Pin;

/// The model name that stands for whichever model the service has.
pub(crate) const UNNAMED: &str = "default";

/// A service that is ready: it runs, or it is installed and starts on demand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedModel {
    /// The name of the service and of its provider.
    pub service: String,
    pub role: ServiceRole,
    /// The loaded model; `None` if only the service knows.
    pub model: Option<String>,
    /// True for the small model that hob installs, which has its own [`ModelProfile`](crate::ModelProfile).
    pub modest: bool,
    /// The protocol it speaks.
    pub kind: ProviderKind,
    /// True if the service runs now.
    pub running: bool,
    /// The window that the service was started with; `None` if only the service knows.
    pub context_tokens: Option<u64>,
}

/// The address of a running service.
pub struct ServiceEndpoint {
    /// `http://HOST:PORT`, without a path.
    pub url: String,
    /// The password the service requires.
    pub password: Option<Secret>,
    /// The display name of a server that hob found running and did not start.
    pub server: Option<String>,
    /// Marks the service as in use. Dropped when the call ends, however it ends.
    pub lease: Option<Box<dyn Any + Send + Sync>>,
}

/// The result of resolving a service. The error is a sentence a person can act on.
pub type ServiceEndpointFuture<'a> =
    Pin<Box<dyn Future<Output = Result<ServiceEndpoint, String>> + Send + 'a>>;

/// Resolves services to addresses and starts those that do not run.
pub trait ServiceResolver: Send + Sync {
    fn reach<'a>(&'a self, service: &'a str) -> ServiceEndpointFuture<'a>;
}

/// A resolver without services.
#[derive(Clone, Copy, Debug)]
pub struct NoServices;

impl ServiceResolver for NoServices {
    fn reach<'a>(&'a self, service: &'a str) -> ServiceEndpointFuture<'a> {
        let refused = format!("There is no service '{service}' here.");
        Box::pin(std::future::ready(Err(refused)))
    }
}

impl ServedModel {
    /// The model id, `service/model`.
    pub fn id(&self) -> String {
        format!("{}/{}", self.service, self.model_name())
    }

    pub(crate) fn model_name(&self) -> &str {
        self.model.as_deref().unwrap_or(UNNAMED)
    }

    pub(crate) fn to_wire(&self) -> ProviderService {
        ProviderService {
            role: self.role,
            running: self.running,
            model: self.model.clone(),
            modest: self.modest,
        }
    }

    /// The provider configuration of this service. The address is empty: it is resolved at each call.
    pub(crate) fn to_provider_config(&self) -> ProviderConfig {
        ProviderConfig {
            name: self.service.clone(),
            kind: self.kind,
            url: String::new(),
            key_env: None,
            quirks: ProviderQuirks::COMMON,
            text_tools: dialect::for_kind(self.kind).transport() == AnswerTransport::Session,
            context_tokens: if self.modest {
                Some(profile::MODEST.context_tokens)
            } else {
                self.context_tokens
            },
            // The models behind an agent belong to other providers, which may charge for them.
            price: (self.role != ServiceRole::Agent).then_some(price::FREE),
            row: None,
            served: Some(self.clone()),
        }
    }
}

/// Returns the first running service of a role, else the first that starts on demand.
pub(crate) fn first_with_role(served: &[ServedModel], role: ServiceRole) -> Option<&ServedModel> {
    let of_role = || served.iter().filter(|one| one.role == role);
    of_role()
        .find(|one| one.running)
        .or_else(|| of_role().next())
}

impl fmt::Debug for ServiceEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceEndpoint")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "served_model_tests.rs"]
pub(crate) mod tests;
