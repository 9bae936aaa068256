//! Resource limits of a child, set in the forked child before its program starts.

use super::tree;
use crate::sandbox_level::ProcessLimiter;
use crate::spawn_plan::ResourceLimits;
use rustix::process::{Resource, Rlimit};
use std::io;

/// Returns the `RLIMIT_NPROC` that allows `limits.processes`; none if another mechanism limits
/// them.
pub(super) fn process_rlimit(limiter: ProcessLimiter, limits: &ResourceLimits) -> Option<u64> {
    // The kernel counts all tasks of the user against this limit, not only those of the run.
    (limiter == ProcessLimiter::Rlimit)
        .then(|| tree::count_user_tasks().saturating_add(limits.processes))
}

pub(super) fn apply(limits: &ResourceLimits, processes: Option<u64>) -> io::Result<()> {
    // A counting shim has a raised priority (`ProcessLimiter::Watched`), which its child must not
    // inherit.
    if rustix::process::getpriority_process(None)? < 0 {
        rustix::process::setpriority_process(None, 0)?;
    }
    // A core file would write the program's memory, secrets included, to the disk.
    lower_limit(Resource::Core, Some(0))?;
    lower_limit(Resource::Fsize, Some(limits.file_bytes))?;
    lower_limit(Resource::Nofile, Some(limits.open_files))?;
    lower_limit(Resource::Cpu, limits.cpu_seconds)?;
    lower_limit(Resource::As, limits.memory_bytes)?;
    lower_limit(Resource::Nproc, processes)
}

/// Lowers a limit; a lower one stays.
fn lower_limit(resource: Resource, wanted: Option<u64>) -> io::Result<()> {
    let Some(wanted) = wanted else {
        return Ok(());
    };
    let now = rustix::process::getrlimit(resource);
    let limit = Some(now.maximum.map_or(wanted, |maximum| maximum.min(wanted)));
    let limits = Rlimit {
        current: limit,
        maximum: limit,
    };
    Ok(rustix::process::setrlimit(resource, limits)?)
}
