//! Limits on what a caller may have a model do. One rule for every surface, applied where a run
//! begins.
//!
//! Invariant: without the scope `control` a model only reads for its caller, and only in folders
//! configured for that token or for all tokens. Wider rights of the session, its rules or a run in
//! progress do not extend to that caller.

use super::agent_context::AgentContext;
use hob_bus::RequestContext;
use hob_wire::rooms::agent::{AgentChatParams, AgentRunParams};
use hob_wire::work::Tier;
use hob_wire::{ErrorCode, Scope, WireError};
use std::path::{Path, PathBuf};

/// The setting with folders for every token.
const WORKSPACES_KEY: &str = "agent.workspaces";

/// The widest tier that tools may use for a caller; `None` for a caller with the scope `control`.
pub(super) fn ceiling(call: &RequestContext, asked: Option<Tier>) -> Option<Tier> {
    if call.scopes.allow(Scope::Control) {
        return asked;
    }
    Some(asked.map_or(Tier::Read, |asked| asked.min(Tier::Read)))
}

/// Narrows the parameters of a run to the caller's rights.
pub(super) async fn narrow_run(
    shared: &AgentContext,
    call: &RequestContext,
    params: AgentRunParams,
) -> Result<AgentRunParams, WireError> {
    if call.scopes.allow(Scope::Control) {
        return Ok(params);
    }
    let workspace = match &params.workspace {
        Some(folder) => Some(find_allowed_folder(shared, call, folder).await?),
        None => None,
    };
    Ok(AgentRunParams {
        ceiling: ceiling(call, params.ceiling),
        workspace,
        ..params
    })
}

/// Narrows the parameters of a chat to the caller's rights.
pub(super) fn narrow_chat(call: &RequestContext, params: AgentChatParams) -> AgentChatParams {
    AgentChatParams {
        ceiling: ceiling(call, params.ceiling),
        ..params
    }
}

/// Returns the real path of a folder that the caller may read, or of a folder below one.
async fn find_allowed_folder(
    shared: &AgentContext,
    call: &RequestContext,
    folder: &str,
) -> Result<String, WireError> {
    let deps = &shared.deps;
    let mut allowed = deps.store.token_workspaces(&call.principal).await?;
    allowed.extend(shared.settings().list(WORKSPACES_KEY).iter().cloned());
    let own = deps
        .home
        .folders()
        .into_iter()
        .map(Path::to_owned)
        .collect();
    let (wanted, folders) = (PathBuf::from(folder), allowed.clone());
    // Resolving paths reads the disk, which may block.
    let found = tokio::task::spawn_blocking(move || resolve_folder(&wanted, &folders, own)).await;
    // The same error for a missing and a forbidden folder: the answer must not reveal which folders
    // exist.
    let found = found.ok().flatten();
    found.ok_or_else(|| folder_not_allowed(&allowed))
}

/// The real path of `wanted`, if it is in one of `allowed` and not in one of `own`. Symbolic links
/// are followed first.
fn resolve_folder(wanted: &Path, allowed: &[String], own: Vec<PathBuf>) -> Option<String> {
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
    // hob's own folders stay closed even below a configured one.
    let is_own = own
        .into_iter()
        .map(|folder| resolved(&folder).unwrap_or(folder))
        .any(|folder| real.starts_with(folder));
    let fits = is_allowed && !is_own && real.is_dir();
    fits.then(|| real.to_str().map(str::to_owned)).flatten()
}

fn folder_not_allowed(allowed: &[String]) -> WireError {
    let which = if allowed.is_empty() {
        "This token may use no folder.".to_owned()
    } else {
        format!(
            "This token may use only these folders: {}.",
            allowed.join(", ")
        )
    };
    let message = format!(
        "{which} Leave `workspace` out, use a token made with `hob token create --workspace DIR`, name the folder in the setting `{WORKSPACES_KEY}`, or use a token with the scope `control`."
    );
    WireError::new(ErrorCode::Forbidden, message)
}

#[cfg(test)]
#[path = "authority_tests.rs"]
mod tests;
