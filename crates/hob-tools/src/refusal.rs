//! Refuses a call that can never run before a person is asked about it.
//!
//! Invariants: nothing is changed, sent or looked up outside this machine; a refusal reveals
//! nothing about a path outside the workspace except that it is outside.

use crate::workspace_dir::{self, WorkspaceOpenError};
use crate::{ToolEntry, ToolEnv};
use hob_core::permission::PreparedCall;
use hob_wire::work::{NeedKind, ToolSpec};
use rustix::io::Errno;
use serde_json::Value;

/// Returns why a call of a built-in tool can never run: it names a path outside the workspace, or
/// something that the tool itself refuses. Blocks.
pub fn refusal(
    entry: &ToolEntry,
    spec: &ToolSpec,
    work: &PreparedCall,
    env: &ToolEnv,
) -> Option<String> {
    let paths = spec
        .needs
        .iter()
        .filter(|need| need.kind == NeedKind::Path)
        .filter_map(|need| work.args.get(&need.arg).and_then(Value::as_str));
    let workspace = work.context.workspace.as_deref();
    for path in paths {
        if let Err(reason) = check_inside(workspace, path, env) {
            return Some(reason.to_string());
        }
    }
    (entry.check?)(work, env).err()
}

/// Checks that a path stays in the workspace and out of hob's own folders. Its last component is
/// not followed: a link that leads out may still be renamed or removed.
fn check_inside(
    workspace: Option<&str>,
    path: &str,
    env: &ToolEnv,
) -> Result<(), WorkspaceOpenError> {
    let (root, workspace) = workspace_dir::open_workspace(workspace)?;
    workspace_dir::check_path(path)?;
    let outside = || WorkspaceOpenError::Outside(workspace_dir::shorten(path));
    let below = workspace_dir::relative_path(workspace, path).ok_or_else(outside)?;
    let mut steps: Vec<&str> = below
        .split('/')
        .filter(|step| !step.is_empty() && *step != ".")
        .collect();
    let name = match steps.last() {
        // `..` at the end must be resolved with the folders before it; it is not a name.
        None | Some(&"..") => None,
        Some(_) => steps.pop(),
    };
    let folder = if steps.is_empty() {
        ".".to_owned()
    } else {
        steps.join("/")
    };
    let handle = match workspace_dir::open_folder(&root, &folder) {
        Ok(handle) => handle,
        Err(Errno::XDEV | Errno::LOOP) => return Err(outside()),
        // The tool itself reports a missing path, or a file in place of a folder.
        Err(_) => return Ok(()),
    };
    let Ok(mut real) = workspace_dir::real_path(&handle) else {
        return Ok(());
    };
    real.extend(name);
    if env.hidden().iter().any(|hidden| real.starts_with(hidden)) {
        return Err(WorkspaceOpenError::Hidden(workspace_dir::shorten(path)));
    }
    Ok(())
}

#[cfg(test)]
#[path = "refusal_tests.rs"]
mod tests;
