//! Checks the free disk space of the home.

use hob_core::amounts::bytes;
use hob_wire::rooms::daemon::{DoctorFinding as Finding, FindingLevel};
use std::path::Path;

/// Below this the store will soon refuse writes.
const SCARCE_BYTES: u64 = 512 * 1024 * 1024;
/// Below this the store refuses writes.
const NONE_BYTES: u64 = 16 * 1024 * 1024;

pub fn examine(directory: &Path) -> Option<Finding> {
    let found = rustix::fs::statvfs(directory).ok()?;
    Some(disk_finding(
        found.f_bavail.saturating_mul(found.f_frsize),
        directory,
    ))
}

fn disk_finding(free: u64, directory: &Path) -> Finding {
    let message = format!("{} free for {}", bytes(free), directory.display());
    let fix = "Free some space; hob then continues by itself.";
    match free {
        0..NONE_BYTES => Finding::bad(FindingLevel::Broken, "disk", message, fix),
        NONE_BYTES..SCARCE_BYTES => Finding::bad(FindingLevel::Warning, "disk", message, fix),
        _ => Finding::well("disk", message),
    }
}
