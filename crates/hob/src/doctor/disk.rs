//! Room on the disk that holds the home.

use super::{Finding, Level};
use crate::render::words::bytes;
use std::path::Path;

/// Below this the store will soon refuse work.
const SCARCE_BYTES: u64 = 512 * 1024 * 1024;
/// Below this it does.
const NONE_BYTES: u64 = 16 * 1024 * 1024;

pub(super) fn examine(directory: &Path) -> Option<Finding> {
    let found = rustix::fs::statvfs(directory).ok()?;
    Some(judge(
        found.f_bavail.saturating_mul(found.f_frsize),
        directory,
    ))
}

fn judge(free: u64, directory: &Path) -> Finding {
    let message = format!("{} free for {}", bytes(free), directory.display());
    let fix = "Free some space; hob goes on by itself when there is room.";
    match free {
        0..NONE_BYTES => Finding::bad(Level::Broken, "disk", message, fix),
        NONE_BYTES..SCARCE_BYTES => Finding::bad(Level::Warning, "disk", message, fix),
        _ => Finding::well("disk", message),
    }
}
