//! The store without a daemon, for the few commands that work offline. Invariant: it is open only
//! while this process holds the home's lock, so never beside a daemon.

use crate::context::CommandContext;
use crate::daemon_process;
use crate::failure::CommandFailure;
use crate::settings::catalog;
use hob_bus::PublisherInbox;
use hob_gateway::credential::{self, MintedToken};
use hob_kit::clock::Clock;
use hob_kit::home_lock::HomeLock;
use hob_kit::randomness::Randomness;
use hob_kit::settings::Settings;
use hob_store::{Store, StoreError, TokenRow};
use hob_wire::WireError;
use hob_wire::rooms::token::{
    TokenCreateParams, TokenCreateResult, TokenListResult, TokenRevokeResult,
};

#[derive(Debug)]
pub struct OfflineStore {
    store: Store,
    clock: Clock,
    randomness: Randomness,
    /// The receiving end of the store's events. Nobody reads it, but it must live as long as the
    /// store.
    _inbox: PublisherInbox,
    /// Dropped last.
    _lock: HomeLock,
}

impl OfflineStore {
    pub fn open(context: &CommandContext) -> Result<OfflineStore, CommandFailure> {
        let host = &context.host;
        let refused = |error: &dyn std::fmt::Display| CommandFailure::failed(error.to_string());
        host.home.ensure().map_err(|error| refused(&error))?;
        let mut lock = HomeLock::acquire(&host.home).map_err(|error| refused(&error))?;
        let (publisher, inbox) = hob_bus::publisher();
        // Defaults: a broken config file must not block token commands, and retention is the
        // daemon's work.
        let settings = Settings::defaults(catalog());
        let store = daemon_process::open_store(host, &mut lock, publisher, &settings);
        let store = store.map_err(|error| CommandFailure::failed(format!("{error:#}")))?;
        Ok(OfflineStore {
            store,
            clock: host.clock.clone(),
            randomness: host.randomness.clone(),
            _inbox: inbox,
            _lock: lock,
        })
    }

    pub async fn create_token(
        &self,
        params: &TokenCreateParams,
    ) -> Result<TokenCreateResult, CommandFailure> {
        let MintedToken {
            secret_hash,
            created,
        } = credential::mint(params, self.clock.wall_ms(), &self.randomness)?;
        let info = created.info.clone();
        let inserted = self
            .store
            .insert_token(TokenRow { info, secret_hash })
            .await;
        inserted.map_err(failure)?;
        Ok(created)
    }

    pub async fn tokens(&self) -> Result<TokenListResult, CommandFailure> {
        let found = self.store.list_tokens().await.map_err(failure)?;
        let tokens = found.rows.into_iter().map(|row| row.info).collect();
        Ok(TokenListResult {
            tokens,
            damaged: found.damaged,
        })
    }

    pub async fn revoke_token(
        &self,
        id_or_name: &str,
    ) -> Result<TokenRevokeResult, CommandFailure> {
        let now_ms = self.clock.wall_ms();
        let info = self.store.revoke_token(id_or_name, now_ms).await;
        let info = info.map_err(failure)?;
        Ok(TokenRevokeResult {
            id: info.id,
            name: info.name,
        })
    }

    /// Checkpoints and closes the database and releases the home.
    pub async fn close(self) {
        self.store.close().await;
    }
}

fn failure(error: StoreError) -> CommandFailure {
    WireError::from(error).into()
}
