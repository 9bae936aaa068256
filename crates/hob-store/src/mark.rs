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
}

#[derive(Debug)]
pub(crate) struct Mark {
    file: File,
    claim: Claim,
}

impl Mark {
    /// The claim at `path`; none when there is no mark or it is not whole.
    pub(crate) fn read(path: &Path) -> Option<Claim> {
        Claim::parse(&std::fs::read_to_string(path).ok()?)
    }

    /// Opens the mark for writing, with the claim it has.
    pub(crate) fn open(path: &Path) -> io::Result<Mark> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)?;
        let claim = Mark::read(path).unwrap_or_default();
        Ok(Mark { file, claim })
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
            "hob-mark {:020} {:020} {:020} {state}",
            self.epoch, self.frames, self.seq
        );
        format!("{words} {:016x}\n", sum(words.as_bytes()))
    }

    fn parse(line: &str) -> Option<Claim> {
        let (words, written_sum) = line.trim_end().rsplit_once(' ')?;
        if u64::from_str_radix(written_sum, 16).ok()? != sum(words.as_bytes()) {
            return None;
        }
        let mut words = words.split_whitespace();
        let mut number = || words.next()?.parse::<u64>().ok();
        let (_, epoch, frames, seq) = (number(), number()?, number()?, number()?);
        Some(Claim {
            epoch,
            frames,
            seq,
            closed: words.next()? == "closed",
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
