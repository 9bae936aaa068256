//! The arguments of bubblewrap for a policy. Later mounts cover earlier ones, so the order is:
//! the system read-only, what a run has for itself, writable roots, what is protected in them,
//! what is hidden.

use super::namespace::{SCRATCH, between};
use crate::order::Order;
use crate::plan::{NetworkAccess, Policy};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Sockets and state of other programs: an empty folder instead, but for these.
const RUN: &str = "/run";
const RUN_PARTS: &[&str] = &["/run/current-system", "/run/opengl-driver"];
const RUN_RESOLVERS: &[&str] = &[
    "/run/NetworkManager/resolv.conf",
    "/run/resolvconf",
    "/run/systemd/resolve",
];

/// Where the kernel takes orders. bubblewrap itself leaves some of these as they are, and whoever
/// is root outside owns them inside, with no capability needed.
const PROC_ORDERS: &[&str] = &[
    "/proc/sys",
    "/proc/sysrq-trigger",
    "/proc/irq",
    "/proc/bus",
    "/proc/fs",
    "/proc/acpi",
    "/proc/scsi",
];

/// Everything but the program: namespaces, mounts, the folder to start in.
pub(super) fn arguments(order: &Order, policy: &Policy) -> Vec<OsString> {
    let mut list = Arguments(Vec::new());
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
    let (covered, plain): (Vec<&PathBuf>, Vec<&PathBuf>) =
        policy.read.iter().partition(|tree| is_covered(tree));
    list.binds("--ro-bind", plain);
    list.flags(&["--dev", "/dev", "--proc", "/proc"]);
    for part in PROC_ORDERS {
        list.flags(&["--ro-bind-try", part, part]);
    }
    for folder in SCRATCH {
        list.flags(&["--size", &order.limits.tmp_bytes.to_string()]);
        list.flags(&["--perms", "1777", "--tmpfs", folder]);
    }
    list.flags(&["--tmpfs", RUN]);
    let resolvers = match policy.network {
        NetworkAccess::Host => RUN_RESOLVERS,
        // The proxy looks names up.
        NetworkAccess::Off | NetworkAccess::Proxy => &[],
    };
    for part in RUN_PARTS.iter().chain(resolvers) {
        list.flags(&["--ro-bind-try", part, part]);
    }
    list.binds("--ro-bind", covered);
    let mut roots: Vec<&PathBuf> = policy.write.iter().collect();
    roots.sort();
    list.binds("--bind", roots);
    list.binds("--bind", between(policy));
    let protected = policy.protected.iter().filter(|path| path.exists());
    list.binds("--ro-bind", protected);
    for path in &policy.hidden {
        list.hide(policy, path);
    }
    // Modes in `/proc` are the machine's, and root owns them inside, too.
    list.flags(&["--remount-ro", "/proc", "--remount-ro", RUN, "--chdir"]);
    list.0.push(order.cwd.clone());
    list.0
}

struct Arguments(Vec<OsString>);

impl Arguments {
    fn flags(&mut self, flags: &[&str]) {
        self.0.extend(flags.iter().map(OsString::from));
    }

    /// Each path at the place where it is.
    fn binds<P: AsRef<Path>>(&mut self, flag: &str, paths: impl IntoIterator<Item = P>) {
        for path in paths {
            let path = path.as_ref().as_os_str();
            self.0
                .extend([flag.into(), path.to_owned(), path.to_owned()]);
        }
    }

    fn hide(&mut self, policy: &Policy, path: &Path) {
        let granted = policy.read.iter().chain(&policy.write);
        let is_shown = granted.filter(|tree| path.starts_with(tree)).any(|tree| {
            // `/` does not show what is covered afterwards.
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
            self.flags(&["--ro-bind", "/dev/null"]);
            self.0.push(path.into());
        }
    }
}

/// Whether it lies in a folder that the run has for itself.
fn is_covered(path: &Path) -> bool {
    let mut own = SCRATCH.iter().chain([&RUN]);
    own.any(|folder| path.starts_with(folder))
}
