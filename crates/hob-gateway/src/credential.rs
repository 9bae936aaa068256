//! Token texts and their hashes. Pure; used by the `token.*` room and, without a daemon, by `hob
//! token`.
//!
//! The owner's token is 64 hex digits, in `owner.token`. A created token is `hob_ID_SECRET` with an
//! id of 8 and a secret of 48 hex digits. The id finds the row; the hash of the whole text proves
//! it.
//!
//! Invariant: the text of a created token exists only in the answer that shows it. The store keeps
//! only a SHA-256. The secret has 192 random bits, so a fast hash cannot be brute-forced.

use hob_kit::randomness::Randomness;
use hob_wire::rooms::token::{TokenCreateParams, TokenCreateResult, TokenInfo};
use hob_wire::{ErrorCode, Scope, Scopes, WireError};
use sha2::{Digest, Sha256};
use std::path::Path;

/// The principal of the owner's token. No other token may have this name.
pub const OWNER: &str = "owner";
/// Maximum length of a token's name.
pub const TOKEN_NAME_BYTES_MAX: usize = 64;

/// Maximum folders of one token.
const WORKSPACES_MAX: usize = 64;
const WORKSPACE_BYTES_MAX: usize = 4_096;

/// Maximum length of a token. A longer text is not hashed.
pub(crate) const TOKEN_BYTES_MAX: usize = 256;
const OWNER_SECRET_BYTES: usize = 32;
const ID_BYTES: usize = 4;
const SECRET_BYTES: usize = 24;
const PREFIX: &str = "hob_";

/// A new token: the hash to store, and the text to show once.
#[derive(Debug)]
pub struct MintedToken {
    pub secret_hash: [u8; 32],
    pub created: TokenCreateResult,
}

/// Creates a token, or returns the reason why the params are invalid.
pub fn mint(
    params: &TokenCreateParams,
    now_ms: u64,
    randomness: &Randomness,
) -> Result<MintedToken, WireError> {
    let invalid = |message: String| WireError::new(ErrorCode::InvalidParams, message);
    check_name(&params.name).map_err(invalid)?;
    let scopes: Scopes = params
        .scopes
        .join(",")
        .parse()
        .map_err(|unknown: hob_wire::scope::UnknownScope| invalid(unknown.to_string()))?;
    if scopes.is_empty() {
        return Err(invalid(
            "A token without scopes can do nothing; give it read, chat, control, admin or service:NAME."
                .to_owned(),
        ));
    }
    if params.expires_in_ms == Some(0) {
        return Err(invalid(
            "A token cannot expire at once; leave the expiry out for one that never does."
                .to_owned(),
        ));
    }
    check_workspaces(&params.workspaces, &scopes).map_err(invalid)?;
    let id = randomness.hex(ID_BYTES);
    let token = format!("{PREFIX}{id}_{}", randomness.hex(SECRET_BYTES));
    Ok(MintedToken {
        secret_hash: digest(&token),
        created: TokenCreateResult {
            info: TokenInfo {
                id,
                name: params.name.clone(),
                scopes: scopes.to_strings(),
                created_at: now_ms,
                expires_at: params.expires_in_ms.map(|life| now_ms.saturating_add(life)),
                revoked_at: None,
                workspaces: params.workspaces.clone(),
                note: None,
            },
            token,
        },
    })
}

/// Creates an owner token.
pub(crate) fn mint_owner(randomness: &Randomness) -> String {
    randomness.hex(OWNER_SECRET_BYTES)
}

/// Returns true if a text has the form of an owner token. Shorter secrets could be guessed.
pub(crate) fn is_owner_token(text: &str) -> bool {
    text.len() == OWNER_SECRET_BYTES * 2 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The hash of a token, as stored.
pub fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

/// The id that a presented text claims; the owner's if it has not the form of a created token.
pub(crate) fn claimed_id(text: &str) -> &str {
    let claimed = text
        .strip_prefix(PREFIX)
        .and_then(|rest| rest.split_once('_'));
    claimed.map_or(OWNER, |(id, _)| id)
}

fn check_workspaces(workspaces: &[String], scopes: &Scopes) -> Result<(), String> {
    if workspaces.is_empty() {
        return Ok(());
    }
    // Folders limit what a chat may read; other scopes ignore them, so naming them would mislead.
    if scopes.allow(Scope::Control) || !scopes.allow(Scope::Chat) {
        return Err(
            "Folders are named for tokens with the scope chat: one with read has no model read for it, and one with control may use every folder."
                .to_owned(),
        );
    }
    let sound = |path: &String| {
        path.len() <= WORKSPACE_BYTES_MAX
            && Path::new(path).is_absolute()
            && !path.chars().any(char::is_control)
    };
    if workspaces.len() > WORKSPACES_MAX || !workspaces.iter().all(sound) {
        return Err(format!(
            "A token may name {WORKSPACES_MAX} folders, each by its whole path of at most {WORKSPACE_BYTES_MAX} bytes."
        ));
    }
    Ok(())
}

fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() || name.len() > TOKEN_NAME_BYTES_MAX || name.chars().any(char::is_control) {
        return Err(format!(
            "A token's name has 1 to {TOKEN_NAME_BYTES_MAX} bytes and no control characters."
        ));
    }
    if name == OWNER {
        return Err("'owner' is the owner's own name; choose another.".to_owned());
    }
    Ok(())
}

#[cfg(test)]
#[path = "credential_tests.rs"]
mod tests;
