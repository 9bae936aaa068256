//! `remove`: removes a file or folder of the workspace; undoing the run restores it.

use crate::file_change::{self, ChangePlan, ChangeStep};
use crate::outcome::succeeded;
use crate::workspace_path::{FsNode, ToolRefusal, WorkspacePath};
use crate::write::not_a_file;
use crate::{EffectHooks, ToolEntry, ToolEnv, arguments, crash_probe, folder_tree};
use hob_core::permission::PreparedCall;
use hob_wire::rooms::tool::ToolExecuteResult;
use hob_wire::work::{Idempotency, NeedKind, ResourceNeed, Tier, ToolSpec};
use serde::Deserialize;
use serde_json::json;

/// Paths shown in the preview of a folder.
const SHOWN_MAX: usize = 100;

pub(crate) const ENTRY: ToolEntry = ToolEntry {
    effect_hooks: Some(EffectHooks {
        preview: |work, env| file_change::preview(work, env, plan),
        probe: |work, env| crash_probe::probe(work, env, answer_after_crash),
    }),
    ..ToolEntry::plain(spec, |call, env| file_change::run(call, env, plan))
};

#[derive(Debug, Deserialize)]
struct RemoveArguments {
    path: String,
    #[serde(default)]
    recursive: bool,
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "remove".to_owned(),
        aliases: vec!["fs.remove".to_owned()],
        description: "Removes a file or folder of the workspace. It is kept for the person, who can undo the run."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "path": {
                    "type": "string",
                    "description": "What to remove, relative to the workspace.",
                },
                "recursive": {
                    "type": "boolean",
                    "description": "Remove a folder with everything in it.",
                },
            },
            "required": ["path"],
            "additionalProperties": false,
        }),
        tier: Tier::Write,
        effect: Idempotency::Probeable,
        needs: vec![ResourceNeed::new(NeedKind::Path, "path")],
        approval: "Remove {path}".to_owned(),
        timeout_ms: None,
    }
}

fn plan(work: &PreparedCall, env: &ToolEnv) -> Result<ChangePlan, ToolRefusal> {
    let args: RemoveArguments = arguments(work)?;
    let place = WorkspacePath::resolve(work.context.workspace.as_deref(), &args.path, env)?;
    let before = place.read_node()?;
    let shown = place.shown.clone();
    let (steps, size) = match &before {
        FsNode::Nothing => return Err(not_a_file(&place, &before)),
        FsNode::Folder { .. } => {
            let (steps, tree) = folder_tree::plan_removal(&place, &before)?;
            if tree.files > 0 && !args.recursive {
                return Err(ToolRefusal(format!(
                    "'{shown}' is a folder with {} files. To remove it with everything in it, set recursive.",
                    tree.files
                )));
            }
            (
                steps,
                format!("a folder with {} files, {} bytes", tree.files, tree.bytes),
            )
        }
        FsNode::File { bytes, .. } => {
            let size = format!("{} bytes", bytes.len());
            (vec![ChangeStep::Remove { place, before }], size)
        }
        FsNode::Link { .. } => (
            vec![ChangeStep::Remove { place, before }],
            "a link".to_owned(),
        ),
    };
    Ok(ChangePlan {
        preview: preview(&shown, &size, &steps),
        done: done_answer(&shown),
        asks_always: false,
        steps,
    })
}

fn preview(shown: &str, size: &str, steps: &[ChangeStep]) -> String {
    let mut text = format!("remove {shown} ({size})");
    if steps.len() > 1 {
        for step in steps.iter().take(SHOWN_MAX) {
            if let ChangeStep::Remove { place, before } = step {
                let size = match before {
                    FsNode::File { bytes, .. } => format!(" ({} bytes)", bytes.len()),
                    _ => String::new(),
                };
                let added = format!("\n{}{size}", place.shown);
                text.push_str(&added);
            }
        }
        if steps.len() > SHOWN_MAX {
            let added = format!("\nand {} more", steps.len() - SHOWN_MAX);
            text.push_str(&added);
        }
    }
    text
}

fn answer_after_crash(work: &PreparedCall) -> Option<ToolExecuteResult> {
    let args: RemoveArguments = arguments(work).ok()?;
    Some(done_answer(&args.path))
}

fn done_answer(path: &str) -> ToolExecuteResult {
    ToolExecuteResult {
        metadata: Some(json!({ "path": path })),
        ..succeeded(format!("Removed '{path}'."))
    }
}

#[cfg(test)]
#[path = "remove_tests.rs"]
mod tests;
