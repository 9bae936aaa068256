//! The handle every room holds.

use crate::error::StoreError;
use hob_bus::{EventLog, NewEvent, Publisher};
use hob_kit::clock::Clock;
use hob_kit::dice::Dice;
use hob_wire::id::SessionRef;
use hob_wire::rooms::daemon::StoreStatus;
use hob_wire::rooms::session;
use hob_wire::rooms::token::TokenInfo;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a store needs from outside.
#[derive(Debug)]
pub struct StoreOptions {
    /// `hob.db`.
    pub database: PathBuf,
    pub clock: Clock,
    pub dice: Dice,
    /// Where committed events go.
    pub publisher: Publisher,
    /// Whether this home had a database before: a missing or empty one is then refused.
    pub had_life: bool,
}

/// A credential as it is kept: without its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRow {
    pub info: TokenInfo,
    /// SHA-256 of the token's text.
    pub secret_hash: [u8; 32],
}

/// What [`Store::verify`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// What is wrong, a sentence each; empty when all is well.
    pub problems: Vec<String>,
    /// What is unusual and harmless, such as a write that a crash cut off.
    pub notes: Vec<String>,
}

/// The store; cheap to clone.
#[derive(Clone, Debug)]
pub struct Store(Arc<()>);

impl Store {
    /// Opens the database, creating it in a new home. Blocks; call it before the runtime or on a
    /// blocking thread.
    pub fn open(_options: StoreOptions) -> Result<Store, StoreError> {
        Err(thin())
    }
    /// Checks the whole database, for `hob doctor`; blocks. Works without a daemon; not to be
    /// called in a process that has the same database open.
    pub fn verify(_database: &Path) -> Result<Verdict, StoreError> {
        Err(thin())
    }
    /// Commits what is queued, brings the database file up to date and ends the writer.
    pub async fn close(&self) {}
    /// Which start of this home's daemon this is.
    pub fn epoch(&self) -> u64 {
        0
    }
    pub fn status(&self) -> StoreStatus {
        unimplemented!()
    }
    pub async fn session_count(&self) -> Result<u64, StoreError> {
        Err(thin())
    }
    pub async fn create_session(
        &self,
        _params: session::CreateParams,
    ) -> Result<session::Created, StoreError> {
        Err(thin())
    }
    pub async fn get_session(&self, _session: &SessionRef) -> Result<session::Session, StoreError> {
        Err(thin())
    }
    pub async fn list_sessions(
        &self,
        _params: session::ListParams,
    ) -> Result<session::Sessions, StoreError> {
        Err(thin())
    }
    pub async fn history(
        &self,
        _params: session::HistoryParams,
    ) -> Result<session::Messages, StoreError> {
        Err(thin())
    }
    pub async fn export(
        &self,
        _params: session::ExportParams,
    ) -> Result<session::Messages, StoreError> {
        Err(thin())
    }
    pub async fn send_message(
        &self,
        _params: session::SendParams,
    ) -> Result<session::Sent, StoreError> {
        Err(thin())
    }
    pub async fn label_session(
        &self,
        _params: session::LabelParams,
    ) -> Result<session::Session, StoreError> {
        Err(thin())
    }
    pub async fn delete_session(
        &self,
        _session: &SessionRef,
    ) -> Result<session::Deleted, StoreError> {
        Err(thin())
    }
    pub async fn insert_token(&self, _token: TokenRow) -> Result<(), StoreError> {
        Err(thin())
    }
    /// Every token, revoked ones too, oldest first.
    pub async fn list_tokens(&self) -> Result<Vec<TokenRow>, StoreError> {
        Err(thin())
    }
    /// Ends the token with this id, or the live one with this name.
    pub async fn revoke_token(&self, _id_or_name: &str, _at: u64) -> Result<TokenInfo, StoreError> {
        Err(thin())
    }
    pub fn event_log(&self) -> Arc<dyn EventLog> {
        unimplemented!()
    }
    pub async fn append_event(&self, _event: NewEvent) -> Result<u64, StoreError> {
        Err(thin())
    }
}

fn thin() -> StoreError {
    StoreError::Internal(String::new())
}
