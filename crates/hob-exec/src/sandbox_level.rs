//! The sandbox support of this machine, found by trying it once, and the resulting level.
//!
//! Invariant: a level is used only after it worked here; a rule that cannot be enforced is an error
//! that names the rule and the remedy.

use crate::error::ExecError;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The isolation between a child and the machine. Part of every result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxLevel {
    /// Own namespaces by bubblewrap, with the system call filter.
    Bubblewrap,
    /// Landlock, the system call filter, and own read-only mounts.
    Landlock,
    /// No sandbox.
    None,
}

impl SandboxLevel {
    pub fn name(self) -> &'static str {
        match self {
            SandboxLevel::Bubblewrap => "bubblewrap",
            SandboxLevel::Landlock => "landlock",
            SandboxLevel::None => "none",
        }
    }
}

/// The mechanism that limits the number of processes of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProcessLimiter {
    /// A pids cgroup for this run alone: exact.
    Cgroup,
    /// `RLIMIT_NPROC` over all processes of this user: those that run already plus the limit.
    Rlimit,
    /// The shim counts and ends a run with too many, because `RLIMIT_NPROC` does not bind root.
    Watched,
}

/// The result of probing this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxSupport {
    /// The bubblewrap program, if a test sandbox worked in it.
    pub bubblewrap: Option<PathBuf>,
    /// The reason why bubblewrap is not used, as a sentence.
    pub bubblewrap_problem: Option<String>,
    /// The version of Landlock's interface; 0 when the kernel has none.
    pub landlock_abi: i32,
    /// True if the shim may make read-only mounts for a child. Without them Landlock is not used.
    pub namespaces: bool,
    pub processes: ProcessLimiter,
}

/// The oldest usable Landlock version: before it, Landlock cannot stop signals to other processes.
pub const LANDLOCK_ABI_MIN: i32 = 6;

impl SandboxSupport {
    /// The strongest level that works here.
    pub fn level(&self) -> SandboxLevel {
        if self.bubblewrap.is_some() {
            SandboxLevel::Bubblewrap
        } else if self.landlock_abi >= LANDLOCK_ABI_MIN && self.namespaces {
            SandboxLevel::Landlock
        } else {
            SandboxLevel::None
        }
    }

    /// Returns the level for sandboxed children, or an error with the rule that cannot be enforced.
    pub fn require_level(&self) -> Result<SandboxLevel, ExecError> {
        let level = self.level();
        if level != SandboxLevel::None {
            return Ok(level);
        }
        let rule = if self.lacks_only_mounts() {
            // Landlock does not restrict changes of modes, times and attributes; only a read-only
            // mount does.
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

    /// Returns true if Landlock works and is not used only because the shim may not make mounts.
    pub fn lacks_only_mounts(&self) -> bool {
        self.landlock_abi >= LANDLOCK_ABI_MIN && !self.namespaces
    }

    /// Advice that would give this machine the strongest level.
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
#[path = "sandbox_level_tests.rs"]
mod tests;
