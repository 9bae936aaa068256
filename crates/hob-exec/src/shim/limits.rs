//! Resource limits of the child, set in it before its program starts.

use super::tree;
use crate::level::Bound;
use crate::plan::Limits;
use rustix::process::{Resource, Rlimit};
use std::io;

/// What `RLIMIT_NPROC` must be so that a run may have `limits.processes`; none when it does not
/// hold the bound.
pub(super) fn processes(bound: Bound, limits: &Limits) -> Option<u64> {
    (bound == Bound::Rlimit).then(|| tree::tasks_of_user().saturating_add(limits.processes))
}

pub(super) fn apply(limits: &Limits, processes: Option<u64>) -> io::Result<()> {
    // A shim that counts has more (`Bound::Watched`); its child has what everybody has.
    if rustix::process::getpriority_process(None)? < 0 {
        rustix::process::setpriority_process(None, 0)?;
    }
    set(Resource::Core, Some(0))?;
    set(Resource::Fsize, Some(limits.file_bytes))?;
    set(Resource::Nofile, Some(limits.open_files))?;
    set(Resource::Cpu, limits.cpu_seconds)?;
    set(Resource::As, limits.memory_bytes)?;
    set(Resource::Nproc, processes)
}

/// Lowers a limit; one that is lower already stays.
fn set(resource: Resource, wanted: Option<u64>) -> io::Result<()> {
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
