//! The sessions of loops, jobs and sub-agents are the house's: what was granted to them must not be
//! borrowed by whoever names a session like theirs.
//!
//! Invariants: without the scope `control` nobody makes, continues or writes to a session of the
//! kinds below, by whichever name, nor makes one below such a session; nobody outside the house
//! makes a session of a sub-agent, because it counts as the session it was started for.

use hob_bus::Call;
use hob_core::family;
use hob_store::{Store, StoreError};
use hob_wire::id::SessionRef;
use hob_wire::rooms::session::Session;
use hob_wire::{ErrorCode, Scope, WireError};

/// Kinds of sessions that only the house makes; keys that begin so are theirs.
pub const KINDS: [&str; 3] = ["loop", "cron", "webhook"];
/// The surface of the house's own callers.
const HOUSE: &str = "house";

/// What a caller names when it makes, continues or writes to a session.
#[derive(Clone, Copy, Debug, Default)]
pub struct Named<'n> {
    /// Its key or id.
    pub session: Option<&'n str>,
    pub kind: Option<&'n str>,
    /// The session it is to be below, by key or id.
    pub parent: Option<&'n str>,
}

/// Refuses a caller that may not use the session it names.
pub async fn check(call: &Call, store: &Store, named: Named<'_>) -> Result<(), WireError> {
    if call.surface == HOUSE {
        return Ok(());
    }
    if named.kind == Some(family::KIND) {
        return Err(made_by_house());
    }
    let may_control = call.scopes.allow(Scope::Control);
    if let Some(key) = named.session
        && family::depth(key) > 0
        && find(store, key).await?.is_none()
    {
        return Err(made_by_house());
    }
    if may_control {
        return Ok(());
    }
    if named.kind.is_some_and(|kind| KINDS.contains(&kind)) {
        return Err(forbidden());
    }
    for name in [named.session, named.parent].into_iter().flatten() {
        if is_reserved(store, name).await? {
            return Err(forbidden());
        }
    }
    Ok(())
}

/// What is not there is told by whoever looks for it.
async fn find(store: &Store, name: &str) -> Result<Option<Session>, WireError> {
    match store.get_session(&SessionRef::parse(name)).await {
        Ok(found) => Ok(Some(found)),
        Err(StoreError::NotFound(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Whether a session is one of the house's: by its key, or by what the store knows of its id. The
/// house gives its sessions keys that say so, so a key needs no look into the store.
async fn is_reserved(store: &Store, name: &str) -> Result<bool, WireError> {
    let by_key = |key: &str| {
        let kind = key.split_once(':').map_or("", |(kind, _)| kind);
        KINDS.contains(&kind) || family::depth(key) > 0
    };
    if matches!(SessionRef::parse(name), SessionRef::Key(_)) {
        return Ok(by_key(name));
    }
    let by_kind = |kind: &str| KINDS.contains(&kind) || kind == family::KIND;
    let found = find(store, name).await?;
    Ok(found.is_some_and(|it| by_key(&it.session_key) || by_kind(&it.kind)))
}

fn forbidden() -> WireError {
    let message = "Sessions of loops, jobs and sub-agents are the house's own; a token with the scope `control` may use them.";
    WireError::new(ErrorCode::Forbidden, message)
}

fn made_by_house() -> WireError {
    let message = "Sessions of sub-agents are made by hob itself, when a run starts one. Use another kind, and a key without ':subagent:'.";
    WireError::new(ErrorCode::Forbidden, message)
}
