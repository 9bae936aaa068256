//! How a service that ships is found on a machine.

use crate::descriptor::Descriptor;
use crate::install::Recipe;
use hob_exec::Spawner;
use hob_kit::home::Home;
use hob_kit::settings::Settings;
use hob_kit::world::Env;
use hob_net::Http;
use std::ffi::OsString;
use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;

/// A service that ships.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub descriptor: fn() -> Descriptor,
    /// What there is to start; none: the descriptor's own command.
    pub find: Option<for<'a> fn(&'a Place<'a>) -> Finding<'a>>,
    /// What installing it would do here; none: hob does not install it.
    pub install: Option<for<'a> fn(&'a Place<'a>) -> Planning<'a>>,
}

pub type Finding<'a> = Pin<Box<dyn Future<Output = Found> + Send + 'a>>;

/// The recipe for this machine, or what stands in its way and what to do instead, in a sentence.
pub type Planning<'a> = Pin<Box<dyn Future<Output = Result<Recipe, String>> + Send + 'a>>;

/// Where a service is looked for.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub home: &'a Home,
    pub settings: &'a Settings,
    pub env: &'a Env,
    pub http: &'a Http,
    /// For programs that are asked for their version.
    pub spawner: &'a Spawner,
}

/// What there is to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It runs already and is healthy: it is used, and never stopped.
    Running {
        /// `http://HOST:PORT`, without a path.
        url: String,
        /// What was found, for people.
        what: String,
        /// The model it serves, for services that answer chat completions.
        model: Option<String>,
    },
    /// It can be started so, `{port}` still to be filled in.
    Command {
        argv: Vec<OsString>,
        env: Vec<(OsString, OsString)>,
        cwd: PathBuf,
        what: String,
        model: Option<String>,
        /// The model is the small one hob installs, which must be asked simply.
        modest: bool,
    },
    /// It is not here.
    Missing {
        /// What is missing and what to do, in a sentence.
        why: String,
    },
}

impl fmt::Debug for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").finish_non_exhaustive()
    }
}
