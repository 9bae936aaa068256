//! The store without a daemon, for the few commands that work on it then. Invariant: it is open
//! only while this process holds the home's lock, so never beside a daemon.

use crate::context::Context;
use crate::failure::Failure;
use crate::house;
use crate::settings::catalog;
use hob_bus::PublisherInbox;
use hob_gateway::credential::{self, Minted};
use hob_kit::clock::Clock;
use hob_kit::dice::Dice;
use hob_kit::lock::HomeLock;
use hob_kit::settings::Settings;
use hob_store::{Store, StoreError, TokenRow};
use hob_wire::WireError;
use hob_wire::rooms::token::{CreateParams, Created, Revoked, Tokens};

#[derive(Debug)]
pub struct OfflineStore {
    store: Store,
    clock: Clock,
    dice: Dice,
    /// Nobody listens to events here; the inbox must live as long as the store publishes into it.
    _inbox: PublisherInbox,
    /// Dropped last.
    _lock: HomeLock,
}

impl OfflineStore {
    pub fn open(context: &Context) -> Result<OfflineStore, Failure> {
        let world = &context.world;
        let refused = |error: &dyn std::fmt::Display| Failure::failed(error.to_string());
        world.home.ensure().map_err(|error| refused(&error))?;
        let mut lock = HomeLock::take(&world.home).map_err(|error| refused(&error))?;
        let (publisher, inbox) = hob_bus::publisher();
        // A mistake in the config file is no reason to refuse a token; the daemon trims the log.
        let settings = Settings::defaults(catalog());
        let store = house::open_store(world, &mut lock, publisher, &settings);
        let store = store.map_err(|error| Failure::failed(format!("{error:#}")))?;
        Ok(OfflineStore {
            store,
            clock: world.clock.clone(),
            dice: world.dice.clone(),
            _inbox: inbox,
            _lock: lock,
        })
    }

    pub async fn create_token(&self, params: &CreateParams) -> Result<Created, Failure> {
        let Minted {
            secret_hash,
            created,
        } = credential::mint(params, self.clock.wall_ms(), &self.dice)?;
        let info = created.info.clone();
        let inserted = self
            .store
            .insert_token(TokenRow { info, secret_hash })
            .await;
        inserted.map_err(failure)?;
        Ok(created)
    }

    pub async fn tokens(&self) -> Result<Tokens, Failure> {
        let found = self.store.list_tokens().await.map_err(failure)?;
        let tokens = found.rows.into_iter().map(|row| row.info).collect();
        Ok(Tokens {
            tokens,
            damaged: found.damaged,
        })
    }

    pub async fn revoke_token(&self, id_or_name: &str) -> Result<Revoked, Failure> {
        let now_ms = self.clock.wall_ms();
        let info = self.store.revoke_token(id_or_name, now_ms).await;
        let info = info.map_err(failure)?;
        Ok(Revoked {
            id: info.id,
            name: info.name,
        })
    }

    /// Brings the database file up to date and frees the home.
    pub async fn close(self) {
        self.store.close().await;
    }
}

fn failure(error: StoreError) -> Failure {
    WireError::from(error).into()
}
