//! The recording of a terminal: every byte that its programs print, in files of one folder.
//!
//! - [`recorder`]: `hob record FOLDER`, the small program that receives the output from tmux; tmux
//!   owns it, so it keeps running without the daemon
//! - [`reader`]: reads from any offset and waits for more
//! - [`page`]: reads a part without waiting
//!
//! ```text
//! FOLDER/out.0000000000000000   a segment, named by the offset of its first byte
//! FOLDER/out.0000000000100000   the newest one is appended to
//! FOLDER/ended                  the pane is gone, or nothing is recorded any more
//! ```
//!
//! Invariants: an offset always means the same byte; a missing byte (removed as too old, or never
//! written because the disk was full) is counted by the offsets and reported as skipped.

mod page;
mod reader;
mod recorder;

pub use page::{RecordedPage, read_page, recording_end};
pub use reader::{PIECE_BYTES_MAX, RecordedPiece, RecordingReader};
pub use recorder::{SUBCOMMAND, main, own_recorder};

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// The length of a full segment.
pub const SEGMENT_BYTES: u64 = 1024 * 1024;
/// The number of kept segments, including the current one: the last 16 MiB.
pub const SEGMENTS_MAX: usize = 16;

const PREFIX: &str = "out.";
const ENDED: &str = "ended";

fn segment_path(folder: &Path, offset: u64) -> PathBuf {
    folder.join(format!("{PREFIX}{offset:016x}"))
}

/// Lists the start offsets of all segments, in order.
fn list_segments(folder: &Path) -> io::Result<Vec<u64>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        found.extend(offset(&entry?.file_name()));
    }
    found.sort_unstable();
    Ok(found)
}

fn offset(name: &OsStr) -> Option<u64> {
    let digits = name.to_str()?.strip_prefix(PREFIX)?;
    // `from_str_radix` alone would also accept a sign and other lengths.
    let is_ours = digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_ours.then(|| u64::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
#[path = "recording_tests.rs"]
mod tests;
