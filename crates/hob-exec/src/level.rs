//! What this machine can enforce, found out once by trying it, and which level a policy needs.
//!
//! Invariant: a level is named only after it worked here; a rule it cannot hold is an error with
//! the rule's name and the remedy.

use crate::error::ExecError;
use crate::plan::{NetworkAccess, Policy};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What stands between a child and the machine. Part of every result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Namespaces of its own by bubblewrap, with the filter of system calls.
    Bubblewrap,
    /// Landlock and the filter of system calls; where the kernel lets us, mounts of its own too.
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
    /// Whether the shim may make mounts of its own for a child.
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
        } else if self.landlock_abi >= LANDLOCK_ABI_MIN {
            Level::Landlock
        } else {
            Level::None
        }
    }

    /// The level for this policy, whose paths are canonical; or the first rule that would not hold.
    pub fn choose(&self, policy: &Policy) -> Result<Level, ExecError> {
        let level = self.level();
        let refuse = |rule: String| {
            Err(ExecError::Unenforceable {
                rule,
                level,
                remedy: self.remedy(),
            })
        };
        if level == Level::None {
            return refuse("a sandbox".to_owned());
        }
        if level == Level::Bubblewrap || self.namespaces {
            return Ok(level);
        }
        // Landlock alone adds up what it allows: inside a tree that may be changed it can take
        // nothing back, and it does not see who connects to a socket in the file system.
        let inside = |path: &Path| policy.write.iter().any(|root| path.starts_with(root));
        if let Some(path) = policy.protected.iter().find(|path| inside(path)) {
            return refuse(format!(
                "'{}' staying as it is inside a writable folder",
                path.display()
            ));
        }
        if let Some(path) = policy.hidden.iter().find(|path| inside(path)) {
            return refuse(format!(
                "'{}' unseen inside a writable folder",
                path.display()
            ));
        }
        if policy.network == NetworkAccess::Proxy {
            return refuse("a network that leads only through hob's proxy".to_owned());
        }
        if policy.unix_sockets && !policy.hidden.is_empty() {
            return refuse("hidden sockets unreachable while unix sockets are granted".to_owned());
        }
        Ok(level)
    }

    /// What would give this machine the strongest level.
    pub fn remedy(&self) -> String {
        match &self.bubblewrap_problem {
            Some(problem) => format!("Install bubblewrap (`apt install bubblewrap`): {problem}"),
            None => "Install bubblewrap (`apt install bubblewrap`).".to_owned(),
        }
    }
}

#[cfg(test)]
#[path = "level_tests.rs"]
mod tests;
