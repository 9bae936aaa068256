//! Undoing what a run changed, the newest first. A place that is no longer as the run left it was
//! changed by somebody since, and is left alone.
//!
//! Invariants: nothing that a person or another run made is overwritten; a place is either as it
//! was before, or told with the reason why not.

use crate::Ground;
use crate::spot::{Node, Refused, Spot, file_mark};
use crate::{moved_thing, put};
use hob_store::{Change, Former};

/// The mark of a moved folder from before its identity was recorded.
const UNKNOWN_FOLDER: &str = "folder";

/// What became of one change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undoing {
    /// It is as it was before; `what` says in a few words what was done.
    Restored { what: &'static str },
    /// It was so already.
    AlreadySo,
    /// It was not touched.
    Kept { reason: String },
}

/// Undoes one change. Blocks.
pub fn undo(change: &Change, former: &Former, ground: &Ground) -> Undoing {
    match try_undo(change, former, ground) {
        Ok(undoing) => undoing,
        Err(Refused(reason)) => Undoing::Kept { reason },
    }
}

fn try_undo(change: &Change, former: &Former, ground: &Ground) -> Result<Undoing, Refused> {
    let workspace = Some(change.workspace.as_str());
    let mut spot = Spot::find(workspace, &change.path, ground)?;
    let now = spot.look()?;
    if let Former::Moved { from } = former {
        let mut back = Spot::find(workspace, from, ground)?;
        let there = back.look()?;
        return match (&now, &there) {
            (Node::Nothing, Node::Nothing) => Err(since(&spot)),
            (Node::Nothing, _) => Ok(Undoing::AlreadySo),
            (Node::Folder { .. }, _) if change.becomes == UNKNOWN_FOLDER => Err(unknown(&spot)),
            // Something else may have come there since.
            (now, Node::Nothing) if !moved_thing::is_the_one(&spot, now, &change.becomes)? => {
                Err(since(&spot))
            }
            (_, Node::Nothing) => {
                put::make_missing(&mut back)?;
                put::moved(&spot, &back)?;
                Ok(Undoing::Restored { what: "moved back" })
            }
            _ => Err(since(&back)),
        };
    }
    let mark = now.mark();
    if mark == self::mark(former) {
        return Ok(Undoing::AlreadySo);
    }
    if mark != change.becomes {
        return Err(since(&spot));
    }
    let what = match former {
        Former::Nothing => {
            put::nothing(&spot, &now).map_err(|refused| match &now {
                Node::Folder { .. } => Refused(format!(
                    "'{}' was made by the run, but is not empty now; it stays.",
                    spot.shown
                )),
                _ => refused,
            })?;
            "removed"
        }
        Former::File { bytes, mode } => {
            put::make_missing(&mut spot)?;
            put::file(&spot, &now, bytes, *mode)?;
            "restored"
        }
        Former::Link { target } => {
            put::make_missing(&mut spot)?;
            put::link(&spot, target)?;
            "restored"
        }
        Former::Folder { mode } => {
            put::make_missing(&mut spot)?;
            put::folder(&spot, *mode)?;
            "restored"
        }
        // Handled above.
        Former::Moved { .. } => "moved back",
    };
    Ok(Undoing::Restored { what })
}

/// What tells this from anything else that could be there.
pub(crate) fn mark(former: &Former) -> String {
    match former {
        Former::Nothing | Former::Moved { .. } => Node::Nothing.mark(),
        Former::File { bytes, .. } => file_mark(bytes),
        Former::Folder { mode } => Node::Folder { mode: *mode }.mark(),
        Former::Link { target } => Node::Link {
            target: target.clone(),
        }
        .mark(),
    }
}

fn unknown(spot: &Spot) -> Refused {
    Refused(format!(
        "'{}' was moved by an older hob, which did not record which folder it was; move it back yourself.",
        spot.shown
    ))
}

fn since(spot: &Spot) -> Refused {
    Refused(format!(
        "'{}' was changed after the run; it is left as it is.",
        spot.shown
    ))
}

#[cfg(test)]
#[path = "undo_tests.rs"]
mod tests;
