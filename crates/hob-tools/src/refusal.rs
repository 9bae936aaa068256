//! Refusing a call that can never run, before anybody is asked about it.
//!
//! Invariants: nothing is changed, sent or looked up outside this machine; of what lies outside the
//! workspace nothing is said but that it does.

use crate::beneath::{self, NotOpened};
use crate::{Entry, Ground};
use hob_core::permission::Work;
use hob_wire::work::{NeedKind, ToolSpec};
use rustix::io::Errno;
use serde_json::Value;

/// Says why a call of a built-in tool can never run, whatever happens to be there: it names a place
/// outside the workspace, or something that the tool itself refuses. Blocks.
pub fn refusal(entry: &Entry, spec: &ToolSpec, work: &Work, ground: &Ground) -> Option<String> {
    let paths = spec
        .needs
        .iter()
        .filter(|need| need.kind == NeedKind::Path)
        .filter_map(|need| work.args.get(&need.arg).and_then(Value::as_str));
    let workspace = work.context.workspace.as_deref();
    for path in paths {
        if let Err(reason) = check_inside(workspace, path, ground) {
            return Some(reason.to_string());
        }
    }
    (entry.check?)(work, ground).err()
}

/// Checks that a path stays in the workspace and out of hob's own folders. Its last step is not
/// followed: a link that leads out may still be renamed or removed.
fn check_inside(workspace: Option<&str>, path: &str, ground: &Ground) -> Result<(), NotOpened> {
    let (root, workspace) = beneath::root(workspace)?;
    beneath::check_path(path)?;
    let outside = || NotOpened::Outside(beneath::shorten(path));
    let below = beneath::below(workspace, path).ok_or_else(outside)?;
    let mut steps: Vec<&str> = below
        .split('/')
        .filter(|step| !step.is_empty() && *step != ".")
        .collect();
    let name = match steps.last() {
        // A step up is part of the way, not a name.
        None | Some(&"..") => None,
        Some(_) => steps.pop(),
    };
    let folder = if steps.is_empty() {
        ".".to_owned()
    } else {
        steps.join("/")
    };
    let handle = match beneath::folder(&root, &folder) {
        Ok(handle) => handle,
        Err(Errno::XDEV | Errno::LOOP) => return Err(outside()),
        // What is not there, or no folder, is for the tool to tell.
        Err(_) => return Ok(()),
    };
    let Ok(mut real) = beneath::real_path(&handle) else {
        return Ok(());
    };
    real.extend(name);
    if ground
        .hidden()
        .iter()
        .any(|hidden| real.starts_with(hidden))
    {
        return Err(NotOpened::Hidden(beneath::shorten(path)));
    }
    Ok(())
}

#[cfg(test)]
#[path = "refusal_tests.rs"]
mod tests;
