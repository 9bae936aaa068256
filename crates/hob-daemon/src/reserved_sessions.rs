//! Protects the sessions of loops, jobs and sub-agents, so that nobody uses their grants by
//! choosing a similar session name.
//!
//! Invariants: without the scope `control` nobody creates, continues or writes to a session of the
//! kinds below, by any name, nor creates one below such a session; no client creates a session of a
//! sub-agent, because it counts as the session it was started for.

use hob_bus::RequestContext;
use hob_core::child_runs;
use hob_store::{Store, StoreError};
use hob_wire::id::SessionRef;
use hob_wire::rooms::session::Session;
use hob_wire::{ErrorCode, Scope, WireError};

/// Session kinds that only the daemon creates; keys with these prefixes belong to them.
pub const RESERVED_KINDS: [&str; 3] = ["loop", "cron", "webhook"];
/// The surface of the daemon's own callers.
const INTERNAL_SURFACE: &str = "house";

/// The session that a caller wants to create, continue or write to.
#[derive(Clone, Copy, Debug, Default)]
pub struct SessionTarget<'n> {
    /// Its key or id.
    pub session: Option<&'n str>,
    pub kind: Option<&'n str>,
    /// The parent session, by key or id.
    pub parent: Option<&'n str>,
}

/// Refuses a caller that may not use the session it names.
pub async fn check_session_access(
    call: &RequestContext,
    store: &Store,
    target: SessionTarget<'_>,
) -> Result<(), WireError> {
    if call.surface == INTERNAL_SURFACE {
        return Ok(());
    }
    if target.kind == Some(child_runs::SESSION_KIND) {
        return Err(subagent_forbidden());
    }
    let may_control = call.scopes.allow(Scope::Control);
    // An existing session of a sub-agent may be continued; only creating one is hob's own.
    if let Some(key) = target.session
        && child_runs::depth(key) > 0
        && find_session(store, key).await?.is_none()
    {
        return Err(subagent_forbidden());
    }
    if may_control {
        return Ok(());
    }
    if target
        .kind
        .is_some_and(|kind| RESERVED_KINDS.contains(&kind))
    {
        return Err(forbidden());
    }
    for name in [target.session, target.parent].into_iter().flatten() {
        if is_reserved(store, name).await? {
            return Err(forbidden());
        }
    }
    Ok(())
}

/// The session; `None` if it does not exist. A missing session is reported by the operation itself.
async fn find_session(store: &Store, name: &str) -> Result<Option<Session>, WireError> {
    match store.get_session(&SessionRef::parse(name)).await {
        Ok(found) => Ok(Some(found)),
        Err(StoreError::NotFound(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// True if a session is reserved: by its key, or by the stored session of its id. Reserved sessions
/// have recognisable keys, so a key needs no read of the store.
async fn is_reserved(store: &Store, name: &str) -> Result<bool, WireError> {
    let by_key = |key: &str| {
        let kind = key.split_once(':').map_or("", |(kind, _)| kind);
        RESERVED_KINDS.contains(&kind) || child_runs::depth(key) > 0
    };
    if matches!(SessionRef::parse(name), SessionRef::Key(_)) {
        return Ok(by_key(name));
    }
    let found = find_session(store, name).await?;
    Ok(found.is_some_and(|it| by_key(&it.session_key) || is_reserved_kind(&it.kind)))
}

/// True for the kinds that only the daemon gives a session.
pub(crate) fn is_reserved_kind(kind: &str) -> bool {
    RESERVED_KINDS.contains(&kind) || kind == child_runs::SESSION_KIND
}

fn forbidden() -> WireError {
    let message = "Sessions of loops, jobs and sub-agents belong to hob; only a token with the scope `control` may use them.";
    WireError::new(ErrorCode::Forbidden, message)
}

fn subagent_forbidden() -> WireError {
    let message = "Sessions of sub-agents are made by hob itself, when a run starts one. Use another kind, and a key without ':subagent:'.";
    WireError::new(ErrorCode::Forbidden, message)
}
