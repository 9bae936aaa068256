//! The mark that every process below a shim carries and cannot remove.
//!
//! The shim lowers its hard limit of file locks (`RLIMIT_LOCKS`) below the daemon's. Linux has not
//! used that limit since 2.4.25, so lowering it changes nothing else. Every descendant inherits it
//! through `fork` and `exec`, and a process without `CAP_SYS_RESOURCE` on the machine itself cannot
//! raise it again. It therefore also marks descendants whose shim died and which now have another
//! parent; the parent ids of `/proc` cannot show that.
//!
//! Invariant: a process whose hard limit is below the daemon's descends from a shim, or from
//! something else that lowered the limit; either way it is not trusted as the user's own program.

use rustix::process::{Resource, Rlimit};
use std::io;

/// The limit of a marked process if the daemon has no limit.
const MARKED_LOCKS_MAX: u64 = 1 << 40;
/// The name of the limit in `/proc/PID/limits`.
const LIMIT_NAME: &str = "Max file locks";

/// Marks this process and all processes it starts from now on.
pub(crate) fn mark_this_process() -> io::Result<()> {
    let before = own_limit().0;
    let marked = before.map_or(MARKED_LOCKS_MAX, |limit| limit.saturating_sub(1));
    // Both values: a process may raise its soft limit up to the hard one.
    let limit = Rlimit {
        current: Some(marked),
        maximum: Some(marked),
    };
    Ok(rustix::process::setrlimit(Resource::Locks, limit)?)
}

/// A hard limit of file locks; none means unlimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LocksLimit(Option<u64>);

/// The limit of this process.
pub(crate) fn own_limit() -> LocksLimit {
    LocksLimit(rustix::process::getrlimit(Resource::Locks).maximum)
}

impl LocksLimit {
    /// Parses `/proc/PID/limits`; none if the line is missing or malformed.
    pub(crate) fn read(limits: &str) -> Option<LocksLimit> {
        let line = limits
            .lines()
            .find_map(|line| line.strip_prefix(LIMIT_NAME))?;
        match line.split_ascii_whitespace().nth(1)? {
            "unlimited" => Some(LocksLimit(None)),
            number => Some(LocksLimit(Some(number.parse().ok()?))),
        }
    }

    /// Returns true if a process with this limit descends from a shim of a daemon with the limit
    /// `daemon`.
    pub(crate) fn is_marked(self, daemon: LocksLimit) -> bool {
        match (self.0, daemon.0) {
            (Some(own), Some(daemon)) => own < daemon,
            (Some(_), None) => true,
            (None, _) => false,
        }
    }

    /// Returns true if a daemon with this limit can mark its children: nothing is below zero.
    pub(crate) fn can_mark(self) -> bool {
        self.0 != Some(0)
    }
}

#[cfg(test)]
#[path = "descent_tests.rs"]
mod tests;
