//! Other names of hidden and protected files: the same folder through a bind mount, the same file
//! through a second hard link. Sandbox rules are written for paths, so each other path needs its
//! own rule, or the plan is refused.
//!
//! Invariant: after `cover_aliases`, `hidden` lists every path in the mount table that shows a
//! hidden file, `protected` lists every such path inside a writable root, and no file below them,
//! as far as `refuse_hard_links` looks, has a second hard link.

use crate::error::ExecError;
use crate::spawn_plan::SandboxPolicy;
use rustix::fs::{AtFlags, CWD, StatxFlags};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Entries checked for hard links; more are an error.
const ENTRIES_MAX: usize = 100_000;

/// A hard link check of one kind of tree.
struct LinkCheck {
    depth_max: usize,
    /// A folder of content-addressed files, which is skipped: it can be huge, and its files are
    /// neither run nor read as settings or keys.
    skipped_folder: &'static str,
    protected_because: &'static str,
    danger: &'static str,
}

const PROTECTED: LinkCheck = LinkCheck {
    depth_max: 64,
    // Git hard-links object files between local clones on purpose.
    skipped_folder: "objects",
    protected_because: "is protected",
    danger: "change it",
};

/// Databases, tokens, keys and settings lie in the first two levels; service data lies deeper.
const HIDDEN: LinkCheck = LinkCheck {
    depth_max: 2,
    skipped_folder: "blobs",
    protected_because: "belongs to hob",
    danger: "read it",
};

/// Adds the aliases to a policy whose paths are canonical, and refuses hard links.
pub(crate) fn cover_aliases(policy: &mut SandboxPolicy) -> Result<(), ExecError> {
    let mounts = MountTable::read().map_err(|error| {
        ExecError::Policy(format!(
            "'{MOUNTINFO}' cannot be read, so other names of hidden files are unknown: {error}."
        ))
    })?;
    add_aliases(policy, &mounts);
    refuse_hard_links(policy)
}

fn add_aliases(policy: &mut SandboxPolicy, mounts: &MountTable) {
    let others = |paths: &[PathBuf]| -> Vec<PathBuf> {
        paths.iter().flat_map(|path| mounts.aliases(path)).collect()
    };
    let hidden = others(&policy.hidden);
    policy.hidden.extend(hidden);
    let mut protected = others(&policy.protected);
    // Outside of the writable roots everything is read-only already.
    protected.retain(|path| policy.write.iter().any(|root| path.starts_with(root)));
    policy.protected.extend(protected);
}

/// Returns an error if a covered file has a second hard link, because no rule covers that name.
fn refuse_hard_links(policy: &SandboxPolicy) -> Result<(), ExecError> {
    let mut entries = 0;
    let in_root = |path: &&PathBuf| policy.write.iter().any(|root| path.starts_with(root));
    let protected = policy.protected.iter().filter(in_root);
    let protected = protected.map(|path| (path, PROTECTED));
    let hidden = policy.hidden.iter().map(|path| (path, HIDDEN));
    for (path, check) in protected.chain(hidden) {
        let Some(file) = find_hard_linked_file(path, &check, &mut entries)? else {
            continue;
        };
        let (
            file,
            LinkCheck {
                protected_because,
                danger,
                ..
            },
        ) = (file.display(), check);
        return Err(ExecError::Policy(format!(
            "'{file}' {protected_because} and has another name (a hard link), under which a command could \
             {danger}. Find it with `find / -xdev -samefile '{file}'` and remove it."
        )));
    }
    Ok(())
}

