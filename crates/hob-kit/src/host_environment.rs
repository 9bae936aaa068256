//! The inputs from the host, captured once at `main` and handed down: time, randomness,
//! environment variables and home. A test builds its own.

use crate::clock::Clock;
use crate::home::{Home, HomeError};
use crate::randomness::Randomness;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::sync::Arc;

/// Everything the program takes from its host; cheap to clone.
#[derive(Clone, Debug)]
pub struct HostEnvironment {
    pub clock: Clock,
    pub randomness: Randomness,
    pub env: EnvVars,
    pub home: Home,
}

impl HostEnvironment {
    /// Captures the real environment. Called once, at `main`.
    pub fn capture() -> Result<HostEnvironment, HomeError> {
        let env = EnvVars::capture();
        let home = Home::resolve(&env)?;
        Ok(HostEnvironment {
            clock: Clock::system(),
            randomness: Randomness::system(),
            env,
            home,
        })
    }
}

/// The environment variables as they were at the start; cheap to clone.
#[derive(Clone, Default)]
pub struct EnvVars(Arc<BTreeMap<OsString, OsString>>);

impl EnvVars {
    pub fn capture() -> EnvVars {
        EnvVars(Arc::new(std::env::vars_os().collect()))
    }

    /// Builds an environment for a test.
    pub fn from_pairs<N, V>(pairs: impl IntoIterator<Item = (N, V)>) -> EnvVars
    where
        N: Into<OsString>,
        V: Into<OsString>,
    {
        let pairs = pairs.into_iter();
        EnvVars(Arc::new(
            pairs
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        ))
    }

    /// Returns a copy without the named variables.
    #[must_use]
    pub fn without(&self, names: &[&str]) -> EnvVars {
        let mut rest = BTreeMap::clone(&self.0);
        rest.retain(|name, _| !names.iter().any(|gone| name == gone));
        EnvVars(Arc::new(rest))
    }

    /// The text of a variable; `None` if it is unset, empty or not UTF-8.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.os(name).and_then(OsStr::to_str)
    }

    /// The bytes of a variable, for paths; `None` if it is unset or empty.
    pub fn os(&self, name: &str) -> Option<&OsStr> {
        let value = self.0.get(OsStr::new(name))?;
        (!value.is_empty()).then_some(value.as_os_str())
    }

    /// The variables whose names start with `prefix`.
    pub fn with_prefix<'e>(
        &'e self,
        prefix: &'e str,
    ) -> impl Iterator<Item = (&'e OsStr, &'e OsStr)> {
        let bytes = prefix.as_bytes();
        // The map is sorted, so the names with the prefix follow each other.
        let from = self.0.range(OsString::from(prefix)..);
        from.take_while(move |(name, _)| name.as_encoded_bytes().starts_with(bytes))
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

impl fmt::Debug for EnvVars {
    /// Names only: values may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
