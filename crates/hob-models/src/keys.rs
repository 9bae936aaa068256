//! The one door keys come through. Invariant: a key is asked for at each call and kept nowhere.

use hob_kit::mask::Mask;
use hob_kit::secret::Secret;
use hob_kit::world::Env;

/// Gives keys by name.
pub trait KeyDoor: Send + Sync {
    /// The key of that name; none when there is none.
    fn key(&self, name: &str) -> Option<Secret>;
}

/// Keys of the environment.
#[derive(Clone, Debug)]
pub struct EnvKeys {
    env: Env,
    mask: Mask,
}

impl EnvKeys {
    /// Whatever is given out is masked in the log from then on.
    pub fn new(env: Env, mask: Mask) -> EnvKeys {
        EnvKeys { env, mask }
    }
}

impl KeyDoor for EnvKeys {
    fn key(&self, name: &str) -> Option<Secret> {
        let text = self.env.text(name)?.trim();
        if text.is_empty() {
            return None;
        }
        self.mask.add(text);
        Some(Secret::new(text))
    }
}
