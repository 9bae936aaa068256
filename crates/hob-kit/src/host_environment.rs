//! What the program takes from outside, captured once at `main` and handed down: time,
//! randomness, environment, home. A test builds its own.

use crate::clock::Clock;
use crate::dice::Dice;
use crate::home::{Home, HomeError};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::sync::Arc;

/// Everything from outside; cheap to clone.
#[derive(Clone, Debug)]
pub struct World {
    pub clock: Clock,
    pub dice: Dice,
    pub env: Env,
    pub home: Home,
}

impl World {
    /// The real world: called once, at `main`.
    pub fn capture() -> Result<World, HomeError> {
        let env = Env::capture();
        let home = Home::resolve(&env)?;
        Ok(World {
            clock: Clock::system(),
            dice: Dice::system(),
            env,
            home,
        })
    }
}

/// The environment variables as they were at the start; cheap to clone.
#[derive(Clone, Default)]
pub struct Env(Arc<BTreeMap<OsString, OsString>>);

impl Env {
    pub fn capture() -> Env {
        Env(Arc::new(std::env::vars_os().collect()))
    }

    /// An environment of a test's own.
    pub fn from_pairs<N, V>(pairs: impl IntoIterator<Item = (N, V)>) -> Env
    where
        N: Into<OsString>,
        V: Into<OsString>,
    {
        let pairs = pairs.into_iter();
        Env(Arc::new(
            pairs
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        ))
    }

    /// The same without some variables.
    #[must_use]
    pub fn without(&self, names: &[&str]) -> Env {
        let mut rest = BTreeMap::clone(&self.0);
        rest.retain(|name, _| !names.iter().any(|gone| name == gone));
        Env(Arc::new(rest))
    }

    /// A variable's text; none when it is unset, empty or not UTF-8.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.os(name).and_then(OsStr::to_str)
    }

    /// A variable's bytes, for paths; none when it is unset or empty.
    pub fn os(&self, name: &str) -> Option<&OsStr> {
        let value = self.0.get(OsStr::new(name))?;
        (!value.is_empty()).then_some(value.as_os_str())
    }

    /// The variables whose names begin so: the settings of another program.
    pub fn beginning_with<'e>(
        &'e self,
        prefix: &'e str,
    ) -> impl Iterator<Item = (&'e OsStr, &'e OsStr)> {
        let bytes = prefix.as_bytes();
        let from = self.0.range(OsString::from(prefix)..);
        from.take_while(move |(name, _)| name.as_encoded_bytes().starts_with(bytes))
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

impl fmt::Debug for Env {
    /// Names only: values may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
