//! Models that local services serve, and the one door to those services.
//!
//! Invariant: where a service answers is asked for at each call and kept nowhere; asking starts it.

use crate::dialect::{self, Way};
use crate::price;
use crate::providers::Quirks;
use crate::settings::Provider;
use hob_kit::secret::Secret;
use hob_wire::rooms::model::{ProviderKind, ProviderService};
use hob_wire::rooms::service::ServiceRole;
use std::any::Any;
use std::fmt;
use std::future::Future;
use std::pin::Pin;

/// The name of a model nobody named: whichever the service has.
pub(crate) const UNNAMED: &str = "default";

/// A service that can be asked now: it runs, or is here and starts on demand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// The service's name; its provider has the same.
    pub service: String,
    pub role: ServiceRole,
    /// The model it has; none where only the service itself knows.
    pub model: Option<String>,
    /// That model is the small one hob installs, which is asked in a way of its own.
    pub modest: bool,
    /// The protocol it speaks.
    pub kind: ProviderKind,
    /// It answers this moment, without being started first.
    pub running: bool,
}

/// Where a service answers.
pub struct Reach {
    /// `http://HOST:PORT`, without a path.
    pub url: String,
    /// What it must be shown to answer.
    pub password: Option<Secret>,
    /// What answers there, for people, where it was found running and not started by hob.
    pub server: Option<String>,
    /// Held while the service is in use; dropped when the call is over, however it ended.
    pub lease: Option<Box<dyn Any + Send + Sync>>,
}

/// The way to a service; the error is a sentence a person can act on.
pub type Reaching<'a> = Pin<Box<dyn Future<Output = Result<Reach, String>> + Send + 'a>>;

/// Leads to services, starting those that do not run.
pub trait ServiceDoor: Send + Sync {
    fn reach<'a>(&'a self, service: &'a str) -> Reaching<'a>;
}

/// A door behind which there is no service.
#[derive(Clone, Copy, Debug)]
pub struct NoServices;

impl ServiceDoor for NoServices {
    fn reach<'a>(&'a self, service: &'a str) -> Reaching<'a> {
        let refused = format!("There is no service '{service}' here.");
        Box::pin(std::future::ready(Err(refused)))
    }
}

impl Served {
    /// The id of its model.
    pub fn id(&self) -> String {
        format!("{}/{}", self.service, self.model_name())
    }

    pub(crate) fn model_name(&self) -> &str {
        self.model.as_deref().unwrap_or(UNNAMED)
    }

    pub(crate) fn shown(&self) -> ProviderService {
        ProviderService {
            role: self.role,
            running: self.running,
            model: self.model.clone(),
            modest: self.modest,
        }
    }

    /// The provider its models are asked as. Its address comes through the door at each call.
    pub(crate) fn provider(&self) -> Provider {
        Provider {
            name: self.service.clone(),
            kind: self.kind,
            url: String::new(),
            key_env: None,
            quirks: Quirks::COMMON,
            text_tools: dialect::of(self.kind).way() == Way::Session,
            context_tokens: None,
            // An agent's own models are somebody's, who has prices of theirs.
            price: (self.role != ServiceRole::Agent).then_some(price::FREE),
            row: None,
            served: Some(self.clone()),
        }
    }
}

/// The first service of a role: one that runs, else one that starts on demand.
pub(crate) fn first(served: &[Served], role: ServiceRole) -> Option<&Served> {
    let of_role = || served.iter().filter(|one| one.role == role);
    of_role()
        .find(|one| one.running)
        .or_else(|| of_role().next())
}

impl fmt::Debug for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reach")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "served_tests.rs"]
pub(crate) mod tests;
