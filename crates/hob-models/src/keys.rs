//! The source of API keys: the environment, else the keys that a person pasted.
//!
//! Invariants: a key is looked up for each call, and no request or model keeps it; every key is
//! masked before it can appear anywhere; the environment wins over a pasted key.

use crate::providers;
use hob_kit::home::Home;
use hob_kit::host_environment::EnvVars;
use hob_kit::key_files;
use hob_kit::mask::SecretMask;
use hob_kit::secret::Secret;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, PoisonError, RwLock};

/// Looks up API keys by name.
pub trait KeySource: Send + Sync {
    /// Returns the key of that name, if it is set.
    fn key(&self, name: &str) -> Option<Secret>;
}

/// Keys from environment variables.
#[derive(Clone, Debug)]
pub struct EnvKeys {
    env: EnvVars,
    mask: SecretMask,
}

impl EnvKeys {
    /// Every key that is looked up is masked in the log from then on.
    pub fn new(env: EnvVars, mask: SecretMask) -> EnvKeys {
        EnvKeys { env, mask }
    }
}

impl KeySource for EnvKeys {
    fn key(&self, name: &str) -> Option<Secret> {
        let text = self.env.text(name)?.trim();
        if text.is_empty() {
            return None;
        }
        self.mask.add(text);
        Some(Secret::new(text))
    }
}

/// Keys from environment variables, and those that are kept in hob's home.
#[derive(Clone, Debug)]
pub struct HomeKeys {
    env: EnvKeys,
    home: Home,
    /// By provider. A std lock: held for a lookup or to write a file, never across an await.
    kept: Arc<RwLock<BTreeMap<String, Secret>>>,
}

/// The place where a key was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyOrigin {
    Environment,
    Kept,
}

impl HomeKeys {
    /// Reads the kept keys. Returns the reasons for which files are not used, too.
    pub fn open(env: EnvKeys, home: Home) -> (HomeKeys, Vec<String>) {
        let (kept, problems) = key_files::read_all(&home);
        for (_, key) in &kept {
            env.mask.add(key.expose());
        }
        let keys = HomeKeys {
            env,
            home,
            kept: Arc::new(RwLock::new(kept.into_iter().collect())),
        };
        (keys, problems)
    }

    /// Keeps a key of a provider, on disk before it is used.
    pub fn store(&self, provider: &str, key: &Secret) -> io::Result<()> {
        self.env.mask.add(key.expose());
        key_files::store(&self.home, provider, key)?;
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        kept.insert(provider.to_owned(), key.clone());
        Ok(())
    }

    /// Keeps a key of a provider, unless one is kept already. Returns the one that was kept before.
    pub fn store_first(&self, provider: &str, key: &Secret) -> io::Result<Option<Secret>> {
        self.env.mask.add(key.expose());
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = kept.get(provider) {
            return Ok(Some(before.clone()));
        }
        // Under the lock, so that of two callers one is the first.
        key_files::store(&self.home, provider, key)?;
        kept.insert(provider.to_owned(), key.clone());
        Ok(None)
    }

    /// Forgets the kept key of a provider. Returns false if there is none.
    pub fn remove(&self, provider: &str) -> io::Result<bool> {
        let removed = key_files::remove(&self.home, provider)?;
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        Ok(kept.remove(provider).is_some() || removed)
    }

    /// Returns where the key of this variable is found.
    pub fn origin(&self, variable: &str) -> Option<KeyOrigin> {
        if self.env.key(variable).is_some() {
            return Some(KeyOrigin::Environment);
        }
        self.kept_key(variable).map(|_| KeyOrigin::Kept)
    }

    /// The kept key of the provider whose key is otherwise in this variable.
    fn kept_key(&self, variable: &str) -> Option<Secret> {
        let row = providers::row_of_variable(variable)?;
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner);
        kept.get(row.name).cloned()
    }
}

impl KeySource for HomeKeys {
    fn key(&self, name: &str) -> Option<Secret> {
        self.env.key(name).or_else(|| self.kept_key(name))
    }
}

/// A source in which one key is replaced, to try it before it is kept.
pub(crate) struct TrialKeys {
    pub(crate) others: Arc<dyn KeySource>,
    pub(crate) variable: String,
    pub(crate) key: Secret,
}

impl KeySource for TrialKeys {
    fn key(&self, name: &str) -> Option<Secret> {
        if name == self.variable {
            return Some(self.key.clone());
        }
        self.others.key(name)
    }
}

#[cfg(test)]
#[path = "keys_tests.rs"]
mod tests;
