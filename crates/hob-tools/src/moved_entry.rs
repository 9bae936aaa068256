//! Telling the very thing that a run moved from anything else that is at its place later.
//!
//! A file or link is known by what it holds. A folder is known by its identity on the disk, however
//! its contents changed since, or by everything in it, wherever it was copied to meanwhile.
//!
//! Invariant: a mark that does not say which folder it was fits no folder.

use crate::spot::{Node, Refused, Spot};
use crate::tree::{self, Tree};

/// Between the identity and the contents of a folder.
const BETWEEN: char = '|';
const FOLDER: &str = "folder:";

/// The mark of something that is about to be moved; `tree` is what it holds if it is a folder.
pub(crate) fn mark(spot: &Spot, node: &Node, tree: Option<&Tree>) -> String {
    match tree {
        Some(tree) => {
            let identity = spot.identity().unwrap_or_default();
            format!("{FOLDER}{identity}{BETWEEN}{}", tree.digest())
        }
        None => node.mark(),
    }
}

/// Whether what is at a spot is what `mark` was made of. Blocks.
pub(crate) fn is_the_one(spot: &Spot, node: &Node, mark: &str) -> Result<bool, Refused> {
    if !matches!(node, Node::Folder { .. }) {
        return Ok(node.mark() == mark);
    }
    let parts = mark.strip_prefix(FOLDER);
    let Some((identity, digest)) = parts.and_then(|parts| parts.split_once(BETWEEN)) else {
        return Ok(false);
    };
    if !identity.is_empty() && spot.identity().as_deref() == Some(identity) {
        return Ok(true);
    }
    Ok(tree::survey(spot, None)?.digest() == digest)
}
