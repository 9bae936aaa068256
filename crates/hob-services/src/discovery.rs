//! Finding a shipped service on a machine.

use crate::descriptor::ServiceDescriptor;
use crate::install::InstallRecipe;
use hob_exec::Spawner;
use hob_kit::home::Home;
use hob_kit::host_environment::EnvVars;
use hob_kit::settings::Settings;
use hob_net::HttpClient;
use std::ffi::OsString;
use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;

/// A service that ships with hob.
#[derive(Clone, Copy, Debug)]
pub struct ShippedService {
    pub descriptor: fn() -> ServiceDescriptor,
    /// Finds the service on this machine; none: start the descriptor's own command.
    pub find: Option<for<'a> fn(&'a DiscoveryContext<'a>) -> FindFuture<'a>>,
    /// Returns the recipe for this machine; none: hob does not install it.
    pub install: Option<for<'a> fn(&'a DiscoveryContext<'a>) -> RecipeFuture<'a>>,
}

pub type FindFuture<'a> = Pin<Box<dyn Future<Output = FoundService> + Send + 'a>>;

/// The recipe for this machine, or a sentence with the obstacle and the alternatives.
pub type RecipeFuture<'a> =
    Pin<Box<dyn Future<Output = Result<InstallRecipe, String>> + Send + 'a>>;

/// The machine and settings in which a service is searched.
#[derive(Clone, Copy)]
pub struct DiscoveryContext<'a> {
    pub home: &'a Home,
    pub settings: &'a Settings,
    pub env: &'a EnvVars,
    pub http: &'a HttpClient,
    /// Runs programs to ask for their version.
    pub spawner: &'a Spawner,
}

/// The result of finding a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundService {
    /// It runs already and is healthy. It is used and never stopped.
    Running {
        /// `http://HOST:PORT`, without a path.
        url: String,
        /// A description of the server, for messages.
        what: String,
        /// The model it serves, for services that answer chat completions.
        model: Option<String>,
    },
    /// It can be started by this command, in which `{port}` is filled in later.
    Command {
        argv: Vec<OsString>,
        env: Vec<(OsString, OsString)>,
        cwd: PathBuf,
        what: String,
        model: Option<String>,
        /// True for the small model that hob installs, which needs simple prompts.
        modest: bool,
    },
    /// It is not on this machine.
    Missing {
        /// A sentence with what is missing and what to do.
        why: String,
    },
}

impl fmt::Debug for DiscoveryContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").finish_non_exhaustive()
    }
}
