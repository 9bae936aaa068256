//! Keeps the book true while time passes: strikes tokens that expire, and takes up the owner's
//! token when its file is replaced. Live connections of either are closed.
//!
//! Removing `owner.token` is how a person rotates it: a new one is made within a second, and
//! whoever held the old one is out.

use crate::book::Book;
use crate::{credential, owner};
use hob_bus::Bus;
use hob_kit::clock::Clock;
use hob_kit::dice::Dice;
use hob_kit::mask::Mask;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Between two looks.
const LOOK_MS: u64 = 500;

pub(crate) struct Keeper {
    pub(crate) bus: Bus,
    pub(crate) book: Arc<Book>,
    pub(crate) clock: Clock,
    pub(crate) dice: Dice,
    pub(crate) mask: Mask,
    pub(crate) owner_token: PathBuf,
}

impl Keeper {
    /// Reads the owner's token for the first time; gives back the file as it was then.
    pub(crate) fn enter_owner(&self) -> Result<Sight, owner::OwnerError> {
        let text = owner::read_or_make(&self.owner_token, &self.dice)?;
        let sight = Sight::of(&self.owner_token);
        self.mask.add(&text);
        self.book.set_owner(credential::digest(&text));
        Ok(sight)
    }

    /// Looks again and again.
    pub(crate) async fn run(self, mut seen: Sight) {
        loop {
            tokio::time::sleep(Duration::from_millis(LOOK_MS)).await;
            for id in self.book.strike_expired(self.clock.wall_ms()) {
                tracing::info!(token = &*id, "a token expired");
                self.bus.close_principal(&id);
            }
            let sight = Sight::of(&self.owner_token);
            if sight != seen {
                seen = self.renew_owner(sight);
            }
        }
    }

    fn renew_owner(&self, sight: Sight) -> Sight {
        match self.enter_owner() {
            Ok(sight) => {
                self.bus.close_principal(credential::OWNER);
                tracing::info!("the owner's token was replaced");
                sight
            }
            // The former one stays valid: a torn edit must not lock its author out.
            Err(failure) => {
                tracing::warn!("{failure}");
                sight
            }
        }
    }
}

/// What tells one state of a file from another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sight(Option<(u64, i64, i64)>);

impl Sight {
    fn of(path: &Path) -> Sight {
        let found = std::fs::symlink_metadata(path).ok();
        Sight(found.map(|file| (file.ino(), file.mtime(), file.mtime_nsec())))
    }
}

impl std::fmt::Debug for Keeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keeper").finish_non_exhaustive()
    }
}
