//! Keeps the token cache current: removes expired tokens and reloads the owner's token when its
//! file is replaced. Open connections of the old token are closed.
//!
//! Deleting `owner.token` rotates it: a new one is created within a second, and holders of the old
//! one are disconnected.

use crate::token_cache::TokenCache;
use crate::{credential, owner_token};
use hob_bus::Bus;
use hob_kit::clock::Clock;
use hob_kit::mask::SecretMask;
use hob_kit::randomness::Randomness;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Time between two checks.
const POLL_MS: u64 = 500;

pub(crate) struct TokenRefresher {
    pub(crate) bus: Bus,
    pub(crate) token_cache: Arc<TokenCache>,
    pub(crate) clock: Clock,
    pub(crate) randomness: Randomness,
    pub(crate) mask: SecretMask,
    pub(crate) owner_token: PathBuf,
}

impl TokenRefresher {
    /// Loads the owner's token into the cache. Returns the version of the file.
    pub(crate) fn load_owner(&self) -> Result<TokenFileVersion, owner_token::OwnerTokenError> {
        let text = owner_token::read_or_create(&self.owner_token, &self.randomness)?;
        // Read after the token, because the call above may have created the file.
        let version = TokenFileVersion::read(&self.owner_token);
        // Masked before it is used, so that no log shows it.
        self.mask.add(&text);
        self.token_cache.set_owner(credential::digest(&text));
        Ok(version)
    }

    /// Checks for expired tokens and a replaced file until the task is stopped.
    pub(crate) async fn run(self, mut seen: TokenFileVersion) {
        loop {
            // Polling covers both jobs: a file watch would not tell when a token expires.
            tokio::time::sleep(Duration::from_millis(POLL_MS)).await;
            for id in self.token_cache.remove_expired(self.clock.wall_ms()) {
                tracing::info!(token = &*id, "a token expired");
                self.bus.close_principal(&id);
            }
            let version = TokenFileVersion::read(&self.owner_token);
            if version != seen {
                seen = self.reload_owner(version);
            }
        }
    }

    fn reload_owner(&self, version: TokenFileVersion) -> TokenFileVersion {
        match self.load_owner() {
            Ok(version) => {
                // After the cache has the new token, so that a reconnect with the old one fails.
                self.bus.close_principal(credential::OWNER);
                tracing::info!("the owner's token was replaced");
                version
            }
            // The former token stays valid: a half-written file must not lock its author out.
            Err(failure) => {
                tracing::warn!("{failure}");
                // The version counts as seen, so that the same file is not reported twice a second.
                version
            }
        }
    }
}

/// Inode and modification time of the token file; `None` if there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TokenFileVersion(Option<(u64, i64, i64)>);

impl TokenFileVersion {
    fn read(path: &Path) -> TokenFileVersion {
        let found = std::fs::symlink_metadata(path).ok();
        TokenFileVersion(found.map(|file| (file.ino(), file.mtime(), file.mtime_nsec())))
    }
}

impl std::fmt::Debug for TokenRefresher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenRefresher").finish_non_exhaustive()
    }
}
