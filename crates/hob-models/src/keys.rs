//! The source of API keys. Invariant: a key is read for each call and never stored.

use hob_kit::host_environment::EnvVars;
use hob_kit::mask::SecretMask;
use hob_kit::secret::Secret;

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
