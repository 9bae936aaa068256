//! `move`: a file or folder to another place of the workspace, where nothing is yet.

use crate::change::{self, Plan, Step};
use crate::outcome::said;
use crate::spot::{Node, Refused, Spot};
use crate::write::not_a_file;
use crate::{Entry, Ground, Looks, arguments, lookup, moved_thing, tree};
use hob_core::permission::Work;
use hob_wire::rooms::tool::Executed;
use hob_wire::work::{Effect, Need, NeedKind, Tier, ToolSpec};
use serde::Deserialize;
use serde_json::json;

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
    from: String,
    to: String,
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "move".to_owned(),
        aliases: vec!["fs.move".to_owned()],
        description: "Moves or renames a file or folder of the workspace. Nothing is ever overwritten; folders that miss are made."
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
        effect: Effect::Probeable,
        needs: vec![Need::new(NeedKind::Path, "from"), Need::new(NeedKind::Path, "to")],
        approval: "Move {from} to {to}".to_owned(),
        timeout_ms: None,
    }
}

fn plan(work: &Work, ground: &Ground) -> Result<Plan, Refused> {
    let args: Args = arguments(work)?;
    let workspace = work.context.workspace.as_deref();
    let from = Spot::find(workspace, &args.from, ground)?;
    let to = Spot::find(workspace, &args.to, ground)?;
    let before = from.look()?;
    let mut tree = None;
    let what = match &before {
        Node::Nothing => return Err(not_a_file(&from, &before)),
        Node::Folder { .. } => {
            let held = tree.insert(tree::survey(&from, Some(&to))?);
            format!("a folder with {} files, {} bytes", held.files, held.bytes)
        }
        Node::File { bytes, .. } => format!("{} bytes", bytes.len()),
        Node::Link { .. } => "a link".to_owned(),
    };
    if to.look()? != Node::Nothing {
        return Err(Refused(format!(
            "There is something at '{}' already; nothing is overwritten. Remove it first or choose another path.",
            to.shown
        )));
    }
    if to.real.starts_with(&from.real) {
        return Err(Refused("A folder cannot be moved into itself.".to_owned()));
    }
    Ok(Plan {
        preview: format!("{} → {} ({what})", from.shown, to.shown),
        done: told(&from.shown, &to.shown),
        asks_always: tree.as_ref().is_some_and(|tree| tree.asks_always),
        steps: vec![Step::Moved {
            mark: moved_thing::mark(&from, &before, tree.as_ref()),
            from,
            to,
            before,
        }],
    })
}

fn plan_done(work: &Work) -> Option<Executed> {
    let args: Args = arguments(work).ok()?;
    Some(told(&args.from, &args.to))
}

fn told(from: &str, to: &str) -> Executed {
    Executed {
        metadata: Some(json!({ "from": from, "to": to })),
        ..said(format!("Moved '{from}' to '{to}'."))
    }
}

#[cfg(test)]
#[path = "move_tests.rs"]
mod tests;
