//! The sessions of loops and jobs are the house's: what was granted to them must not be borrowed
//! by whoever names a session like theirs.
//!
//! Invariant: without the scope `control` nobody makes, continues or writes to a session of the
//! kinds below, by whichever name.

use hob_bus::Call;
use hob_store::{Store, StoreError};
use hob_wire::id::SessionRef;
use hob_wire::{ErrorCode, Scope, WireError};

/// Kinds of sessions that only the house makes; keys that begin so are theirs.
pub const KINDS: [&str; 3] = ["loop", "cron", "webhook"];

/// Refuses a caller that may only talk where a session of the house is meant.
pub async fn check(
    call: &Call,
    store: &Store,
    session: Option<&str>,
    kind: Option<&str>,
) -> Result<(), WireError> {
    if call.scopes.allow(Scope::Control) {
        return Ok(());
    }
    if kind.is_some_and(|kind| KINDS.contains(&kind)) {
        return Err(forbidden());
    }
    let Some(session) = session else {
        return Ok(());
    };
    let named = SessionRef::parse(session);
    let SessionRef::Id(_) = &named else {
        return if is_reserved(session) {
            Err(forbidden())
        } else {
            Ok(())
        };
    };
    match store.get_session(&named).await {
        Ok(found) if is_reserved(&found.session_key) || KINDS.contains(&&*found.kind) => {
            Err(forbidden())
        }
        // What is not there is told by whoever looks for it.
        Ok(_) | Err(StoreError::NotFound(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Whether a session's key is one of the house's.
fn is_reserved(key: &str) -> bool {
    let kind = key.split_once(':').map_or("", |(kind, _)| kind);
    KINDS.contains(&kind)
}

fn forbidden() -> WireError {
    let message = "Sessions of loops and jobs are the house's own; a token with the scope `control` may use them.";
    WireError::new(ErrorCode::Forbidden, message)
}
