//! A look at the write-ahead log before SQLite opens it. SQLite keeps the whole transactions at
//! its beginning and silently drops the rest; this says what that rest was.
//!
//! The format (SQLite file format, section 4): a header of 32 bytes with two salts, then frames of
//! 24 bytes and a page. A frame belongs to this round of the log if it carries the header's salts,
//! and is whole if its checksum, which runs on from the header over every frame before, is right.
//! Each round counts the first salt up, so that leftovers of earlier rounds can be told.
//!
//! Invariant: reads only.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

const HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;
const MAGIC: u32 = 0x377F_0682;
/// A frame whose first salt is at most this much behind comes from an earlier round.
const ROUNDS_BACK_MAX: u32 = 1 << 16;

/// What a write-ahead log holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scan {
    pub(crate) bytes: u64,
    /// Frames up to the last whole transaction: what SQLite keeps.
    pub(crate) kept_frames: u64,
    pub(crate) end: End,
}

/// How it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// After a whole transaction; only leftovers of an earlier round may follow.
    Clean,
    /// In a transaction that was being written: what a crash leaves.
    Unfinished { offset: u64 },
    /// In one last transaction that is not whole although its end was written: what a power cut
    /// may leave, or damage.
    Torn { offset: u64 },
    /// Before transactions that followed: they were synced, and cannot be read any more.
    Damaged {
        offset: u64,
        frames: u64,
        transactions: u64,
    },
    /// At once, because the header cannot be read.
    NoHeader,
}

/// Scans the log at `path`; a missing one is an empty one.
pub(crate) fn scan(path: &Path) -> io::Result<Scan> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Scan::empty()),
        Err(error) => return Err(error),
    };
    let bytes = file.metadata()?.len();
    if bytes == 0 {
        return Ok(Scan::empty());
    }
    let mut source = BufReader::with_capacity(1 << 18, file);
    let mut header = [0; HEADER_BYTES];
    let filled = fill(&mut source, &mut header)?;
    let head = (filled == HEADER_BYTES)
        .then(|| Head::read(&header))
        .flatten();
    let Some(head) = head else {
        // SQLite never leaves part of a header or a wrong one, except when its very first write
        // was cut off; then nothing follows it.
        let end = if bytes > HEADER_BYTES as u64 {
            End::NoHeader
        } else {
            End::Unfinished { offset: 0 }
        };
        return Ok(Scan {
            bytes,
            kept_frames: 0,
            end,
        });
    };
    head.walk(&mut source, bytes)
}

impl Scan {
    fn empty() -> Self {
        Scan {
            bytes: 0,
            kept_frames: 0,
            end: End::Clean,
        }
    }
}

struct Head {
    page_bytes: usize,
    big_endian: bool,
    salts: [u32; 2],
    sum: Sum,
}

impl Head {
    fn read(header: &[u8; HEADER_BYTES]) -> Option<Head> {
        let magic = word(header, 0);
        let page_bytes = word(header, 8);
        let page_ok = page_bytes.is_power_of_two() && (512..=65_536).contains(&page_bytes);
        if magic & !1 != MAGIC || !page_ok {
            return None;
        }
        let big_endian = magic & 1 == 1;
        let sum = Sum::default().over(&header[..24], big_endian);
        if sum != (Sum(word(header, 24), word(header, 28))) {
            return None;
        }
        Some(Head {
            page_bytes: page_bytes as usize,
            big_endian,
            salts: [word(header, 16), word(header, 20)],
            sum,
        })
    }

    fn walk(&self, source: &mut impl Read, bytes: u64) -> io::Result<Scan> {
        let mut frame = vec![0; FRAME_HEADER_BYTES + self.page_bytes];
        let mut sum = self.sum;
        let mut whole = 0_u64;
        let mut kept_frames = 0_u64;
        let scan = |kept_frames, end| Scan {
            bytes,
            kept_frames,
            end,
        };
        loop {
            let filled = fill(source, &mut frame)?;
            if filled < frame.len() {
                let cut = filled > 0 || whole > kept_frames;
                let offset = self.offset(kept_frames);
                let end = if cut {
                    End::Unfinished { offset }
                } else {
                    End::Clean
                };
                return Ok(scan(kept_frames, end));
            }
            let next = self.sum_after(sum, &frame);
            let is_whole = self.origin(&frame) == Origin::Current
                && word(&frame, 0) != 0
                && next == Sum(word(&frame, 16), word(&frame, 20));
            if !is_whole {
                break;
            }
            sum = next;
            whole += 1;
            if ends_transaction(&frame) {
                kept_frames = whole;
            }
        }
        let mut rest = Rest::default();
        loop {
            rest.note(self.origin(&frame), ends_transaction(&frame));
            if fill(source, &mut frame)? < frame.len() {
                break;
            }
        }
        let end = rest.end(
            self.offset(kept_frames),
            self.offset(whole),
            whole > kept_frames,
        );
        Ok(scan(kept_frames, end))
    }

