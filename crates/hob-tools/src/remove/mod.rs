//! `remove`: a file or folder of the workspace goes; for a run it is kept, so that undoing the run
//! brings it back.

use crate::change::{self, Plan, Step};
use crate::outcome::said;
use crate::spot::{Node, Refused, Spot};
use crate::write::not_a_file;
use crate::{Entry, Ground, Looks, arguments, lookup, tree};
use hob_core::permission::Work;
use hob_wire::rooms::tool::Executed;
use hob_wire::work::{Effect, Need, NeedKind, Tier, ToolSpec};
use serde::Deserialize;
use serde_json::json;

/// Paths shown of a folder.
const SHOWN_MAX: usize = 100;

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
        effect: Effect::Probeable,
        needs: vec![Need::new(NeedKind::Path, "path")],
        approval: "Remove {path}".to_owned(),
        timeout_ms: None,
    }
}

fn plan(work: &Work, ground: &Ground) -> Result<Plan, Refused> {
    let args: Args = arguments(work)?;
    let spot = Spot::find(work.context.workspace.as_deref(), &args.path, ground)?;
    let before = spot.look()?;
    let shown = spot.shown.clone();
    let (steps, size) = match &before {
        Node::Nothing => return Err(not_a_file(&spot, &before)),
        Node::Folder { .. } => {
            let (steps, tree) = tree::removal(&spot, &before)?;
            if tree.files > 0 && !args.recursive {
                return Err(Refused(format!(
                    "'{shown}' is a folder with {} files. To remove it with everything in it, set recursive.",
                    tree.files
                )));
            }
            (
                steps,
                format!("a folder with {} files, {} bytes", tree.files, tree.bytes),
            )
        }
        Node::File { bytes, .. } => {
            let size = format!("{} bytes", bytes.len());
            (vec![Step::Gone { spot, before }], size)
        }
        Node::Link { .. } => (vec![Step::Gone { spot, before }], "a link".to_owned()),
    };
    Ok(Plan {
        preview: preview(&shown, &size, &steps),
        done: told(&shown),
        asks_always: false,
        steps,
    })
}

fn preview(shown: &str, size: &str, steps: &[Step]) -> String {
    let mut text = format!("remove {shown} ({size})");
    if steps.len() > 1 {
        for step in steps.iter().take(SHOWN_MAX) {
            if let Step::Gone { spot, before } = step {
                let size = match before {
                    Node::File { bytes, .. } => format!(" ({} bytes)", bytes.len()),
                    _ => String::new(),
                };
                let added = format!("\n{}{size}", spot.shown);
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

fn plan_done(work: &Work) -> Option<Executed> {
    let args: Args = arguments(work).ok()?;
    Some(told(&args.path))
}

fn told(path: &str) -> Executed {
    Executed {
        metadata: Some(json!({ "path": path })),
        ..said(format!("Removed '{path}'."))
    }
}

#[cfg(test)]
#[path = "remove_tests.rs"]
mod tests;
