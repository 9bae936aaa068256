//! The in-memory cache of valid tokens. Every request is checked against it, so a revoked or
//! expired token is refused from the next request on.
//!
//! Invariants: scopes come only from this cache. The presented text is hashed and compared in
//! constant time, also if its id is unknown.

use crate::credential::{self, OWNER};
use hob_wire::Scopes;
use hob_wire::rooms::token::TokenInfo;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use subtle::ConstantTimeEq;

/// The authenticated sender of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// The token's id; the surface if the listener needs no token.
    pub(crate) id: Arc<str>,
    pub(crate) name: Arc<str>,
    pub scopes: Scopes,
}

#[derive(Debug, Default)]
pub(crate) struct TokenCache {
    /// A std lock: held for a few instructions, never over an await.
    entries: RwLock<HashMap<Arc<str>, CachedToken>>,
}

struct CachedToken {
    principal: Principal,
    secret_hash: [u8; 32],
    expires_at: Option<u64>,
}

impl TokenCache {
    /// Sets the owner's token and replaces the former one.
    pub(crate) fn set_owner(&self, secret_hash: [u8; 32]) {
        let principal = Principal {
            id: OWNER.into(),
            name: OWNER.into(),
            scopes: Scopes::owner(),
        };
        let entry = CachedToken {
            principal,
            secret_hash,
            expires_at: None,
        };
        self.write().insert(OWNER.into(), entry);
    }

    /// Adds a token, unless it is revoked or has an unknown scope.
    pub(crate) fn insert(&self, info: &TokenInfo, secret_hash: [u8; 32]) {
        if info.revoked_at.is_some() {
            return;
        }
        let scopes: Scopes = match info.scopes.join(",").parse() {
            Ok(scopes) => scopes,
            // A newer hob may have stored a scope whose meaning is unknown here.
            Err(unknown) => {
                tracing::warn!(token = info.id, "ignored a token: {unknown}");
                return;
            }
        };
        let principal = Principal {
            id: info.id.as_str().into(),
            name: info.name.as_str().into(),
            scopes,
        };
        let entry = CachedToken {
            principal,
            secret_hash,
            expires_at: info.expires_at,
        };
        self.write().insert(info.id.as_str().into(), entry);
    }

    pub(crate) fn remove(&self, id: &str) {
        self.write().remove(id);
    }

    pub(crate) fn contains(&self, id: &str) -> bool {
        self.read().contains_key(id)
    }

    /// Removes all expired tokens and returns their ids.
    pub(crate) fn remove_expired(&self, now_ms: u64) -> Vec<Arc<str>> {
        let expired = |entry: &CachedToken| entry.expires_at.is_some_and(|at| at <= now_ms);
        // The check runs twice a second and rarely finds one, so the write lock is not taken for
        // it.
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

    /// Returns the principal of a presented token, if it is valid now.
    pub(crate) fn verify(&self, presented: &str, now_ms: u64) -> Option<Principal> {
        // Limits the hashing work that an unauthenticated peer can cause.
        if presented.len() > credential::TOKEN_BYTES_MAX {
            return None;
        }
        let hash = credential::digest(presented);
        let entries = self.read();
        let entry = entries.get(credential::claimed_id(presented));
        // An unknown id is compared too, so that it takes as long as a wrong secret.
        let stored_hash = entry.map_or(&[0; 32], |entry| &entry.secret_hash);
        let equal = bool::from(stored_hash.ct_eq(&hash));
        let entry = entry.filter(|_| equal)?;
        // The refresher removes expired tokens only twice a second.
        let live = entry.expires_at.is_none_or(|at| now_ms < at);
        live.then(|| entry.principal.clone())
    }

    fn read(&self) -> RwLockReadGuard<'_, HashMap<Arc<str>, CachedToken>> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<Arc<str>, CachedToken>> {
        self.entries.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for CachedToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.principal.fmt(f)
    }
}

#[cfg(test)]
#[path = "token_cache_tests.rs"]
mod tests;
