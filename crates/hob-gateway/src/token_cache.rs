//! The book of live credentials, in memory, fed by the store: what every request is checked
//! against, so that a revoked or expired token is refused from the next request on.
//!
//! Invariants: scopes come from here and from nowhere else; the presented text is hashed and
//! compared in constant time whether or not its id is known.

use crate::credential::{self, OWNER};
use hob_wire::Scopes;
use hob_wire::rooms::token::TokenInfo;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use subtle::ConstantTimeEq;

/// Who a request is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Principal {
    /// The token's id.
    pub(crate) id: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) scopes: Scopes,
}

#[derive(Debug, Default)]
pub(crate) struct Book {
    /// A lock of a few instructions, never held over an await.
    entries: RwLock<HashMap<Arc<str>, Entry>>,
}

struct Entry {
    principal: Principal,
    secret_hash: [u8; 32],
    expires_at: Option<u64>,
}

impl Book {
    /// Enters the owner, replacing a former text of theirs.
    pub(crate) fn set_owner(&self, secret_hash: [u8; 32]) {
        let principal = Principal {
            id: OWNER.into(),
            name: OWNER.into(),
            scopes: Scopes::owner(),
        };
        let entry = Entry {
            principal,
            secret_hash,
            expires_at: None,
        };
        self.write().insert(OWNER.into(), entry);
    }

    /// Enters a made token, unless it was revoked or its row holds scopes nobody knows.
    pub(crate) fn enter(&self, info: &TokenInfo, secret_hash: [u8; 32]) {
        if info.revoked_at.is_some() {
            return;
        }
        let scopes: Scopes = match info.scopes.join(",").parse() {
            Ok(scopes) => scopes,
            Err(unknown) => {
                tracing::warn!(token = info.id, "token left out: {unknown}");
                return;
            }
        };
        let principal = Principal {
            id: info.id.as_str().into(),
            name: info.name.as_str().into(),
            scopes,
        };
        let entry = Entry {
            principal,
            secret_hash,
            expires_at: info.expires_at,
        };
        self.write().insert(info.id.as_str().into(), entry);
    }

    pub(crate) fn strike(&self, id: &str) {
        self.write().remove(id);
    }

    pub(crate) fn knows(&self, id: &str) -> bool {
        self.read().contains_key(id)
    }

    /// Strikes every token whose time has come and tells which.
    pub(crate) fn strike_expired(&self, now_ms: u64) -> Vec<Arc<str>> {
        let expired = |entry: &Entry| entry.expires_at.is_some_and(|at| at <= now_ms);
        if !self.read().values().any(expired) {
            return Vec::new();
        }
        let mut struck = Vec::new();
        self.write().retain(|id, entry| {
            let keep = !expired(entry);
            if !keep {
                struck.push(Arc::clone(id));
            }
            keep
        });
        struck
    }

    /// Whose token this is, if it is anyone's now.
    pub(crate) fn verify(&self, presented: &str, now_ms: u64) -> Option<Principal> {
        if presented.len() > credential::TOKEN_BYTES_MAX {
            return None;
        }
        let hash = credential::digest(presented);
        let entries = self.read();
        let entry = entries.get(credential::claimed_id(presented));
        // An unknown id is compared too, so that its absence takes as long as a wrong secret.
        let kept = entry.map_or(&[0; 32], |entry| &entry.secret_hash);
        let equal = bool::from(kept.ct_eq(&hash));
        let entry = entry.filter(|_| equal)?;
        let live = entry.expires_at.is_none_or(|at| now_ms < at);
        live.then(|| entry.principal.clone())
    }

    fn read(&self) -> RwLockReadGuard<'_, HashMap<Arc<str>, Entry>> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<Arc<str>, Entry>> {
        self.entries.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.principal.fmt(f)
    }
}

#[cfg(test)]
#[path = "book_tests.rs"]
mod tests;
