//! Undoes the file changes of a run, the newest first. A file that differs from what the run left
//! was changed by somebody since, and is left alone.
//!
//! Invariants: changes by a person or another run are never overwritten; each file is either
//! restored or reported with the reason.

use crate::ToolEnv;
use crate::workspace_path::{FsNode, ToolRefusal, WorkspacePath, file_fingerprint};
use crate::{atomic_write, moved_entry};
use hob_store::{FileChange, PreviousEntry};

/// The fingerprint of a moved folder from versions that did not record its identity.
const UNKNOWN_FOLDER: &str = "folder";

/// The result of undoing one change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UndoOutcome {
    /// The previous state is back; `what` names the action in a few words.
    Restored { what: &'static str },
    /// The previous state was there already.
    AlreadyUndone,
    /// The file was not touched.
    Kept { reason: String },
}

/// Undoes one change. Blocks.
pub fn undo(change: &FileChange, former: &PreviousEntry, env: &ToolEnv) -> UndoOutcome {
    match try_undo(change, former, env) {
        Ok(undoing) => undoing,
        Err(ToolRefusal(reason)) => UndoOutcome::Kept { reason },
    }
}

fn try_undo(
    change: &FileChange,
    former: &PreviousEntry,
    env: &ToolEnv,
) -> Result<UndoOutcome, ToolRefusal> {
    let workspace = Some(change.workspace.as_str());
    let mut place = WorkspacePath::resolve(workspace, &change.path, env)?;
    let now = place.read_node()?;
    if let PreviousEntry::Moved { from } = former {
        let mut back = WorkspacePath::resolve(workspace, from, env)?;
        let there = back.read_node()?;
        return match (&now, &there) {
            (FsNode::Nothing, FsNode::Nothing) => Err(changed_since(&place)),
            (FsNode::Nothing, _) => Ok(UndoOutcome::AlreadyUndone),
            (FsNode::Folder { .. }, _) if change.becomes == UNKNOWN_FOLDER => {
                Err(unknown_folder(&place))
            }
            // Another entry may have been created at this path since.
            (now, FsNode::Nothing)
                if !moved_entry::is_same_entry(&place, now, &change.becomes)? =>
            {
                Err(changed_since(&place))
            }
            (_, FsNode::Nothing) => {
                atomic_write::create_missing_folders(&mut back)?;
                atomic_write::move_entry(&place, &back)?;
                Ok(UndoOutcome::Restored { what: "moved back" })
            }
            _ => Err(changed_since(&back)),
        };
    }
    let mark = now.fingerprint();
    if mark == self::previous_fingerprint(former) {
        return Ok(UndoOutcome::AlreadyUndone);
    }
    if mark != change.becomes {
        return Err(changed_since(&place));
    }
    let what = match former {
        PreviousEntry::Nothing => {
            atomic_write::remove(&place, &now).map_err(|refused| match &now {
                FsNode::Folder { .. } => ToolRefusal(format!(
                    "'{}' was made by the run, but is not empty now; it stays.",
                    place.shown
                )),
                _ => refused,
            })?;
            "removed"
        }
        PreviousEntry::File { bytes, mode } => {
            atomic_write::create_missing_folders(&mut place)?;
            atomic_write::replace_file(&place, &now, bytes, *mode)?;
            "restored"
        }
        PreviousEntry::Link { target } => {
            atomic_write::create_missing_folders(&mut place)?;
            atomic_write::create_link(&place, target)?;
            "restored"
        }
        PreviousEntry::Folder { mode } => {
            atomic_write::create_missing_folders(&mut place)?;
            atomic_write::create_folder(&place, *mode)?;
            "restored"
        }
        // Handled above.
        PreviousEntry::Moved { .. } => "moved back",
    };
    Ok(UndoOutcome::Restored { what })
}

/// The fingerprint of the previous content.
pub(crate) fn previous_fingerprint(former: &PreviousEntry) -> String {
    match former {
        PreviousEntry::Nothing | PreviousEntry::Moved { .. } => FsNode::Nothing.fingerprint(),
        PreviousEntry::File { bytes, .. } => file_fingerprint(bytes),
        PreviousEntry::Folder { mode } => FsNode::Folder { mode: *mode }.fingerprint(),
        PreviousEntry::Link { target } => FsNode::Link {
            target: target.clone(),
        }
        .fingerprint(),
    }
}

fn unknown_folder(place: &WorkspacePath) -> ToolRefusal {
    ToolRefusal(format!(
        "'{}' was moved by an older hob, which did not record which folder it was; move it back yourself.",
        place.shown
    ))
}

fn changed_since(place: &WorkspacePath) -> ToolRefusal {
    ToolRefusal(format!(
        "'{}' was changed after the run; it is left as it is.",
        place.shown
    ))
}

#[cfg(test)]
#[path = "undo_tests.rs"]
mod tests;
