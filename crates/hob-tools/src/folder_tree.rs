//! Reads a folder with its whole content before it is moved or removed.
//!
//! Invariants: links are not followed; a folder that holds something protected, or more than the
//! bounds below, is refused as a whole.

use crate::atomic_write::open_folder;
use crate::file_change::ChangeStep;
use crate::workspace_dir;
use crate::workspace_path::{FsNode, ToolRefusal, WorkspacePath};
use hob_exec::protected_paths::PathProtection;
use rustix::fs::{Dir, FileType};
use sha2::{Digest, Sha256};
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Files and folders in one folder.
const ENTRIES_MAX: usize = 2_000;
/// Bytes in one folder: they are stored for undo.
const BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Levels of nested folders.
const DEPTH_MAX: usize = 64;

/// The content of a folder, counted and hashed.
#[derive(Clone, Debug, Default)]
pub(crate) struct FolderTree {
    /// Files, links and folders.
    pub(crate) files: usize,
    pub(crate) bytes: u64,
    /// True if an entry needs a question each time, at its old or its new path.
    pub(crate) asks_always: bool,
    /// Covers every name and its content.
    hash: Sha256,
}

impl FolderTree {
    /// Equal for two folders only if they hold the same entries.
    pub(crate) fn digest(&self) -> String {
        data_encoding::HEXLOWER.encode(&self.hash.clone().finalize())
    }
}

/// Measures a folder that will move to `to`: no entry may be protected at its old or new path.
pub(crate) fn measure_folder(
    place: &WorkspacePath,
    to: Option<&WorkspacePath>,
) -> Result<FolderTree, ToolRefusal> {
    let mut walk = TreeScan::default();
    let mut asks_always = false;
    walk.scan_folder(place, 0, &mut |within, _| {
        asks_always |= within.asks_always;
        let Some(to) = to else { return Ok(()) };
        let below = within
            .real
            .strip_prefix(&place.real)
            .unwrap_or(&within.real);
        match to.protection_below(below) {
            None => Ok(()),
            Some(PathProtection::Asked(_)) => {
                asks_always = true;
                Ok(())
            }
            Some(PathProtection::Refused(why)) => Err(ToolRefusal(format!(
                "'{}' may not be moved there: {why}.",
                within.shown
            ))),
        }
    })?;
    walk.tree.asks_always = asks_always;
    Ok(walk.tree)
}

/// The steps that remove a folder, its content first.
pub(crate) fn plan_removal(
    place: &WorkspacePath,
    before: &FsNode,
) -> Result<(Vec<ChangeStep>, FolderTree), ToolRefusal> {
    let mut walk = TreeScan::default();
    let mut steps = Vec::new();
    walk.scan_folder(place, 0, &mut |within, node| {
        steps.push(ChangeStep::Remove {
            place: within.clone(),
            before: node.clone(),
        });
        Ok(())
    })?;
    // The scan lists a folder before its content; the removal needs the content first.
    steps.reverse();
    steps.push(ChangeStep::Remove {
        place: place.clone(),
        before: before.clone(),
    });
    Ok((steps, walk.tree))
}

#[derive(Default)]
struct TreeScan {
    tree: FolderTree,
}

type NodeVisitor<'m> = &'m mut dyn FnMut(&WorkspacePath, &FsNode) -> Result<(), ToolRefusal>;

impl TreeScan {
    fn scan_folder(
        &mut self,
        place: &WorkspacePath,
        depth: usize,
        visit: NodeVisitor<'_>,
    ) -> Result<(), ToolRefusal> {
        if depth > DEPTH_MAX {
            return Err(ToolRefusal(format!("'{}' is too deep.", place.shown)));
        }
        let to_refusal = |error| ToolRefusal::from(workspace_dir::open_error(&place.shown, error));
        // By handle: a folder that is renamed during the scan stays the same folder.
        let handle = open_folder(&place.folder, &place.name).map_err(to_refusal)?;
        let handle = Arc::new(handle);
        for name in folder_names(&handle).map_err(to_refusal)? {
            let Some(name) = name else {
                return Err(ToolRefusal(format!(
                    "'{}' holds a name that is not text; it is left alone.",
                    place.shown
                )));
            };
            let within = place.child(&handle, &name)?;
            let node = within.read_node()?;
            self.count(place, &node)?;
            // The depth distinguishes an entry in a folder from one beside it.
            let line = format!("{depth}\0{name}\0{}\0", node.fingerprint());
            self.tree.hash.update(line.as_bytes());
            visit(&within, &node)?;
            if matches!(node, FsNode::Folder { .. }) {
                self.scan_folder(&within, depth + 1, visit)?;
            }
        }
        Ok(())
    }

    fn count(&mut self, place: &WorkspacePath, node: &FsNode) -> Result<(), ToolRefusal> {
        self.tree.files += 1;
        if let FsNode::File { bytes, .. } = node {
            self.tree.bytes += bytes.len() as u64;
        }
        if self.tree.files > ENTRIES_MAX || self.tree.bytes > BYTES_MAX {
            return Err(ToolRefusal(format!(
                "'{}' holds more than {ENTRIES_MAX} files or {BYTES_MAX} bytes; do it in smaller parts.",
                place.shown
            )));
        }
        Ok(())
    }
}

/// The names in a folder, in order; `None` for a name that is not UTF-8.
pub(crate) fn folder_names(folder: &OwnedFd) -> Result<Vec<Option<String>>, rustix::io::Errno> {
    let entries = folder_entries(folder)?.into_iter();
    Ok(entries.map(|(name, _)| name).collect())
}

/// The names with the type that the folder reports; some file systems report `Unknown`.
pub(crate) fn folder_entries(
    folder: &OwnedFd,
) -> Result<Vec<(Option<String>, FileType)>, rustix::io::Errno> {
    let mut entries = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = match entry.file_name().to_str() {
            Ok("." | "..") => continue,
            Ok(name) => Some(name.to_owned()),
            Err(_) => None,
        };
        entries.push((name, entry.file_type()));
    }
    entries.sort_unstable_by(|one, other| one.0.cmp(&other.0));
    Ok(entries)
}
