//! `write`: writes a whole file; missing folders are created.

use crate::file_change::{self, ChangePlan, ChangeStep};
use crate::outcome::succeeded;
use crate::workspace_path::{FsNode, ToolRefusal, WorkspacePath, sha256_hex};
use crate::{EffectHooks, ToolEntry, ToolEnv, arguments, crash_probe, diff};
use hob_core::permission::PreparedCall;
use hob_kit::mask::{MASKED, SecretMask};
use hob_wire::rooms::tool::ToolExecuteResult;
use hob_wire::work::{Idempotency, NeedKind, ResourceNeed, Tier, ToolSpec};
use serde::Deserialize;
use serde_json::json;
use std::borrow::Cow;

/// Characters of the new content.
const CONTENT_CHARS_MAX: usize = 4 * 1024 * 1024;

pub(crate) const ENTRY: ToolEntry = ToolEntry {
    effect_hooks: Some(EffectHooks {
        preview: |work, env| file_change::preview(work, env, plan),
        probe: |work, env| crash_probe::probe(work, env, answer_after_crash),
    }),
    ..ToolEntry::plain(spec, |call, env| file_change::run(call, env, plan))
};

#[derive(Debug, Deserialize)]
struct WriteArguments {
    path: String,
    content: String,
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "write".to_owned(),
        aliases: vec!["fs.write".to_owned()],
        description: "Writes a file of the workspace, replacing its content; missing folders are created. To change a part of a file, use edit."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "path": {
                    "type": "string",
                    "description": "The file, relative to the workspace.",
                },
                "content": {
                    "type": "string",
                    "maxLength": CONTENT_CHARS_MAX,
                    "description": "Everything the file will hold.",
                },
            },
            "required": ["path", "content"],
            "additionalProperties": false,
        }),
        tier: Tier::Write,
        effect: Idempotency::Probeable,
        needs: vec![ResourceNeed::new(NeedKind::Path, "path")],
        approval: "Write {path}".to_owned(),
        timeout_ms: None,
    }
}

fn plan(work: &PreparedCall, env: &ToolEnv) -> Result<ChangePlan, ToolRefusal> {
    let args: WriteArguments = arguments(work)?;
    let place = WorkspacePath::resolve(work.context.workspace.as_deref(), &args.path, env)?;
    let before = place.read_node()?;
    let bytes = args.content.into_bytes();
    let mode = match &before {
        FsNode::Nothing => place.default_mode() & 0o666,
        FsNode::File { mode, .. } => *mode,
        other => return Err(not_a_file(&place, other)),
    };
    let held = match &before {
        FsNode::File { bytes, .. } => Some(bytes.as_slice()),
        _ => None,
    };
    check_masked(&place, held.unwrap_or_default(), &bytes, env.mask())?;
    Ok(ChangePlan {
        preview: diff::unified(&place.shown, held, &bytes),
        done: done_answer(&place.shown, &bytes, held.is_none()),
        asks_always: false,
        steps: vec![ChangeStep::Write {
            place,
            before,
            bytes,
            mode,
        }],
    })
}

/// Refuses to write a mask over the secret it stands for: the model never saw the secret, so it
/// cannot intend to replace it.
fn check_masked(
    place: &WorkspacePath,
    held: &[u8],
    bytes: &[u8],
    mask: &SecretMask,
) -> Result<(), ToolRefusal> {
    let masks = |bytes: &[u8]| String::from_utf8_lossy(bytes).matches(MASKED).count();
    let held = String::from_utf8_lossy(held);
    let is_hiding = matches!(mask.apply_exact(&held), Cow::Owned(_));
    if is_hiding && masks(bytes) > held.matches(MASKED).count() {
        return Err(ToolRefusal(format!(
            "'{}' holds a secret that you were shown as {MASKED}; writing that would destroy it. Use edit, and leave the lines with {MASKED} alone.",
            place.shown
        )));
    }
    Ok(())
}

/// The answer for a call that a crash interrupted after its effect.
fn answer_after_crash(work: &PreparedCall) -> Option<ToolExecuteResult> {
    let args: WriteArguments = arguments(work).ok()?;
    let bytes = args.content.into_bytes();
    Some(done_answer(&args.path, &bytes, false))
}

fn done_answer(path: &str, bytes: &[u8], is_new: bool) -> ToolExecuteResult {
    let verb = if is_new { "Created" } else { "Wrote" };
    ToolExecuteResult {
        metadata: Some(json!({ "path": path, "bytes": bytes.len(), "sha256": sha256_hex(bytes) })),
        ..succeeded(format!("{verb} '{path}' ({} bytes).", bytes.len()))
    }
}

/// The refusal to change something that is not a file.
pub(crate) fn not_a_file(place: &WorkspacePath, node: &FsNode) -> ToolRefusal {
    let shown = &place.shown;
    ToolRefusal(match node {
        FsNode::Nothing => format!("There is no file '{shown}' in the workspace."),
        FsNode::Link { .. } => {
            format!("'{shown}' is a link; name the file it leads to instead.")
        }
        _ => format!("'{shown}' is a folder, not a file."),
    })
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
