//! `hob record FOLDER`: writes what tmux feeds it to segments until tmux closes the pipe.
//!
//! Invariants: one recorder a folder, by a lock; it takes everything at once, because tmux keeps in
//! memory what is not taken, and writes it at once if a mark may end in it, else within [`GATHER`];
//! when the disk is full it counts what is lost and goes on; no segment holds bytes of two places.

use super::{ENDED, SEGMENT_BYTES, SEGMENTS_MAX, segment, segments};
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
/// How long small pieces are gathered: whoever reads the recording is woken by each write, and a
/// shell says a short command's few words in many.
const GATHER: Duration = Duration::from_millis(2);
/// Ends the marks that somebody waits for.
const BELL: u8 = 0x07;

/// This very program as a recorder, by its path: tmux starts it long after.
pub fn own() -> io::Result<Vec<OsString>> {
    let program = std::fs::read_link("/proc/self/exe")?;
    Ok(vec![program.into(), SUBCOMMAND.into()])
}

/// Runs the recorder with what follows its name on the command line. Called at the very start of
/// `main`: before any thread and any runtime.
pub fn main(arguments: &[OsString]) -> ExitCode {
    let [folder] = arguments else {
        return ExitCode::from(2);
    };
    // Not through the buffer of the standard input: what lies in it is not seen by `is_more_soon`.
    let source = io::stdin().as_fd().try_clone_to_owned().map(File::from);
    match source.and_then(|mut source| record(Path::new(folder), &mut source)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Writes all there is to read to the recording of a folder, behind what it holds already.
pub(super) fn record(folder: &Path, source: &mut (impl Read + AsFd)) -> io::Result<()> {
    // One that was told to end before may still be writing its last bytes.
    let lock = private().write(true).create(true).open(folder.join(LOCK))?;
    rustix::fs::flock(&lock, FlockOperation::LockExclusive)?;
    let mut tape = Tape::open(folder)?;
    let ended = folder.join(ENDED);
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
                    tape.write(&piece[..filled]);
                    filled = 0;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    tape.write(&piece[..filled]);
    private().write(true).create(true).open(ended)?;
    Ok(())
}

/// Whether there is more to read before what was read `since` then has to be written.
fn is_more_soon(source: &impl AsFd, since: Instant) -> bool {
    let left = GATHER.saturating_sub(since.elapsed());
    if left.is_zero() {
        return false;
    }
    let mut ready = [PollFd::new(source, PollFlags::IN)];
    let left = Timespec::try_from(left).ok();
    poll(&mut ready, left.as_ref()).is_ok_and(|count| count > 0)
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// The end of a recording.
struct Tape {
    folder: PathBuf,
    /// The segment being written; none after a failure, and at first.
    file: Option<File>,
    /// Bytes in it.
    filled: u64,
    /// The offset of the next byte, lost ones counted.
    offset: u64,
    /// The segments there are, in order.
    begun: Vec<u64>,
}

impl Tape {
    fn open(folder: &Path) -> io::Result<Tape> {
        let begun = segments(folder)?;
        let mut tape = Tape {
            folder: folder.to_owned(),
            file: None,
            filled: 0,
            offset: 0,
            begun,
        };
        if let Some(last) = tape.begun.last() {
            let file = private().append(true).open(segment(folder, *last))?;
            tape.filled = file.metadata()?.len();
            tape.offset = last.saturating_add(tape.filled);
            tape.file = Some(file);
        }
        Ok(tape)
    }

    fn write(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = SEGMENT_BYTES.saturating_sub(self.filled);
            if room == 0 {
                self.file = None;
            }
            let written = self.append(&bytes[..bytes.len().min(self.room())]);
            if written == 0 {
                // Nothing can be written, so this piece is lost: the next segment begins after it.
                self.file = None;
                self.offset = self.offset.saturating_add(bytes.len() as u64);
                return;
            }
            self.filled += written as u64;
            self.offset = self.offset.saturating_add(written as u64);
            bytes = &bytes[written..];
        }
    }

    /// What fits into the segment being written, or into a new one.
    fn room(&self) -> usize {
        let filled = self.file.as_ref().map_or(0, |_| self.filled);
        usize::try_from(SEGMENT_BYTES.saturating_sub(filled)).unwrap_or(usize::MAX)
    }

    fn append(&mut self, bytes: &[u8]) -> usize {
        if self.file.is_none() {
            self.begin();
        }
        let Some(file) = &mut self.file else {
            return 0;
        };
        file.write(bytes).unwrap_or(0)
    }

    /// Begins a segment at the next byte and removes those that are too old.
    fn begin(&mut self) {
        let path = segment(&self.folder, self.offset);
        let Ok(file) = private().create(true).append(true).open(path) else {
            return;
        };
        self.file = Some(file);
        self.filled = 0;
        if self.begun.last() != Some(&self.offset) {
            self.begun.push(self.offset);
        }
        while self.begun.len() > SEGMENTS_MAX {
            let oldest = self.begun.remove(0);
            // One that cannot be removed is left behind; the recording goes on.
            let _ = std::fs::remove_file(segment(&self.folder, oldest));
        }
    }
}
