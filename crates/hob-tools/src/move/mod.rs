//! `move`: moves a file or folder to a path of the workspace where nothing exists.

use crate::file_change::{self, ChangePlan, ChangeStep};
use crate::outcome::succeeded;
use crate::workspace_path::{FsNode, ToolRefusal, WorkspacePath};
use crate::write::not_a_file;
use crate::{EffectHooks, ToolEntry, ToolEnv, arguments, crash_probe, folder_tree, moved_entry};
use hob_core::permission::PreparedCall;
use hob_wire::rooms::tool::ToolExecuteResult;
use hob_wire::work::{Idempotency, NeedKind, ResourceNeed, Tier, ToolSpec};
use serde::Deserialize;
use serde_json::json;

pub(crate) const ENTRY: ToolEntry = ToolEntry {
    effect_hooks: Some(EffectHooks {
        preview: |work, env| file_change::preview(work, env, plan),
        probe: |work, env| crash_probe::probe(work, env, answer_after_crash),
    }),
    ..ToolEntry::plain(spec, |call, env| file_change::run(call, env, plan))
};

#[derive(Debug, Deserialize)]
struct MoveArguments {
    from: String,
    to: String,
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "move".to_owned(),
        aliases: vec!["fs.move".to_owned()],
        description: "Moves or renames a file or folder of the workspace. Nothing is ever overwritten; missing folders are created."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "from": {
                    "type": "string",
                    "description": "What to move, relative to the workspace.",
                },
                "to": {
                    "type": "string",
                    "description": "Its new path, relative to the workspace; nothing may be there.",
                },
            },
            "required": ["from", "to"],
            "additionalProperties": false,
        }),
        tier: Tier::Write,
        effect: Idempotency::Probeable,
        needs: vec![ResourceNeed::new(NeedKind::Path, "from"), ResourceNeed::new(NeedKind::Path, "to")],
        approval: "Move {from} to {to}".to_owned(),
        timeout_ms: None,
    }
}

fn plan(work: &PreparedCall, env: &ToolEnv) -> Result<ChangePlan, ToolRefusal> {
    let args: MoveArguments = arguments(work)?;
    let workspace = work.context.workspace.as_deref();
    let from = WorkspacePath::resolve(workspace, &args.from, env)?;
    let to = WorkspacePath::resolve(workspace, &args.to, env)?;
    let before = from.read_node()?;
    let mut tree = None;
    let what = match &before {
        FsNode::Nothing => return Err(not_a_file(&from, &before)),
        FsNode::Folder { .. } => {
            let held = tree.insert(folder_tree::measure_folder(&from, Some(&to))?);
            format!("a folder with {} files, {} bytes", held.files, held.bytes)
        }
        FsNode::File { bytes, .. } => format!("{} bytes", bytes.len()),
        FsNode::Link { .. } => "a link".to_owned(),
    };
    if to.read_node()? != FsNode::Nothing {
        return Err(ToolRefusal(format!(
            "There is something at '{}' already; nothing is overwritten. Remove it first or choose another path.",
            to.shown
        )));
    }
    if to.real.starts_with(&from.real) {
        return Err(ToolRefusal(
            "A folder cannot be moved into itself.".to_owned(),
        ));
    }
    Ok(ChangePlan {
        preview: format!("{} → {} ({what})", from.shown, to.shown),
        done: done_answer(&from.shown, &to.shown),
        asks_always: tree.as_ref().is_some_and(|tree| tree.asks_always),
        steps: vec![ChangeStep::Move {
            mark: moved_entry::fingerprint(&from, &before, tree.as_ref()),
            from,
            to,
            before,
        }],
    })
}

fn answer_after_crash(work: &PreparedCall) -> Option<ToolExecuteResult> {
    let args: MoveArguments = arguments(work).ok()?;
    Some(done_answer(&args.from, &args.to))
}

fn done_answer(from: &str, to: &str) -> ToolExecuteResult {
    ToolExecuteResult {
        metadata: Some(json!({ "from": from, "to": to })),
        ..succeeded(format!("Moved '{from}' to '{to}'."))
    }
}

#[cfg(test)]
#[path = "move_tests.rs"]
mod tests;
