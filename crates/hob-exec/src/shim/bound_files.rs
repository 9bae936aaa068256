//! Files that keep approved bytes during one run: the bytes are mounted read-only over the file's
//! path. The mount disappears when somebody outside the run replaces the file below it, so every
//! name on the path is watched. The program starts only after a short time without a replacement,
//! and it is killed when a name is replaced.
//!
//! Invariants: the watch starts before the mounts are made; writes to the file outside of the run
//! have no effect inside; a file that cannot be watched is not run.

use super::{namespace, read_only};
use crate::spawn_plan::{BoundFile, SandboxPolicy};
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

/// The kernel's own limit of followed links.
const LINKS_MAX: usize = 40;
/// Time without a replacement before the program starts, counted from the start of the watch. A
/// process that keeps swapping files is noticed before anything runs.
const QUIET_TIME: Duration = Duration::from_millis(20);
/// Time to watch a file that the program opens right at its start; it is open long before.
const START_WATCH_TIME: Duration = Duration::from_secs(10);
const EVENT_BUFFER_BYTES: usize = 16 * 1024;

/// Returns bubblewrap's arguments for the bound files, and the descriptors that they name.
pub(super) fn bubblewrap_arguments(
    policy: &SandboxPolicy,
) -> io::Result<(Vec<OsString>, Vec<OwnedFd>)> {
    let mut flags: Vec<OsString> = Vec::new();
    let mut descriptors = Vec::new();
    for file in &policy.bound_files {
        let memory = rustix::fs::memfd_create("hob-script", MemfdFlags::CLOEXEC)?;
        let mut content = File::from(memory);
        content.write_all(&file.bytes)?;
        // Bubblewrap reads from the current position of the descriptor.
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

/// Mounts the bound files of a policy. Called in the forked child, after its other mounts.
pub(super) fn mount_files(policy: &SandboxPolicy) -> io::Result<()> {
    if policy.bound_files.is_empty() {
        return Ok(());
    }
    let scratch = namespace::scratch_folders().into_iter().next();
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
        // The kernel refuses to make a mount read-only while a file on it is open for writing.
        drop(written);
        rustix::mount::mount_bind(&copy, &file.path)?;
        read_only::make_read_only(&file.path)?;
        // The mount keeps the bytes. Left in the writable `/tmp`, the copy could be changed there.
        std::fs::remove_file(&copy)?;
    }
    Ok(())
}

/// The mode of the mounted file: the original one without write bits, readable by its owner.
fn mode(file: &BoundFile) -> u32 {
    (file.mode & 0o555) | 0o400
}

/// A watch of all names on the paths of a run's bound files.
#[derive(Debug)]
pub(super) struct BoundFileWatch {
    events: OwnedFd,
    names: BTreeMap<i32, BTreeSet<OsString>>,
    /// Each file with the device and inode of the file below the mount.
    files: Vec<(PathBuf, (u64, u64))>,
    /// The earliest start of the program.
    starts_at: Instant,
    until: Option<Instant>,
    is_replaced: bool,
}

impl BoundFileWatch {
    /// Starts the watch; none if the policy binds no file. Fails if a file is not where it was
    /// approved.
    pub(super) fn start(policy: &SandboxPolicy) -> io::Result<Option<BoundFileWatch>> {
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
        let mut watch = BoundFileWatch {
            events: inotify::init(flags).map_err(refused)?,
            names: BTreeMap::new(),
            files: Vec::new(),
            starts_at: Instant::now() + QUIET_TIME,
            until: opens_at_start.then(|| Instant::now() + START_WATCH_TIME),
            is_replaced: false,
        };
        for file in &policy.bound_files {
            let location = watch
                .watch_path(&file.named, &policy.write)
                .map_err(refused)?;
            let found = std::fs::symlink_metadata(&location).ok();
            let found = found.filter(|found| found.is_file() && location == file.path);
            let found = found.ok_or_else(|| {
                let shown = file.named.display();
                io::Error::other(format!(
                    "the script '{shown}' was replaced; nothing was run"
                ))
            })?;
            watch.files.push((location, (found.dev(), found.ino())));
        }
        Ok(Some(watch))
    }

    /// Copies the watch for the forked child, which reads the same events.
    pub(super) fn for_child(&self) -> io::Result<BoundFileWatch> {
        Ok(BoundFileWatch {
            events: self.events.try_clone()?,
            names: self.names.clone(),
            files: self.files.clone(),
            starts_at: self.starts_at,
            until: self.until,
            is_replaced: self.is_replaced,
        })
    }

    /// Waits until the program may start; false if a file was replaced in the meantime.
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
            // An interrupted wait is only a shorter one: the loop checks everything again.
            let _ = rustix::event::poll(&mut waits, timeout.as_ref());
        }
    }

    /// The descriptor to poll.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }

    /// Returns true if the watch need not be polled any more.
    pub(super) fn is_over(&self) -> bool {
        self.until.is_some_and(|until| until <= Instant::now())
    }

    /// Returns true if a file was replaced. Reads the pending events without waiting.
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
            // The kernel reports `IGNORED` when a watched folder is gone, and the name with it.
            self.is_replaced |=
                flags.contains(ReadFlags::IGNORED) || changed.is_some_and(is_watched);
        }
        // Events were lost, so the files themselves are compared.
        self.is_replaced |= was_full && self.files.iter().any(|(path, id)| !is_same(path, *id));
        self.is_replaced
    }

    /// Resolves a path step by step and watches each folder of a writable tree before reading the
    /// name in it. Returns the resolved path.
    fn watch_path(&mut self, named: &Path, writable: &[PathBuf]) -> Result<PathBuf, Errno> {
        let mut location = PathBuf::from("/");
        let mut steps = steps(named);
        let mut links = 0;
        while let Some(step) = steps.pop_front() {
            if step == ".." {
                location.pop();
                continue;
            }
            let next = location.join(&step);
            // Watched before the link is read, so that no replacement falls between the two. Only
            // names in writable trees can be replaced by a command.
            if writable.iter().any(|tree| next.starts_with(tree)) {
                self.watch_name(&location, step)?;
            }
            match rustix::fs::readlink(&next, Vec::new()) {
                Ok(target) => {
                    links += 1;
                    if links > LINKS_MAX {
                        return Err(Errno::LOOP);
                    }
                    let target = PathBuf::from(OsString::from_vec(CString::into_bytes(target)));
                    if target.is_absolute() {
                        location = PathBuf::from("/");
                    }
                    let mut first = self::steps(&target);
                    first.extend(steps);
                    steps = first;
                }
                // Not a link. The caller reports a missing file.
                Err(_) => location = next,
            }
        }
        Ok(location)
    }

    fn watch_name(&mut self, folder: &Path, name: OsString) -> Result<(), Errno> {
        let flags = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::ONLYDIR;
        let number = inotify::add_watch(&self.events, folder, flags)?;
        // A folder that is already watched keeps its number, so it can have several names.
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
