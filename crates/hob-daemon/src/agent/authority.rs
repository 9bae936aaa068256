//! What a caller may have a model do. One rule for every surface, here where a run begins.
//!
//! Invariant: without the scope `control` a model only reads for its caller, and only in folders
//! that were configured for that token or for all; where a session, its rules or a run under way
//! may do more, that is not theirs to use.

use super::shared::{Shared, refused};
use hob_bus::Call;
use hob_wire::rooms::agent::{ChatParams, RunParams};
use hob_wire::work::Tier;
use hob_wire::{ErrorCode, Scope, WireError};
use std::path::{Path, PathBuf};

/// The setting that names folders for every token.
const SETTING: &str = "agent.workspaces";

/// The farthest that tools may reach for a caller; none for one that may act.
pub(super) fn ceiling(call: &Call, asked: Option<Tier>) -> Option<Tier> {
    if call.scopes.allow(Scope::Control) {
        return asked;
    }
    Some(asked.map_or(Tier::Read, |asked| asked.min(Tier::Read)))
}

/// A run as its caller may have it.
pub(super) async fn narrow_run(
    shared: &Shared,
    call: &Call,
    params: RunParams,
) -> Result<RunParams, WireError> {
    if call.scopes.allow(Scope::Control) {
        return Ok(params);
    }
    let workspace = match &params.workspace {
        Some(folder) => Some(configured(shared, call, folder).await?),
        None => None,
    };
    Ok(RunParams {
        ceiling: ceiling(call, params.ceiling),
        workspace,
        ..params
    })
}

/// A conversation as its caller may have it.
pub(super) fn narrow_chat(call: &Call, params: ChatParams) -> ChatParams {
    ChatParams {
        ceiling: ceiling(call, params.ceiling),
        ..params
    }
}

/// The folder by its real path, if it is one that the caller may have read, or is below one.
async fn configured(shared: &Shared, call: &Call, folder: &str) -> Result<String, WireError> {
    let parts = &shared.parts;
    let mut allowed = parts.store.token_workspaces(&call.principal).await?;
    allowed.extend(shared.settings().list(SETTING).iter().cloned());
    let own = parts
        .home
        .folders()
        .into_iter()
        .map(Path::to_owned)
        .collect();
    let (wanted, folders) = (PathBuf::from(folder), allowed.clone());
    let found = tokio::task::spawn_blocking(move || resolve(&wanted, &folders, own)).await;
    // Whether a folder exists elsewhere is not told either.
    let found = found.ok().flatten();
    found.ok_or_else(|| not_configured(&allowed))
}

/// The real path of `wanted`, if it is in one of `allowed` and not in one of `own`. Links count as
/// what they lead to.
fn resolve(wanted: &Path, allowed: &[String], own: Vec<PathBuf>) -> Option<String> {
    if !wanted.is_absolute() {
        return None;
    }
    let real = std::fs::canonicalize(wanted).ok()?;
    let resolved = |path: &Path| std::fs::canonicalize(path).ok();
    let allowed = allowed.iter().map(Path::new);
    let is_allowed = allowed
        .filter(|path| path.is_absolute())
        .filter_map(resolved)
        .any(|folder| real.starts_with(folder));
    let is_own = own
        .into_iter()
        .map(|folder| resolved(&folder).unwrap_or(folder))
        .any(|folder| real.starts_with(folder));
    let fits = is_allowed && !is_own && real.is_dir();
    fits.then(|| real.to_str().map(str::to_owned)).flatten()
}

fn not_configured(allowed: &[String]) -> WireError {
    let which = if allowed.is_empty() {
        "This token may use no folder.".to_owned()
    } else {
        format!(
            "This token may use only these folders: {}.",
            allowed.join(", ")
        )
    };
    let message = format!(
        "{which} Leave `workspace` out, use a token made with `hob token create --workspace DIR`, name the folder in the setting `{SETTING}`, or use a token with the scope `control`."
    );
    refused(ErrorCode::Forbidden, message)
}

#[cfg(test)]
#[path = "authority_tests.rs"]
mod tests;