/// The first file at or below a path that has more than one hard link.
fn find_hard_linked_file(
    path: &Path,
    check: &LinkCheck,
    entries: &mut usize,
) -> Result<Option<PathBuf>, ExecError> {
    let mut open = vec![(path.to_owned(), 0)];
    while let Some((path, depth)) = open.pop() {
        *entries += 1;
        if *entries > ENTRIES_MAX {
            return Err(ExecError::Policy(format!(
                "'{}' holds more than {ENTRIES_MAX} files, too many to look for hard links. Work \
                 in a folder with less that is protected.",
                path.display()
            )));
        }
        // Links are not followed: a symbolic link is no second name of the file's bytes.
        let Ok(found) = std::fs::symlink_metadata(&path) else {
            continue;
        };
        if found.is_dir() {
            // A checked path that itself has this name is not skipped.
            let is_content =
                depth > 0 && path.file_name() == Some(OsStr::new(check.skipped_folder));
            if depth < check.depth_max && !is_content {
                let below = std::fs::read_dir(&path).into_iter().flatten().flatten();
                open.extend(below.map(|entry| (entry.path(), depth + 1)));
            }
        } else if !found.is_symlink() && found.nlink() > 1 {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

const MOUNTINFO: &str = "/proc/self/mountinfo";

/// The mount table of this process.
#[derive(Debug)]
struct MountTable(Vec<MountEntry>);

#[derive(Debug, PartialEq, Eq)]
struct MountEntry {
    id: u64,
    /// The kernel's number of the file system. On btrfs it differs from the device of `stat`.
    device: String,
    /// The folder of the file system that is mounted.
    root: PathBuf,
    /// The mount point.
    point: PathBuf,
}

impl MountTable {
    fn read() -> io::Result<MountTable> {
        let text = std::fs::read(MOUNTINFO)?;
        let lines = text.split(|byte| *byte == b'\n');
        Ok(MountTable(lines.filter_map(MountEntry::parse).collect()))
    }

    /// Other paths that show a path or something in it.
    fn aliases(&self, path: &Path) -> Vec<PathBuf> {
        let Some((id, file)) = file_identity(path) else {
            return Vec::new();
        };
        let own = self.0.iter().find(|mount| mount.id == id);
        let Some((own, inside)) =
            own.and_then(|own| Some((own, own.root.join(path.strip_prefix(&own.point).ok()?))))
        else {
            return Vec::new();
        };
        let same_system = self.0.iter().filter(|mount| mount.device == own.device);
        let seen = same_system.filter_map(|mount| {
            if let Ok(rest) = inside.strip_prefix(&mount.root) {
                let shown = join(&mount.point, rest);
                // Another mount may cover that path, so the file found there is compared.
                let is_same = file_identity(&shown).is_some_and(|(_, found)| found == file);
                return is_same.then_some(shown);
            }
            // A part of it is mounted elsewhere. It counts only if no other mount covers that mount
            // point.
            let is_part = mount.root.starts_with(&inside);
            let is_seen = || mount_id(&mount.point) == Some(mount.id);
            (is_part && is_seen()).then(|| mount.point.clone())
        });
        seen.filter(|shown| shown != path).collect()
    }
}

impl MountEntry {
    /// `ID PARENT MAJOR:MINOR ROOT POINT …`
    fn parse(line: &[u8]) -> Option<MountEntry> {
        let mut fields = line.split(|byte| *byte == b' ');
        let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
        let device = String::from_utf8(fields.nth(1)?.to_vec()).ok()?;
        let root = unescape(fields.next()?);
        let point = unescape(fields.next()?);
        Some(MountEntry {
            id,
            device,
            root,
            point,
        })
    }
}

/// Decodes a path of mountinfo, where the kernel writes space, tab, newline and backslash as `\`
/// and three octal digits.
fn unescape(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let octal = after.get(..3).filter(|_| *first == b'\\');
        let octal = octal.and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(byte) = octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            bytes.push(byte);
            rest = &after[3..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// The mount id of a path, and the file's device and inode.
fn file_identity(path: &Path) -> Option<(u64, (u32, u32, u64))> {
    let flags = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID;
    let found = rustix::fs::statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, flags).ok()?;
    let device = (found.stx_dev_major, found.stx_dev_minor);
    Some((found.stx_mnt_id, (device.0, device.1, found.stx_ino)))
}

fn mount_id(path: &Path) -> Option<u64> {
    file_identity(path).map(|(mount, _)| mount)
}

/// Joins two paths. Joining an empty rest would add a slash.
fn join(folder: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() {
        folder.to_owned()
    } else {
        folder.join(rest)
    }
}

#[cfg(test)]
#[path = "file_aliases_tests.rs"]
mod tests;
