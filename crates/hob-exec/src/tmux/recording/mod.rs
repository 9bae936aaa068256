//! The recording of a terminal: every byte its programs print, in files of one folder.
//!
//! - [`recorder`]: `hob record FOLDER`, the small program that tmux feeds; it belongs to tmux, so it
//!   goes on while the daemon is away
//! - [`reader`]: reading it from any offset, and waiting for more
//!
//! ```text
//! FOLDER/out.0000000000000000   a segment, named by the offset of its first byte
//! FOLDER/out.0000000000100000   the newest one is appended to
//! FOLDER/ended                  the pane is gone, or nothing is recorded any more
//! ```
//!
//! Invariants: an offset always means the same byte; a byte that is missing (removed as too old, or
//! never written because the disk was full) is counted by the offsets and told as skipped.

mod reader;
mod recorder;

pub use reader::{PIECE_BYTES_MAX, Piece, Reader};
pub use recorder::{SUBCOMMAND, main, own};

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// The length of a full segment.
pub const SEGMENT_BYTES: u64 = 1024 * 1024;
/// Segments kept; with the one being written these are the last 16 MiB.
pub const SEGMENTS_MAX: usize = 16;

const PREFIX: &str = "out.";
const ENDED: &str = "ended";

fn segment(folder: &Path, offset: u64) -> PathBuf {
    folder.join(format!("{PREFIX}{offset:016x}"))
}

/// The offsets at which segments begin, in order.
fn segments(folder: &Path) -> io::Result<Vec<u64>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        found.extend(offset(&entry?.file_name()));
    }
    found.sort_unstable();
    Ok(found)
}

fn offset(name: &OsStr) -> Option<u64> {
    let digits = name.to_str()?.strip_prefix(PREFIX)?;
    let is_ours = digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_ours.then(|| u64::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
#[path = "recording_tests.rs"]
mod tests;
