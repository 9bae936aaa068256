//! Other names of hidden and protected files: the same folder seen through a bind mount, the same
//! file under a second hard link. Rules are written for paths, so each other path needs a rule of
//! its own, or the plan is refused.
//!
//! Invariant: after `settle`, `hidden` names every place in the mount table that shows a hidden
//! file, `protected` every such place inside a writable root, and no file they cover, as far as
//! `refuse_hard_links` looks, has a second name.

use crate::error::ExecError;
use crate::plan::Policy;
use rustix::fs::{AtFlags, CWD, StatxFlags};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Entries looked at for second names; more are a refusal.
const ENTRIES_MAX: usize = 100_000;

/// A kind of place that is looked through for second names.
struct LinkCheck {
    depth_max: usize,
    /// A folder of content named by its digest, which is passed over: there can be very many, and
    /// nothing in it is run, read as a setting, or a key.
    content: &'static str,
    is: &'static str,
    could: &'static str,
}

const PROTECTED: LinkCheck = LinkCheck {
    depth_max: 64,
    // Git and its helpers link these between clones on purpose.
    content: "objects",
    is: "is protected",
    could: "change it",
};

/// Databases, tokens, keys and settings lie in the first two levels, the data of services below.
const HIDDEN: LinkCheck = LinkCheck {
    depth_max: 2,
    content: "blobs",
    is: "belongs to hob",
    could: "read it",
};

/// Adds the other names to a policy whose paths are canonical.
pub(crate) fn settle(policy: &mut Policy) -> Result<(), ExecError> {
    let mounts = Mounts::read().map_err(|error| {
        ExecError::Policy(format!(
            "'{MOUNTINFO}' cannot be read, so other names of hidden files are unknown: {error}."
        ))
    })?;
    add_aliases(policy, &mounts);
    refuse_hard_links(policy)
}

fn add_aliases(policy: &mut Policy, mounts: &Mounts) {
    let others = |paths: &[PathBuf]| -> Vec<PathBuf> {
        paths.iter().flat_map(|path| mounts.aliases(path)).collect()
    };
    let hidden = others(&policy.hidden);
    policy.hidden.extend(hidden);
    let mut protected = others(&policy.protected);
    protected.retain(|path| policy.write.iter().any(|root| path.starts_with(root)));
    policy.protected.extend(protected);
}

/// Refuses a file that could be read or changed under a name no rule is written for.
fn refuse_hard_links(policy: &Policy) -> Result<(), ExecError> {
    let mut entries = 0;
    let in_root = |path: &&PathBuf| policy.write.iter().any(|root| path.starts_with(root));
    let protected = policy.protected.iter().filter(in_root);
    let protected = protected.map(|path| (path, PROTECTED));
    let hidden = policy.hidden.iter().map(|path| (path, HIDDEN));
    for (path, check) in protected.chain(hidden) {
        let Some(file) = linked_file(path, &check, &mut entries)? else {
            continue;
        };
        let (file, LinkCheck { is, could, .. }) = (file.display(), check);
        return Err(ExecError::Policy(format!(
            "'{file}' {is} and has another name (a hard link), under which a command could \
             {could}. Find it with `find / -xdev -samefile '{file}'` and remove it."
        )));
    }
    Ok(())
}

/// The first file at or below a path that has more than one name.
fn linked_file(
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
        let Ok(found) = std::fs::symlink_metadata(&path) else {
            continue;
        };
        if found.is_dir() {
            let is_content = depth > 0 && path.file_name() == Some(OsStr::new(check.content));
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
struct Mounts(Vec<Mount>);

#[derive(Debug, PartialEq, Eq)]
struct Mount {
    id: u64,
    /// The file system, as the kernel numbers it. On btrfs this is not what `stat` says.
    device: String,
    /// What of the file system is shown.
    root: PathBuf,
    /// Where it is shown.
    point: PathBuf,
}

impl Mounts {
    fn read() -> io::Result<Mounts> {
        let text = std::fs::read(MOUNTINFO)?;
        let lines = text.split(|byte| *byte == b'\n');
        Ok(Mounts(lines.filter_map(Mount::parse).collect()))
    }

    /// Other places where a path, or something in it, is shown.
    fn aliases(&self, path: &Path) -> Vec<PathBuf> {
        let Some((id, file)) = identity(path) else {
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
                let is_same = identity(&shown).is_some_and(|(_, found)| found == file);
                return is_same.then_some(shown);
            }
            // Something within it, mounted elsewhere; unless another mount covers that.
            let is_part = mount.root.starts_with(&inside);
            let is_seen = || identity_of_mount(&mount.point) == Some(mount.id);
            (is_part && is_seen()).then(|| mount.point.clone())
        });
        seen.filter(|shown| shown != path).collect()
    }
}

impl Mount {
    /// `ID PARENT MAJOR:MINOR ROOT POINT …`
    fn parse(line: &[u8]) -> Option<Mount> {
        let mut fields = line.split(|byte| *byte == b' ');
        let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
        let device = String::from_utf8(fields.nth(1)?.to_vec()).ok()?;
        let root = unescape(fields.next()?);
        let point = unescape(fields.next()?);
        Some(Mount {
            id,
            device,
            root,
            point,
        })
    }
}

/// The kernel writes a space, a tab, a line break and a backslash as `\` and three octal digits.
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

/// The mount a path is seen through, and the file's device and inode.
fn identity(path: &Path) -> Option<(u64, (u32, u32, u64))> {
    let flags = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID;
    let found = rustix::fs::statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, flags).ok()?;
    let device = (found.stx_dev_major, found.stx_dev_minor);
    Some((found.stx_mnt_id, (device.0, device.1, found.stx_ino)))
}

fn identity_of_mount(path: &Path) -> Option<u64> {
    identity(path).map(|(mount, _)| mount)
}

/// Joining an empty rest would add a slash.
fn join(folder: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() {
        folder.to_owned()
    } else {
        folder.join(rest)
    }
}

#[cfg(test)]
#[path = "identity_tests.rs"]
mod tests;
