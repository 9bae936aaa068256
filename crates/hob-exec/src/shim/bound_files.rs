//! Files that have approved bytes for one run: the bytes are mounted read-only over the file's
//! path. A mount goes away when somebody outside the run puts another file in the place of the one
//! below it, so every name on the way there is watched: a program starts only after a short time in
//! which none was replaced, and it is killed when one is.
//!
//! Invariants: the watch begins before the mounts are made; writing into the file outside of the
//! run changes nothing in it; a file that cannot be watched is not run.

use super::{namespace, read_only};
use crate::plan::{BoundFile, Policy};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::MemfdFlags;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

/// As many links as the kernel follows.
const LINKS_MAX: usize = 40;
/// How long the names must stay as they are before the program starts, counted from the beginning
/// of the watch: whoever swaps files again and again is noticed before anything ran.
const QUIET: Duration = Duration::from_millis(20);
/// How long a file that is opened right at the start is watched: it is open long before.
const AT_START: Duration = Duration::from_secs(10);
const EVENT_BUFFER_BYTES: usize = 16 * 1024;

/// The flags of bubblewrap for the bound files of a policy, and the descriptors they name.
pub(super) fn for_bubblewrap(policy: &Policy) -> io::Result<(Vec<OsString>, Vec<OwnedFd>)> {
    let mut flags: Vec<OsString> = Vec::new();
    let mut descriptors = Vec::new();
    for file in &policy.bound_files {
        let memory = rustix::fs::memfd_create("hob-script", MemfdFlags::CLOEXEC)?;
        let mut content = File::from(memory);
        content.write_all(&file.bytes)?;
        content.rewind()?;
        let content = OwnedFd::from(content);
        flags.extend(["--perms".into(), format!("{:04o}", mode(file)).into()]);
        flags.push("--ro-bind-data".into());
        flags.push(content.as_raw_fd().to_string().into());
        flags.push(file.path.clone().into_os_string());
        descriptors.push(content);
    }
    Ok((flags, descriptors))
}

/// Mounts the bound files of a policy; in the forked child, after its other mounts.
pub(super) fn mount(policy: &Policy) -> io::Result<()> {
    if policy.bound_files.is_empty() {
        return Ok(());
    }
    let scratch = namespace::scratch().into_iter().next();
    let scratch = scratch.ok_or_else(|| io::Error::other("there is no /tmp for a script"))?;
    for (number, file) in policy.bound_files.iter().enumerate() {
        let copy = scratch.join(format!(".hob-script-{number}"));
        let mut options = std::fs::OpenOptions::new();
        let mut written = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&copy)?;
        written.write_all(&file.bytes)?;
        written.set_permissions(std::fs::Permissions::from_mode(mode(file)))?;
        // A mount of a file that is still open for writing cannot be made read-only.
        drop(written);
        rustix::mount::mount_bind(&copy, &file.path)?;
        read_only::lock(&file.path)?;
        std::fs::remove_file(&copy)?;
    }
    Ok(())
}

/// Readable and, if it was, executable; never more than it had for others.
fn mode(file: &BoundFile) -> u32 {
    (file.mode & 0o555) | 0o400
}

/// Watches the names on the way to the bound files of one run.
#[derive(Debug)]
pub(super) struct Watch {
    events: OwnedFd,
    names: BTreeMap<i32, BTreeSet<OsString>>,
    /// Each file with the device and inode that were below the mount.
    files: Vec<(PathBuf, (u64, u64))>,
    /// The program starts no sooner.
    starts_at: Instant,
    until: Option<Instant>,
    is_replaced: bool,
}

impl Watch {
    /// Begins to watch; none where nothing is bound. An error says that a file is not where it
    /// was approved.
    pub(super) fn begin(policy: &Policy) -> io::Result<Option<Watch>> {
        if policy.bound_files.is_empty() {
            return Ok(None);
        }
        let refused = |error: Errno| {
            io::Error::other(format!(
                "its script cannot be watched ({error}); raise fs.inotify.max_user_instances or name no script"
            ))
        };
        let flags = CreateFlags::CLOEXEC | CreateFlags::NONBLOCK;
        let opens_at_start = policy.bound_files.iter().all(|file| file.opens_at_start);
        let mut watch = Watch {
            events: inotify::init(flags).map_err(refused)?,
            names: BTreeMap::new(),
            files: Vec::new(),
            starts_at: Instant::now() + QUIET,
            until: opens_at_start.then(|| Instant::now() + AT_START),
            is_replaced: false,
        };
        for file in &policy.bound_files {
            let lies = watch.follow(&file.named, &policy.write).map_err(refused)?;
            let found = std::fs::symlink_metadata(&lies).ok();
            let found = found.filter(|found| found.is_file() && lies == file.path);
            let found = found.ok_or_else(|| {
                let shown = file.named.display();
                io::Error::other(format!(
                    "the script '{shown}' was replaced; nothing was run"
                ))
            })?;
            watch.files.push((lies, (found.dev(), found.ino())));
        }
        Ok(Some(watch))
    }

