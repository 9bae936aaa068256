//! Bubblewrap's arguments for a policy. Later mounts cover earlier ones, so the order matters: the
//! system read-only, the run's own folders, writable roots, protected paths in them, hidden paths.

use super::namespace::{SCRATCH, folders_between};
use crate::shim_protocol::ShimRequest;
use crate::spawn_plan::{NetworkAccess, SandboxPolicy};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The folder of other programs' sockets and state. The run gets an empty one with these parts.
const RUN: &str = "/run";
const RUN_PARTS: &[&str] = &["/run/current-system", "/run/opengl-driver"];
const RUN_RESOLVERS: &[&str] = &[
    "/run/NetworkManager/resolv.conf",
    "/run/resolvconf",
    "/run/systemd/resolve",
];

/// Kernel controls in `/proc`. Bubblewrap leaves some of them writable, and root outside the
/// sandbox owns them inside as well, without needing a capability.
const PROC_CONTROLS: &[&str] = &[
    "/proc/sys",
    "/proc/sysrq-trigger",
    "/proc/irq",
    "/proc/bus",
    "/proc/fs",
    "/proc/acpi",
    "/proc/scsi",
];

/// Returns all arguments except the program: namespaces, mounts, working folder.
pub(super) fn arguments(request: &ShimRequest, policy: &SandboxPolicy) -> Vec<OsString> {
    let mut list = BwrapArguments(Vec::new());
    // Only the cgroup namespace is optional, because some kernels are built without it.
    list.flags(&[
        "--unshare-user",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
        "--die-with-parent",
        "--cap-drop",
        "ALL",
    ]);
    if policy.network != NetworkAccess::Host {
        list.flags(&["--unshare-net"]);
    }
    // Trees in `/tmp`, `/dev/shm` and `/run` are bound later: the mounts on these would cover them.
    let (covered, plain): (Vec<&PathBuf>, Vec<&PathBuf>) =
        policy.read.iter().partition(|tree| is_covered(tree));
    list.binds("--ro-bind", plain);
    list.flags(&["--dev", "/dev", "--proc", "/proc"]);
    for part in PROC_CONTROLS {
        list.flags(&["--ro-bind-try", part, part]);
    }
    for folder in SCRATCH {
        list.flags(&["--size", &request.limits.tmp_bytes.to_string()]);
        list.flags(&["--perms", "1777", "--tmpfs", folder]);
    }
    list.flags(&["--tmpfs", RUN]);
    let resolvers = match policy.network {
        NetworkAccess::Host => RUN_RESOLVERS,
        // The proxy resolves names.
        NetworkAccess::Off | NetworkAccess::Proxy => &[],
    };
    for part in RUN_PARTS.iter().chain(resolvers) {
        list.flags(&["--ro-bind-try", part, part]);
    }
    list.binds("--ro-bind", covered);
    // Outer roots first: a later bind of an outer one would cover an inner one.
    let mut roots: Vec<&PathBuf> = policy.write.iter().collect();
    roots.sort();
    list.binds("--bind", roots);
    list.binds("--bind", folders_between(policy));
    // In a writable root a missing path has a placeholder by now; elsewhere nothing can be created.
    let protected = policy.protected.iter().filter(|path| path.exists());
    list.binds("--ro-bind", protected);
    for path in &policy.hidden {
        list.hide(policy, path);
    }
    // Last, when all mount points in there exist. Modes of files in `/proc` are those of the
    // machine, and root owns them inside the sandbox, too.
    list.flags(&["--remount-ro", "/proc", "--remount-ro", RUN, "--chdir"]);
    list.0.push(request.cwd.clone());
    list.0
}

struct BwrapArguments(Vec<OsString>);

impl BwrapArguments {
    fn flags(&mut self, flags: &[&str]) {
        self.0.extend(flags.iter().map(OsString::from));
    }

    /// Binds each path at its own place.
    fn binds<P: AsRef<Path>>(&mut self, flag: &str, paths: impl IntoIterator<Item = P>) {
        for path in paths {
            let path = path.as_ref().as_os_str();
            self.0
                .extend([flag.into(), path.to_owned(), path.to_owned()]);
        }
    }

    fn hide(&mut self, policy: &SandboxPolicy, path: &Path) {
        let granted = policy.read.iter().chain(&policy.write);
        let is_shown = granted.filter(|tree| path.starts_with(tree)).any(|tree| {
            // A grant of `/` does not show what the run's own folders cover.
            !is_covered(path) || is_covered(tree)
        });
        if !is_shown || !path.exists() {
            return;
        }
        if path.is_dir() {
            self.flags(&["--perms", "0500", "--tmpfs"]);
            self.0.push(path.into());
            self.flags(&["--remount-ro"]);
            self.0.push(path.into());
        } else {
            // A tmpfs can be mounted only on a folder, so an empty device covers a file.
            self.flags(&["--ro-bind", "/dev/null"]);
            self.0.push(path.into());
        }
    }
}

/// Returns true if a path lies in one of the run's own folders.
fn is_covered(path: &Path) -> bool {
    let mut own = SCRATCH.iter().chain([&RUN]);
    own.any(|folder| path.starts_with(folder))
}
