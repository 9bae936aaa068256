//! Which binary is tested: the one that `HOB_FAULT_BIN` names, or else the one with failpoints if
//! there is a fresh one. `cargo xtask faults --break N` names a build with a sabotage.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The fault build if there is a fresh one, else the ordinary binary.
pub(super) fn binary() -> PathBuf {
    fault_binary().unwrap_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_hob")))
}

/// The binary with failpoints: named by `HOB_FAULT_BIN`, or beside the ordinary one unless some
/// source is newer, because a stale build would test what is no longer there.
pub(crate) fn fault_binary() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("HOB_FAULT_BIN") {
        return Some(PathBuf::from(path));
    }
    let path = Path::new(env!("CARGO_BIN_EXE_hob")).with_file_name("hob-faults");
    let built = path.metadata().and_then(|meta| meta.modified()).ok()?;
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?;
    let fresh = std::fs::read_dir(crates)
        .ok()?
        .filter_map(Result::ok)
        .all(|entry| newest(&entry.path().join("src")) < built);
    fresh.then_some(path)
}

fn newest(folder: &Path) -> SystemTime {
    let entries = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(Result::ok);
    let times = entries.map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => newest(&entry.path()),
        _ => entry
            .metadata()
            .and_then(|meta| meta.modified())
            .unwrap_or(SystemTime::UNIX_EPOCH),
    });
    times.max().unwrap_or(SystemTime::UNIX_EPOCH)
}
