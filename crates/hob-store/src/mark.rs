//! A high-water mark beside the database (`hob.db.mark`): what a sound write-ahead log must still
//! hold, written after each commit and before its acknowledgement. SQLite cannot miss what was cut
//! off whole from the log's end, or notice that the file is gone; this can.
//!
//! Invariant: the mark never claims more than is on disk. It is written after the commit it
//! speaks of was synced, and taken back, synced, before the log may be emptied.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// The mark's file, as it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MarkState {
    Missing,
    /// There is a file, and what stands in it is no mark.
    Damaged,
    Whole(Claim),
}

impl MarkState {
    pub(crate) fn claim(self) -> Option<Claim> {
        match self {
            MarkState::Whole(claim) => Some(claim),
            MarkState::Missing | MarkState::Damaged => None,
        }
    }
}

/// What the mark says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Claim {
    /// The daemon's start that wrote it.
    pub(crate) epoch: u64,
    /// Frames committed to the write-ahead log.
    pub(crate) frames: u64,
    /// The last event's number.
    pub(crate) seq: u64,
    /// Whether the store was closed in order.
    pub(crate) closed: bool,
    /// Commits without an event, which `seq` does not count. Missing in marks of older versions.
    pub(crate) silent_commits: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct Mark {
    file: File,
    claim: Claim,
}

impl Mark {
    pub(crate) fn read(path: &Path) -> io::Result<MarkState> {
        match std::fs::read(path) {
            Ok(bytes) => Ok(Claim::parse(&bytes).map_or(MarkState::Damaged, MarkState::Whole)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(MarkState::Missing),
            Err(error) => Err(error),
        }
    }

    /// Opens the mark for writing, with the claim it has.
    pub(crate) fn open(path: &Path) -> io::Result<Mark> {
        let claim = Mark::read(path)?.claim();
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)?;
        let mut mark = Mark {
            file,
            claim: claim.unwrap_or_default(),
        };
        if claim.is_none() {
            // Durable from the start, so that a power cut cannot make it look deleted or damaged.
            mark.raise(mark.claim)?;
            mark.file.sync_all()?;
            File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()?;
        }
        Ok(mark)
    }

    pub(crate) fn claim(&self) -> Claim {
        self.claim
    }

    /// Claims what was committed. Not synced: a lost claim claims less.
    pub(crate) fn raise(&mut self, claim: Claim) -> io::Result<()> {
        self.claim = claim;
        self.file.write_all_at(claim.to_line().as_bytes(), 0)
    }

    /// Claims less, before the log is emptied.
    pub(crate) fn lower(&mut self, claim: Claim) -> io::Result<()> {
        if claim == self.claim {
            return Ok(());
        }
        self.raise(claim)?;
        self.file.sync_data()
    }
}

impl Claim {
    /// One line of fixed width, so that a single write replaces it.
    fn to_line(self) -> String {
        let state = if self.closed { "closed" } else { "open  " };
        let words = format!(
            "hob-mark {:020} {:020} {:020} {state} {:020}",
            self.epoch,
            self.frames,
            self.seq,
            self.silent_commits.unwrap_or(0)
        );
        format!("{words} {:016x}\n", sum(words.as_bytes()))
    }

    fn parse(bytes: &[u8]) -> Option<Claim> {
        let line = std::str::from_utf8(bytes).ok()?.lines().next()?;
        let (words, written_sum) = line.trim_end().rsplit_once(' ')?;
        if u64::from_str_radix(written_sum, 16).ok()? != sum(words.as_bytes()) {
            return None;
        }
        let mut words = words.split_whitespace();
        let mut number = || words.next()?.parse::<u64>().ok();
        let (_, epoch, frames, seq) = (number(), number()?, number()?, number()?);
        let closed = words.next()? == "closed";
        Some(Claim {
            epoch,
            frames,
            seq,
            closed,
            silent_commits: words.next().and_then(|word| word.parse().ok()),
        })
    }
}

/// FNV-1a: enough to tell a whole line from a torn one.
fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

#[cfg(test)]
#[path = "mark_tests.rs"]
mod tests;