    /// Where the frame after `frames` begins.
    fn offset(&self, frames: u64) -> u64 {
        let frame_bytes = (FRAME_HEADER_BYTES + self.page_bytes) as u64;
        HEADER_BYTES as u64 + frames * frame_bytes
    }

    fn sum_after(&self, sum: Sum, frame: &[u8]) -> Sum {
        let sum = sum.over(&frame[..8], self.big_endian);
        sum.over(&frame[FRAME_HEADER_BYTES..], self.big_endian)
    }

    fn origin(&self, frame: &[u8]) -> Origin {
        let salts = [word(frame, 8), word(frame, 12)];
        let rounds_back = self.salts[0].wrapping_sub(salts[0]);
        if salts == self.salts {
            Origin::Current
        } else if (1..=ROUNDS_BACK_MAX).contains(&rounds_back) {
            Origin::Earlier
        } else {
            Origin::Unknown
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// This round of the log.
    Current,
    /// A leftover of an earlier round.
    Earlier,
    /// Not written by SQLite as it stands: zeros or noise.
    Unknown,
}

/// What was met from the first frame on that is not whole.
#[derive(Default)]
struct Rest {
    first: Option<Origin>,
    /// Frames up to and with the last one of this round; at least the first.
    frames: u64,
    seen: u64,
    /// Frames of this round after the first, and ends of transactions among them.
    current_after: u64,
    ends_after: u64,
    /// Whether the first says it ends a transaction, which may be noise.
    first_ends: bool,
    ends_with_transaction: bool,
    has_unknown: bool,
}

impl Rest {
    fn note(&mut self, origin: Origin, ends_transaction: bool) {
        self.seen += 1;
        if self.first.is_none() {
            self.first = Some(origin);
            self.frames = 1;
            self.first_ends = origin == Origin::Current && ends_transaction;
        } else if origin == Origin::Current {
            self.current_after += 1;
            self.ends_after += u64::from(ends_transaction);
            self.frames = self.seen;
        }
        self.has_unknown |= origin == Origin::Unknown;
        if origin == Origin::Current {
            self.ends_with_transaction = ends_transaction;
        }
    }

    fn end(&self, kept_offset: u64, bad_offset: u64, unfinished: bool) -> End {
        let at_leftovers = self.first == Some(Origin::Earlier) && self.current_after == 0;
        if at_leftovers {
            return if unfinished {
                End::Unfinished {
                    offset: kept_offset,
                }
            } else {
                End::Clean
            };
        }
        let cut_off = self.first == Some(Origin::Current)
            && self.current_after == 0
            && !self.ends_with_transaction
            && !self.has_unknown;
        if cut_off {
            return End::Unfinished {
                offset: kept_offset,
            };
        }
        // Every commit is synced before the next begins, so a cut of power can harm only one.
        let ends = self.ends_after + u64::from(self.first_ends);
        let one_at_most = ends == 0 || (ends == 1 && self.ends_with_transaction);
        if one_at_most {
            return End::Torn { offset: bad_offset };
        }
        End::Damaged {
            offset: bad_offset,
            frames: self.frames,
            transactions: self.ends_after.max(1),
        }
    }
}

/// SQLite's running checksum.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Sum(u32, u32);

impl Sum {
    fn over(self, bytes: &[u8], big_endian: bool) -> Sum {
        let read = |half: &[u8]| {
            let half = [half[0], half[1], half[2], half[3]];
            if big_endian {
                u32::from_be_bytes(half)
            } else {
                u32::from_le_bytes(half)
            }
        };
        let Sum(mut first, mut second) = self;
        for pair in bytes.chunks_exact(8) {
            first = first.wrapping_add(read(&pair[..4])).wrapping_add(second);
            second = second.wrapping_add(read(&pair[4..])).wrapping_add(first);
        }
        Sum(first, second)
    }
}

/// The last frame of a transaction says how large the database is after it.
fn ends_transaction(frame: &[u8]) -> bool {
    word(frame, 4) != 0
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Reads until `into` is full or the source ends.
fn fill(source: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < into.len() {
        match source.read(&mut into[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
#[path = "wal_tests.rs"]
mod tests;
