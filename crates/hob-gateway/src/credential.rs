//! Credentials as texts: how one is made, and the hash by which it is known. Pure; used by the
//! `token.*` room and, without a daemon, by `hob token`.
//!
//! The owner's is 64 hex digits, in `owner.token`. A made one is `hob_ID_SECRET` with an id of 8
//! and a secret of 48 hex digits: the id finds the row, the hash of the whole text proves it.
//!
//! Invariant: the text of a made token exists only in the answer that shows it; what is kept is a
//! SHA-256 of 192 random bits, which no list of guesses inverts.

use hob_kit::dice::Dice;
use hob_wire::rooms::token::{CreateParams, Created, TokenInfo};
use hob_wire::{ErrorCode, Scope, Scopes, WireError};
use sha2::{Digest, Sha256};
use std::path::Path;

/// The principal of the owner's token, and a name no made token may take.
pub const OWNER: &str = "owner";
/// Longest name of a token.
pub const TOKEN_NAME_BYTES_MAX: usize = 64;

/// Folders that one token names.
const WORKSPACES_MAX: usize = 64;
const WORKSPACE_BYTES_MAX: usize = 4_096;

/// No token is longer, so a longer text is not worth hashing.
pub(crate) const TOKEN_BYTES_MAX: usize = 256;
const OWNER_SECRET_BYTES: usize = 32;
const ID_BYTES: usize = 4;
const SECRET_BYTES: usize = 24;
const PREFIX: &str = "hob_";

/// A token that was just made: what to keep, and what to show once.
#[derive(Debug)]
pub struct Minted {
    pub secret_hash: [u8; 32],
    pub created: Created,
}

/// Makes a token as asked for, or says what is wrong with the wish.
pub fn mint(params: &CreateParams, now_ms: u64, dice: &Dice) -> Result<Minted, WireError> {
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
    let id = dice.hex(ID_BYTES);
    let token = format!("{PREFIX}{id}_{}", dice.hex(SECRET_BYTES));
    Ok(Minted {
        secret_hash: digest(&token),
        created: Created {
            info: TokenInfo {
                id,
                name: params.name.clone(),
                scopes: scopes.to_texts(),
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

/// A new text for the owner.
pub(crate) fn mint_owner(dice: &Dice) -> String {
    dice.hex(OWNER_SECRET_BYTES)
}

/// Whether a file's content can be the owner's token: shorter secrets could be guessed.
pub(crate) fn is_owner_text(text: &str) -> bool {
    text.len() == OWNER_SECRET_BYTES * 2 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The hash by which a token is known.
pub fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

/// The id a text claims: that of a made token, or else the owner's.
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