    /// The same watch for the forked child, which reads the same events.
    pub(super) fn for_child(&self) -> io::Result<Watch> {
        Ok(Watch {
            events: self.events.try_clone()?,
            names: self.names.clone(),
            files: self.files.clone(),
            starts_at: self.starts_at,
            until: self.until,
            is_replaced: self.is_replaced,
        })
    }

    /// Waits until the program may start; false if a file was replaced meanwhile.
    pub(super) fn wait_until_quiet(&mut self) -> bool {
        loop {
            if self.is_replaced() {
                return false;
            }
            let left = self.starts_at.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            let mut waits = [PollFd::new(&self.events, PollFlags::IN)];
            let timeout = Timespec::try_from(left).ok();
            let _ = rustix::event::poll(&mut waits, timeout.as_ref());
        }
    }

    /// What the watch waits with.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }

    /// Whether it still has to be waited for.
    pub(super) fn is_over(&self) -> bool {
        self.until.is_some_and(|until| until <= Instant::now())
    }

    /// Whether a file was replaced. Takes what has happened so far; does not wait.
    pub(super) fn is_replaced(&mut self) -> bool {
        if self.is_replaced || self.is_over() {
            return self.is_replaced;
        }
        let mut buffer = [MaybeUninit::uninit(); EVENT_BUFFER_BYTES];
        let mut reader = inotify::Reader::new(self.events.as_fd(), &mut buffer);
        let mut was_full = false;
        while let Ok(event) = reader.next() {
            let flags = event.events();
            was_full |= flags.contains(ReadFlags::QUEUE_OVERFLOW);
            let changed = event
                .file_name()
                .map(|name| OsStr::from_bytes(name.to_bytes()));
            let watched = self.names.get(&event.wd());
            let is_watched = |name: &OsStr| watched.is_some_and(|names| names.contains(name));
            self.is_replaced |=
                flags.contains(ReadFlags::IGNORED) || changed.is_some_and(is_watched);
        }
        // Events were lost, so the files themselves are looked at.
        self.is_replaced |= was_full && self.files.iter().any(|(path, id)| !is_same(path, *id));
        self.is_replaced
    }

    /// Follows a path step by step, and watches each folder of a writable tree before the name in
    /// it is looked at. Returns where the path leads.
    fn follow(&mut self, named: &Path, writable: &[PathBuf]) -> Result<PathBuf, Errno> {
        let mut lies = PathBuf::from("/");
        let mut steps = steps(named);
        let mut links = 0;
        while let Some(step) = steps.pop_front() {
            if step == ".." {
                lies.pop();
                continue;
            }
            let next = lies.join(&step);
            if writable.iter().any(|tree| next.starts_with(tree)) {
                self.watch_name(&lies, step)?;
            }
            match rustix::fs::readlink(&next, Vec::new()) {
                Ok(target) => {
                    links += 1;
                    if links > LINKS_MAX {
                        return Err(Errno::LOOP);
                    }
                    let target = PathBuf::from(OsString::from_vec(CString::into_bytes(target)));
                    if target.is_absolute() {
                        lies = PathBuf::from("/");
                    }
                    let mut first = self::steps(&target);
                    first.extend(steps);
                    steps = first;
                }
                // No link; what is missing is told by the caller.
                Err(_) => lies = next,
            }
        }
        Ok(lies)
    }

    fn watch_name(&mut self, folder: &Path, name: OsString) -> Result<(), Errno> {
        let flags = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::ONLYDIR;
        let number = inotify::add_watch(&self.events, folder, flags)?;
        self.names.entry(number).or_default().insert(name);
        Ok(())
    }
}

fn is_same(path: &Path, id: (u64, u64)) -> bool {
    let found = std::fs::symlink_metadata(path);
    found.is_ok_and(|found| (found.dev(), found.ino()) == id)
}

fn steps(path: &Path) -> VecDeque<OsString> {
    let steps = path.components().filter_map(|step| match step {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        _ => None,
    });
    steps.collect()
}
