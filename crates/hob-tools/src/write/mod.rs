//! `write`: a file with this content, in the place of what was there. Missing folders are made.

use crate::change::{self, Plan, Step};
use crate::outcome::said;
use crate::spot::{Node, Refused, Spot, hash};
use crate::{Entry, Ground, Looks, arguments, diff, lookup};
use hob_core::permission::Work;
use hob_kit::mask::{MASKED, Mask};
use hob_wire::rooms::tool::Executed;
use hob_wire::work::{Effect, Need, NeedKind, Tier, ToolSpec};
use serde::Deserialize;
use serde_json::json;
use std::borrow::Cow;

/// Letters of one new content.
const CONTENT_CHARS_MAX: usize = 4 * 1024 * 1024;

pub(crate) const ENTRY: Entry = Entry {
    spec,
    run: |call, ground| change::run(call, ground, plan),
    check: None,
    looks: Some(Looks {
        look: |work, ground| change::look(work, ground, plan),
        probe: |work, ground| lookup::probe(work, ground, plan_done),
    }),
};

#[derive(Debug, Deserialize)]
struct Args {
    path: String,
    content: String,
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "write".to_owned(),
        aliases: vec!["fs.write".to_owned()],
        description: "Writes a file of the workspace, replacing what it held; folders that miss are made. To change a part of a file, use edit."
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
        effect: Effect::Probeable,
        needs: vec![Need::new(NeedKind::Path, "path")],
        approval: "Write {path}".to_owned(),
        timeout_ms: None,
    }
}

fn plan(work: &Work, ground: &Ground) -> Result<Plan, Refused> {
    let args: Args = arguments(work)?;
    let spot = Spot::find(work.context.workspace.as_deref(), &args.path, ground)?;
    let before = spot.look()?;
    let bytes = args.content.into_bytes();
    let mode = match &before {
        Node::Nothing => spot.usual_mode() & 0o666,
        Node::File { mode, .. } => *mode,
        other => return Err(not_a_file(&spot, other)),
    };
    let held = match &before {
        Node::File { bytes, .. } => Some(bytes.as_slice()),
        _ => None,
    };
    check_masked(&spot, held.unwrap_or_default(), &bytes, ground.mask())?;
    Ok(Plan {
        preview: diff::unified(&spot.shown, held, &bytes),
        done: told(&spot.shown, &bytes, held.is_none()),
        asks_always: false,
        steps: vec![Step::File {
            spot,
            before,
            bytes,
            mode,
        }],
    })
}

/// Refuses to write a mask over the secret it stands for: the model was not shown the secret, so
/// it cannot mean to replace it.
fn check_masked(spot: &Spot, held: &[u8], bytes: &[u8], mask: &Mask) -> Result<(), Refused> {
    let masks = |bytes: &[u8]| String::from_utf8_lossy(bytes).matches(MASKED).count();
    let held = String::from_utf8_lossy(held);
    let is_hiding = matches!(mask.apply_exact(&held), Cow::Owned(_));
    if is_hiding && masks(bytes) > held.matches(MASKED).count() {
        return Err(Refused(format!(
            "'{}' holds a secret that you were shown as {MASKED}; writing that would destroy it. Use edit, and leave the lines with {MASKED} alone.",
            spot.shown
        )));
    }
    Ok(())
}

/// What the model is told of a call that a crash cut off after its effect.
fn plan_done(work: &Work) -> Option<Executed> {
    let args: Args = arguments(work).ok()?;
    let bytes = args.content.into_bytes();
    Some(told(&args.path, &bytes, false))
}

fn told(path: &str, bytes: &[u8], is_new: bool) -> Executed {
    let verb = if is_new { "Created" } else { "Wrote" };
    Executed {
        metadata: Some(json!({ "path": path, "bytes": bytes.len(), "sha256": hash(bytes) })),
        ..said(format!("{verb} '{path}' ({} bytes).", bytes.len()))
    }
}

/// Why something that is no file is not changed.
pub(crate) fn not_a_file(spot: &Spot, node: &Node) -> Refused {
    let shown = &spot.shown;
    Refused(match node {
        Node::Nothing => format!("There is no file '{shown}' in the workspace."),
        Node::Link { .. } => {
            format!("'{shown}' is a link; name the file it leads to instead.")
        }
        _ => format!("'{shown}' is a folder, not a file."),
    })
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
