//! Reads a part of a recording, without waiting for more.
//!
//! Invariant: the bytes of a page are contiguous in the recording, so a missing byte ends the page.

use super::{list_segments, segment_path};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Attempts to open a segment that was listed; the recorder removes old ones.
const ATTEMPTS: u32 = 3;

/// A contiguous part of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedPage {
    /// The offset of the first byte. It is later than asked for if the byte asked for is missing.
    pub offset: u64,
    pub bytes: Vec<u8>,
}

/// Returns the offset after the last recorded byte.
pub fn recording_end(folder: &Path) -> io::Result<u64> {
    let Some(start) = list_segments(folder)?.pop() else {
        return Ok(0);
    };
    Ok(start + std::fs::metadata(segment_path(folder, start))?.len())
}

/// Reads the bytes from `since` to before `until`, at most `bytes_max`. Starts with the first
/// existing byte if the one at `since` is missing, and is empty at `until` if all are missing.
pub fn read_page(
    folder: &Path,
    since: u64,
    until: u64,
    bytes_max: usize,
) -> io::Result<RecordedPage> {
    for _ in 1..ATTEMPTS {
        match try_read(folder, since, until, bytes_max) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && folder.exists() => {}
            other => return other,
        }
    }
    try_read(folder, since, until, bytes_max)
}

fn try_read(folder: &Path, since: u64, until: u64, bytes_max: usize) -> io::Result<RecordedPage> {
    let segments = list_segments(folder)?;
    // The segment with the first byte, and all after it.
    let first = segments.partition_point(|start| *start <= since);
    let mut page = RecordedPage {
        offset: since,
        bytes: Vec::new(),
    };
    for start in &segments[first.saturating_sub(1)..] {
        let next = page.offset.saturating_add(page.bytes.len() as u64);
        // A gap before this segment: a page without bytes begins after it.
        if *start > next {
            if !page.bytes.is_empty() || *start >= until {
                break;
            }
            page.offset = *start;
        }
        let next = next.max(*start);
        let room = usize::try_from(until.saturating_sub(next)).unwrap_or(usize::MAX);
        let room = room.min(bytes_max - page.bytes.len());
        if room == 0 {
            break;
        }
        append(&mut page.bytes, folder, *start, next - start, room)?;
    }
    if page.bytes.is_empty() {
        page.offset = page.offset.max(until);
    }
    Ok(page)
}

/// Appends at most `room` bytes of a segment, from a place in it.
fn append(
    bytes: &mut Vec<u8>,
    folder: &Path,
    segment: u64,
    place: u64,
    room: usize,
) -> io::Result<()> {
    let file = File::open(segment_path(folder, segment))?;
    let there = file.metadata()?.len().saturating_sub(place);
    let length = usize::try_from(there).unwrap_or(usize::MAX).min(room);
    let filled = bytes.len();
    bytes.resize(filled + length, 0);
    file.read_exact_at(&mut bytes[filled..], place)
}
