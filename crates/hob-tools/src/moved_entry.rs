//! Recognizes an entry that a run moved, as opposed to another entry at the same path later.
//!
//! A file or link is recognized by its content. A folder is recognized by its identity on the disk,
//! even if its content changed since, or by its whole content, even if it was copied meanwhile.
//!
//! Invariant: a fingerprint without an identity or a digest matches no folder.

use crate::folder_tree::{self, FolderTree};
use crate::workspace_path::{FsNode, ToolRefusal, WorkspacePath};

/// Separates the identity and the digest of a folder.
const BETWEEN: char = '|';
const FOLDER: &str = "folder:";

/// The fingerprint of an entry before it moves; `tree` is the content of a folder.
pub(crate) fn fingerprint(
    place: &WorkspacePath,
    node: &FsNode,
    tree: Option<&FolderTree>,
) -> String {
    match tree {
        Some(tree) => {
            let identity = place.identity().unwrap_or_default();
            format!("{FOLDER}{identity}{BETWEEN}{}", tree.digest())
        }
        None => node.fingerprint(),
    }
}

/// Returns true if the entry at `place` is the one that `mark` was made of. Blocks.
pub(crate) fn is_same_entry(
    place: &WorkspacePath,
    node: &FsNode,
    mark: &str,
) -> Result<bool, ToolRefusal> {
    if !matches!(node, FsNode::Folder { .. }) {
        return Ok(node.fingerprint() == mark);
    }
    let parts = mark.strip_prefix(FOLDER);
    let Some((identity, digest)) = parts.and_then(|parts| parts.split_once(BETWEEN)) else {
        return Ok(false);
    };
    if !identity.is_empty() && place.identity().as_deref() == Some(identity) {
        return Ok(true);
    }
    Ok(folder_tree::measure_folder(place, None)?.digest() == digest)
}
