//! `list`: lists a folder of the workspace.

use crate::folder_tree::folder_names;
use crate::outcome::{failed, succeeded};
use crate::workspace_dir;
use crate::workspace_path::ToolRefusal;
use crate::{ToolEntry, ToolEnv, arguments, run_search};
use hob_core::permission::PreparedCall;
use hob_wire::rooms::tool::ToolExecuteResult;
use hob_wire::work::{Idempotency, NeedKind, ResourceNeed, Tier, ToolSpec};
use rustix::fs::{AtFlags, FileType, statat};
use serde::Deserialize;
use serde_json::json;

/// Entries in an answer.
const ENTRIES_MAX: usize = 2_000;

pub(crate) const ENTRY: ToolEntry = ToolEntry::plain(spec, |call, env| {
    run_search(call, env, |work, env, _| list(work, env))
});

#[derive(Debug, Deserialize)]
struct ListArguments {
    path: Option<String>,
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "list".to_owned(),
        aliases: vec!["fs.list".to_owned()],
        description: "Lists a folder of the workspace: folders with a slash, files with their sizes in bytes, links with an @."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "path": {
                    "type": "string",
                    "description": "The folder, relative to the workspace; the workspace when missing.",
                },
            },
            "additionalProperties": false,
        }),
        tier: Tier::Read,
        effect: Idempotency::Pure,
        needs: vec![ResourceNeed::new(NeedKind::Path, "path")],
        approval: "List {path}".to_owned(),
        timeout_ms: None,
    }
}

fn list(work: &PreparedCall, env: &ToolEnv) -> ToolExecuteResult {
    try_list(work, env).unwrap_or_else(|ToolRefusal(reason)| failed(reason))
}

fn try_list(work: &PreparedCall, env: &ToolEnv) -> Result<ToolExecuteResult, ToolRefusal> {
    let args: ListArguments = arguments(work)?;
    let path = args.path.as_deref().unwrap_or(".");
    let (root, workspace) = workspace_dir::open_workspace(work.context.workspace.as_deref())?;
    workspace_dir::check_path(path)?;
    let outside = || workspace_dir::WorkspaceOpenError::Outside(workspace_dir::shorten(path));
    let below = workspace_dir::relative_path(workspace, path).ok_or_else(outside)?;
    let to_refusal = |error| ToolRefusal::from(workspace_dir::open_error(path, error));
    let folder = workspace_dir::open_folder(&root, &below).map_err(to_refusal)?;
    let real = workspace_dir::real_path(&folder).map_err(|error| ToolRefusal(error.to_string()))?;
    let is_hidden = |place: &std::path::Path| env.hidden().iter().any(|it| place.starts_with(it));
    if is_hidden(&real) {
        return Err(workspace_dir::WorkspaceOpenError::Hidden(workspace_dir::shorten(path)).into());
    }
    let names = folder_names(&folder).map_err(to_refusal)?;
    let count = names.len();
    let mut lines = Vec::new();
    for name in names.into_iter().take(ENTRIES_MAX) {
        let Some(name) = name else {
            lines.push("(a name that is not text)".to_owned());
            continue;
        };
        // The entry was removed meanwhile.
        let Ok(found) = statat(&folder, name.as_str(), AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        if is_hidden(&real.join(&name)) {
            continue;
        }
        let name = escape_controls(&name);
        lines.push(match FileType::from_raw_mode(found.st_mode) {
            FileType::Directory => format!("{name}/"),
            FileType::Symlink => format!("{name}@"),
            FileType::RegularFile => format!("{name}\t{}", found.st_size),
            other => format!("{name}\t({})", workspace_dir::file_type_name(other)),
        });
    }
    if count > ENTRIES_MAX {
        lines.push(format!("(and {} more)", count - ENTRIES_MAX));
    }
    let text = if lines.is_empty() {
        format!("'{path}' is empty.")
    } else {
        lines.join("\n")
    };
    Ok(ToolExecuteResult {
        metadata: Some(json!({ "entries": count })),
        ..succeeded(text)
    })
}

/// A name on one line: control characters are escaped.
pub(crate) fn escape_controls(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter {
            letter if letter.is_control() => out.extend(letter.escape_default()),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
#[path = "list_tests.rs"]
mod tests;
