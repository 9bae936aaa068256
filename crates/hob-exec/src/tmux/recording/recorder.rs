//! `hob record FOLDER`: writes tmux's output to segments until tmux closes the pipe.
//!
//! Invariants: one recorder per folder, by a lock; it reads without delay, because tmux buffers
//! unread output in memory; it writes at once if a mark may end in the bytes, else within
//! [`GATHER_TIME`]; when the disk is full it counts the lost bytes and continues; a segment has no
//! gaps.

use super::{ENDED, SEGMENT_BYTES, SEGMENTS_MAX, list_segments, segment_path};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::FlockOperation;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The hidden subcommand's name.
pub const SUBCOMMAND: &str = "record";
const LOCK: &str = "recording.lock";
const PIECE_BYTES: usize = 64 * 1024;
/// Time to collect small pieces. Each write wakes the readers, and a shell prints a short command
/// in many small writes.
const GATHER_TIME: Duration = Duration::from_millis(2);
/// The last byte of marks that somebody waits for.
const BELL: u8 = 0x07;

/// The command line that starts this program as a recorder. It uses the path, because tmux may
/// start it much later.
pub fn own_recorder() -> io::Result<Vec<OsString>> {
    let program = std::fs::read_link("/proc/self/exe")?;
    Ok(vec![program.into(), SUBCOMMAND.into()])
}

/// Runs the recorder with the arguments after its subcommand. Called at the very start of `main`:
/// before any thread and any runtime.
pub fn main(arguments: &[OsString]) -> ExitCode {
    let [folder] = arguments else {
        return ExitCode::from(2);
    };
    // Unbuffered: `poll` in `is_more_soon` does not see bytes in the buffer of `io::stdin`.
    let source = io::stdin().as_fd().try_clone_to_owned().map(File::from);
    match source.and_then(|mut source| record(Path::new(folder), &mut source)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Appends everything from `source` to the recording of a folder.
pub(super) fn record(folder: &Path, source: &mut (impl Read + AsFd)) -> io::Result<()> {
    // A previous recorder may still be writing its last bytes.
    let lock = private_file()
        .write(true)
        .create(true)
        .open(folder.join(LOCK))?;
    rustix::fs::flock(&lock, FlockOperation::LockExclusive)?;
    let mut writer = RecordingWriter::open(folder)?;
    let ended = folder.join(ENDED);
    // This recorder continues, so the end that an earlier one marked no longer holds.
    match std::fs::remove_file(&ended) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut piece = vec![0; PIECE_BYTES];
    let mut filled = 0;
    let mut since = Instant::now();
    loop {
        match source.read(&mut piece[filled..]) {
            Ok(0) => break,
            Ok(length) => {
                if filled == 0 {
                    since = Instant::now();
                }
                let is_urgent = piece[filled..filled + length].contains(&BELL);
                filled += length;
                if is_urgent || filled == PIECE_BYTES || !is_more_soon(source, since) {
                    writer.write(&piece[..filled]);
                    filled = 0;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // tmux is gone or the pipe is broken; what was read is still written.
            Err(_) => break,
        }
    }
    // Bytes may still be gathered when tmux closes the pipe.
    writer.write(&piece[..filled]);
    private_file().write(true).create(true).open(ended)?;
    Ok(())
}

/// Returns true if more input arrives before the bytes read since `since` must be written.
fn is_more_soon(source: &impl AsFd, since: Instant) -> bool {
    let left = GATHER_TIME.saturating_sub(since.elapsed());
    if left.is_zero() {
        return false;
    }
    let mut ready = [PollFd::new(source, PollFlags::IN)];
    let left = Timespec::try_from(left).ok();
    poll(&mut ready, left.as_ref()).is_ok_and(|count| count > 0)
}

fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// Appends to a recording.
struct RecordingWriter {
    folder: PathBuf,
    /// The current segment; none after a failure, and at first.
    file: Option<File>,
    /// Bytes in it.
    filled: u64,
    /// The offset of the next byte, including lost bytes.
    offset: u64,
    /// The start offsets of the existing segments, in order.
    segments: Vec<u64>,
}

impl RecordingWriter {
    fn open(folder: &Path) -> io::Result<RecordingWriter> {
        let segments = list_segments(folder)?;
        let mut writer = RecordingWriter {
            folder: folder.to_owned(),
            file: None,
            filled: 0,
            offset: 0,
            segments,
        };
        if let Some(last) = writer.segments.last() {
            let file = private_file()
                .append(true)
                .open(segment_path(folder, *last))?;
            writer.filled = file.metadata()?.len();
            writer.offset = last.saturating_add(writer.filled);
            writer.file = Some(file);
        }
        Ok(writer)
    }

    fn write(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = SEGMENT_BYTES.saturating_sub(self.filled);
            if room == 0 {
                self.file = None;
            }
            let written = self.append(&bytes[..bytes.len().min(self.room())]);
            if written == 0 {
                // Nothing can be written, so this piece is lost. The next segment starts after it,
                // which makes the gap visible to readers.
                self.file = None;
                self.offset = self.offset.saturating_add(bytes.len() as u64);
                return;
            }
            self.filled += written as u64;
            self.offset = self.offset.saturating_add(written as u64);
            bytes = &bytes[written..];
        }
    }

    /// The free bytes of the current segment, or of a new one.
    fn room(&self) -> usize {
        let filled = self.file.as_ref().map_or(0, |_| self.filled);
        usize::try_from(SEGMENT_BYTES.saturating_sub(filled)).unwrap_or(usize::MAX)
    }

    fn append(&mut self, bytes: &[u8]) -> usize {
        if self.file.is_none() {
            self.begin_segment();
        }
        let Some(file) = &mut self.file else {
            return 0;
        };
        // A partial write is counted as such, so that offsets stay exact on a full disk.
        file.write(bytes).unwrap_or(0)
    }

    /// Starts a segment at the next byte and removes the oldest ones.
    fn begin_segment(&mut self) {
        let path = segment_path(&self.folder, self.offset);
        let Ok(file) = private_file().create(true).append(true).open(path) else {
            return;
        };
        self.file = Some(file);
        self.filled = 0;
        if self.segments.last() != Some(&self.offset) {
            self.segments.push(self.offset);
        }
        while self.segments.len() > SEGMENTS_MAX {
            let oldest = self.segments.remove(0);
            // A segment that cannot be removed stays; the recording continues.
            let _ = std::fs::remove_file(segment_path(&self.folder, oldest));
        }
    }
}
