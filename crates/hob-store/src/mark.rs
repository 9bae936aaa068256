//! A high-water mark beside the database (`hob.db.mark`): it says how much a sound write-ahead log
//! must hold. It is written after each commit and before its acknowledgement. SQLite does not
//! notice when whole transactions are cut off the log's end, or when the log file is gone. The mark
//! does.
//!
//! Invariant: the mark never claims more than is on disk. It is written after its commit was
//! synced, and lowered and synced before the log may be emptied.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// The mark's file, as it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MarkState {
    Missing,
    /// The file exists and holds no valid mark.
    Damaged,
    Whole(MarkClaim),
}

impl MarkState {
    pub(crate) fn claim(self) -> Option<MarkClaim> {
        match self {
            MarkState::Whole(claim) => Some(claim),
            MarkState::Missing | MarkState::Damaged => None,
        }
    }
}

/// The content of the mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MarkClaim {
    /// The daemon's start that wrote it.
    pub(crate) epoch: u64,
    /// Frames committed to the write-ahead log.
    pub(crate) frames: u64,
    /// The number of the last event.
    pub(crate) seq: u64,
    /// Set when the store was closed in order.
    pub(crate) closed: bool,
    /// Commits without an event, which `seq` does not count. Marks of older versions lack it.
    pub(crate) silent_commits: Option<u64>,
}

/// The open mark file and its present claim.
#[derive(Debug)]
pub(crate) struct CommitMark {
    file: File,
    claim: MarkClaim,
}

impl CommitMark {
    pub(crate) fn read(path: &Path) -> io::Result<MarkState> {
        match std::fs::read(path) {
            Ok(bytes) => Ok(MarkClaim::parse(&bytes).map_or(MarkState::Damaged, MarkState::Whole)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(MarkState::Missing),
            Err(error) => Err(error),
        }
    }

    /// Opens the mark for writing, with its present claim.
    pub(crate) fn open(path: &Path) -> io::Result<CommitMark> {
        let claim = CommitMark::read(path)?.claim();
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            // The old claim stays until the new line overwrites it: a crash in between leaves a
            // valid mark.
            .truncate(false)
            .mode(0o600)
            .open(path)?;
        let mut mark = CommitMark {
            file,
            claim: claim.unwrap_or_default(),
        };
        if claim.is_none() {
            // Durable from the start: a power cut must not make a new mark look deleted or damaged.
            mark.raise(mark.claim)?;
            mark.file.sync_all()?;
            File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()?;
        }
        Ok(mark)
    }

    pub(crate) fn claim(&self) -> MarkClaim {
        self.claim
    }

    /// Claims a commit. Not synced: if the claim is lost, the older one claims less.
    pub(crate) fn raise(&mut self, claim: MarkClaim) -> io::Result<()> {
        self.claim = claim;
        self.file.write_all_at(claim.to_line().as_bytes(), 0)
    }

    /// Lowers the claim, synced, before the log is emptied.
    pub(crate) fn lower(&mut self, claim: MarkClaim) -> io::Result<()> {
        if claim == self.claim {
            return Ok(());
        }
        self.raise(claim)?;
        // Synced: an old, higher claim that survives a power cut would report a loss that never
        // was.
        self.file.sync_data()
    }
}

impl MarkClaim {
    /// Formats the claim as one line of fixed width, so that a single write replaces it.
    fn to_line(self) -> String {
        // Padded to the same width, so that no end of an older line is left behind.
        let state = if self.closed { "closed" } else { "open  " };
        let words = format!(
            "hob-mark {:020} {:020} {:020} {state} {:020}",
            self.epoch,
            self.frames,
            self.seq,
            self.silent_commits.unwrap_or(0)
        );
        format!("{words} {:016x}\n", fnv1a(words.as_bytes()))
    }

    fn parse(bytes: &[u8]) -> Option<MarkClaim> {
        let line = std::str::from_utf8(bytes).ok()?.lines().next()?;
        let (words, written_sum) = line.trim_end().rsplit_once(' ')?;
        if u64::from_str_radix(written_sum, 16).ok()? != fnv1a(words.as_bytes()) {
            return None;
        }
        let mut words = words.split_whitespace();
        let mut number = || words.next()?.parse::<u64>().ok();
        // The first word names the format and is no number.
        let (_, epoch, frames, seq) = (number(), number()?, number()?, number()?);
        let closed = words.next()? == "closed";
        Some(MarkClaim {
            epoch,
            frames,
            seq,
            closed,
            silent_commits: words.next().and_then(|word| word.parse().ok()),
        })
    }
}

/// FNV-1a, enough to tell a whole line from a torn one.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

#[cfg(test)]
#[path = "mark_tests.rs"]
mod tests;
