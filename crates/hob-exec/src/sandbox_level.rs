//! What this machine can enforce, found out once by trying it, and which level that gives.
//!
//! Invariant: a level is named only after it worked here; a rule it cannot hold is an error with
//! the rule's name and the remedy.

use crate::error::ExecError;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What stands between a child and the machine. Part of every result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Namespaces of its own by bubblewrap, with the filter of system calls.
    Bubblewrap,
    /// Landlock, the filter of system calls, and read-only mounts of its own.
    Landlock,
    /// Nothing.
    None,
}

impl Level {
    pub fn name(self) -> &'static str {
        match self {
            Level::Bubblewrap => "bubblewrap",
            Level::Landlock => "landlock",
            Level::None => "none",
        }
    }
}

/// What holds the number of processes of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// A pids cgroup of the run's own: exact.
    Cgroup,
    /// `RLIMIT_NPROC` over all processes of this user: what runs already plus the limit.
    Rlimit,
    /// Root is above `RLIMIT_NPROC`: the shim counts, and ends the run when it finds too many.
    Watched,
}

/// What was found by trying.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// The program, when a sandbox of ours worked in it.
    pub bubblewrap: Option<PathBuf>,
    /// Why not, as a sentence.
    pub bubblewrap_problem: Option<String>,
    /// The version of Landlock's interface; 0 when the kernel has none.
    pub landlock_abi: i32,
    /// Whether the shim may make read-only mounts for a child. Without them Landlock is not used.
    pub namespaces: bool,
    pub processes: Bound,
}

/// Below this, signals to other processes cannot be kept in, so Landlock is not used at all.
pub const LANDLOCK_ABI_MIN: i32 = 6;

impl Facts {
    /// The strongest level that works here.
    pub fn level(&self) -> Level {
        if self.bubblewrap.is_some() {
            Level::Bubblewrap
        } else if self.landlock_abi >= LANDLOCK_ABI_MIN && self.namespaces {
            Level::Landlock
        } else {
            Level::None
        }
    }

    /// The level of every policy, or the rule that would not hold.
    pub fn choose(&self) -> Result<Level, ExecError> {
        let level = self.level();
        if level != Level::None {
            return Ok(level);
        }
        let rule = if self.lacks_only_mounts() {
            // Landlock does not govern modes, times and attributes; only a read-only mount does.
            "that files outside the workspace keep their modes and times"
        } else {
            "a sandbox"
        };
        Err(ExecError::Unenforceable {
            rule: rule.to_owned(),
            level,
            remedy: self.remedy(),
        })
    }

    /// Whether Landlock works and is refused because the shim may not make mounts.
    pub fn lacks_only_mounts(&self) -> bool {
        self.landlock_abi >= LANDLOCK_ABI_MIN && !self.namespaces
    }

    /// What would give this machine the strongest level.
    pub fn remedy(&self) -> String {
        let mut remedy = match &self.bubblewrap_problem {
            Some(problem) => format!("Install bubblewrap (`apt install bubblewrap`): {problem}"),
            None => "Install bubblewrap (`apt install bubblewrap`).".to_owned(),
        };
        if self.lacks_only_mounts() {
            remedy.push_str(
                " Or let this user make namespaces (`sysctl kernel.unprivileged_userns_clone=1`, \
                 on Ubuntu `sysctl kernel.apparmor_restrict_unprivileged_userns=0`; in a \
                 container, allow `unshare`, `mount` and `mount_setattr`).",
            );
        }
        remedy
    }
}

#[cfg(test)]
#[path = "level_tests.rs"]
mod tests;
