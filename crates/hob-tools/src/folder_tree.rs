//! A folder with everything in it, as far as it may be moved or removed at once.
//!
//! Invariants: links are seen as links; a folder that holds something protected, or more than the
//! bounds below, is refused as a whole.

use crate::beneath;
use crate::change::Step;
use crate::put::open_folder;
use crate::spot::{Node, Refused, Spot};
use hob_exec::protected_paths::Protection;
use rustix::fs::{Dir, FileType};
use sha2::{Digest, Sha256};
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Files and folders in it.
const ENTRIES_MAX: usize = 2_000;
/// Bytes in it that are kept for undoing.
const BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Folders within each other.
const DEPTH_MAX: usize = 64;

/// What a folder holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    /// Files, links and folders.
    pub(crate) files: usize,
    pub(crate) bytes: u64,
    /// Whether something in it is asked for each time, here or where it goes.
    pub(crate) asks_always: bool,
    /// Of every name in it and what it is.
    hash: Sha256,
}

impl Tree {
    /// The same for two folders only if they hold the same.
    pub(crate) fn digest(&self) -> String {
        data_encoding::HEXLOWER.encode(&self.hash.clone().finalize())
    }
}

/// Looks through a folder that is to be moved to `to`: nothing in it may be protected, here or
/// there.
pub(crate) fn survey(spot: &Spot, to: Option<&Spot>) -> Result<Tree, Refused> {
    let mut walk = Walk::default();
    let mut asks_always = false;
    walk.enter(spot, 0, &mut |within, _| {
        asks_always |= within.asks_always;
        let Some(to) = to else { return Ok(()) };
        let below = within.real.strip_prefix(&spot.real).unwrap_or(&within.real);
        match to.protection_below(below) {
            None => Ok(()),
            Some(Protection::Asked(_)) => {
                asks_always = true;
                Ok(())
            }
            Some(Protection::Refused(why)) => Err(Refused(format!(
                "'{}' may not be moved there: {why}.",
                within.shown
            ))),
        }
    })?;
    walk.tree.asks_always = asks_always;
    Ok(walk.tree)
}

/// The steps that remove a folder, what is in it first.
pub(crate) fn removal(spot: &Spot, before: &Node) -> Result<(Vec<Step>, Tree), Refused> {
    let mut walk = Walk::default();
    let mut steps = Vec::new();
    walk.enter(spot, 0, &mut |within, node| {
        steps.push(Step::Gone {
            spot: within.clone(),
            before: node.clone(),
        });
        Ok(())
    })?;
    // What is in a folder comes after it in the walk and must go before it.
    steps.reverse();
    steps.push(Step::Gone {
        spot: spot.clone(),
        before: before.clone(),
    });
    Ok((steps, walk.tree))
}

#[derive(Default)]
struct Walk {
    tree: Tree,
}

type Meet<'m> = &'m mut dyn FnMut(&Spot, &Node) -> Result<(), Refused>;

impl Walk {
    fn enter(&mut self, spot: &Spot, depth: usize, meet: Meet<'_>) -> Result<(), Refused> {
        if depth > DEPTH_MAX {
            return Err(Refused(format!("'{}' is too deep.", spot.shown)));
        }
        let told = |error| Refused::from(beneath::refused(&spot.shown, error));
        let handle = open_folder(&spot.folder, &spot.name).map_err(told)?;
        let handle = Arc::new(handle);
        for name in names(&handle).map_err(told)? {
            let Some(name) = name else {
                return Err(Refused(format!(
                    "'{}' holds a name that is not text; it is left alone.",
                    spot.shown
                )));
            };
            let within = spot.within(&handle, &name)?;
            let node = within.look()?;
            self.count(spot, &node)?;
            // Its depth tells what is in a folder from what is beside it.
            let line = format!("{depth}\0{name}\0{}\0", node.mark());
            self.tree.hash.update(line.as_bytes());
            meet(&within, &node)?;
            if matches!(node, Node::Folder { .. }) {
                self.enter(&within, depth + 1, meet)?;
            }
        }
        Ok(())
    }

    fn count(&mut self, spot: &Spot, node: &Node) -> Result<(), Refused> {
        self.tree.files += 1;
        if let Node::File { bytes, .. } = node {
            self.tree.bytes += bytes.len() as u64;
        }
        if self.tree.files > ENTRIES_MAX || self.tree.bytes > BYTES_MAX {
            return Err(Refused(format!(
                "'{}' holds more than {ENTRIES_MAX} files or {BYTES_MAX} bytes; do it in smaller parts.",
                spot.shown
            )));
        }
        Ok(())
    }
}

/// The names in a folder, in order; none for one that is not text.
pub(crate) fn names(folder: &OwnedFd) -> Result<Vec<Option<String>>, rustix::io::Errno> {
    let entries = entries(folder)?.into_iter();
    Ok(entries.map(|(name, _)| name).collect())
}

/// The same, each with what the folder says it is; some file systems do not say.
pub(crate) fn entries(
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
