//! `list`: what is in a folder of the workspace.

use crate::beneath;
use crate::outcome::{failed, said};
use crate::spot::Refused;
use crate::tree::names;
use crate::{Entry, Ground, arguments, looking};
use hob_core::permission::Work;
use hob_wire::rooms::tool::Executed;
use hob_wire::work::{Effect, Need, NeedKind, Tier, ToolSpec};
use rustix::fs::{AtFlags, FileType, statat};
use serde::Deserialize;
use serde_json::json;

/// Entries of one answer.
const ENTRIES_MAX: usize = 2_000;

pub(crate) const ENTRY: Entry = Entry {
    spec,
    run: |call, ground| looking(call, ground, |work, ground, _| list(work, ground)),
    check: None,
    looks: None,
};

#[derive(Debug, Deserialize)]
struct Args {
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
        effect: Effect::Pure,
        needs: vec![Need::new(NeedKind::Path, "path")],
        approval: "List {path}".to_owned(),
        timeout_ms: None,
    }
}

fn list(work: &Work, ground: &Ground) -> Executed {
    try_list(work, ground).unwrap_or_else(|Refused(reason)| failed(reason))
}

fn try_list(work: &Work, ground: &Ground) -> Result<Executed, Refused> {
    let args: Args = arguments(work)?;
    let path = args.path.as_deref().unwrap_or(".");
    let (root, workspace) = beneath::root(work.context.workspace.as_deref())?;
    beneath::check_path(path)?;
    let outside = || beneath::NotOpened::Outside(beneath::shorten(path));
    let below = beneath::below(workspace, path).ok_or_else(outside)?;
    let told = |error| Refused::from(beneath::refused(path, error));
    let folder = beneath::folder(&root, &below).map_err(told)?;
    let real = beneath::real_path(&folder).map_err(|error| Refused(error.to_string()))?;
    let is_hidden =
        |place: &std::path::Path| ground.hidden().iter().any(|it| place.starts_with(it));
    if is_hidden(&real) {
        return Err(beneath::NotOpened::Hidden(beneath::shorten(path)).into());
    }
    let names = names(&folder).map_err(told)?;
    let count = names.len();
    let mut lines = Vec::new();
    for name in names.into_iter().take(ENTRIES_MAX) {
        let Some(name) = name else {
            lines.push("(a name that is not text)".to_owned());
            continue;
        };
        // What went meanwhile is not there.
        let Ok(found) = statat(&folder, name.as_str(), AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        if is_hidden(&real.join(&name)) {
            continue;
        }
        let name = plain(&name);
        lines.push(match FileType::from_raw_mode(found.st_mode) {
            FileType::Directory => format!("{name}/"),
            FileType::Symlink => format!("{name}@"),
            FileType::RegularFile => format!("{name}\t{}", found.st_size),
            other => format!("{name}\t({})", beneath::kind(other)),
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
    Ok(Executed {
        metadata: Some(json!({ "entries": count })),
        ..said(text)
    })
}

/// A name on one line, whatever it holds.
pub(crate) fn plain(name: &str) -> String {
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
