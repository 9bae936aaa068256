//! A scan of the write-ahead log before SQLite opens it. SQLite keeps the complete transactions at
//! the beginning and silently drops the rest. The scan says what the rest was.
//!
//! The format (SQLite file format, section 4): a header of 32 bytes with two salts, then frames of
//! 24 bytes and a page. A frame belongs to this round of the log if it has the header's salts. It
//! is whole if its checksum is right, which runs on from the header over all frames before it. Each
//! round increments the first salt, so leftovers of earlier rounds can be told apart.
//!
//! Invariant: it only reads.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

const HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;
const MAGIC: u32 = 0x377F_0682;
/// A frame whose first salt is at most this much smaller comes from an earlier round.
const ROUNDS_BACK_MAX: u32 = 1 << 16;

/// The content of a write-ahead log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WalScan {
    pub(crate) bytes: u64,
    /// Frames up to the last complete transaction, which SQLite keeps.
    pub(crate) kept_frames: u64,
    pub(crate) end: WalEnd,
}

/// The end of a write-ahead log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WalEnd {
    /// After a complete transaction; only leftovers of an earlier round may follow.
    Clean,
    /// In a transaction that was being written, as a crash leaves it.
    Unfinished { offset: u64 },
    /// In a last transaction that is not whole although its end was written. A power cut or damage
    /// leaves this.
    Torn { offset: u64 },
    /// Before later transactions, which were synced and can no longer be read.
    Damaged {
        offset: u64,
        frames: u64,
        transactions: u64,
    },
    /// At once, because the header cannot be read.
    NoHeader,
}

/// Scans the log at `path`; a missing file counts as an empty log.
pub(crate) fn scan(path: &Path) -> io::Result<WalScan> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(WalScan::empty()),
        Err(error) => return Err(error),
    };
    let bytes = file.metadata()?.len();
    if bytes == 0 {
        return Ok(WalScan::empty());
    }
    let mut source = BufReader::with_capacity(1 << 18, file);
    let mut header = [0; HEADER_BYTES];
    let filled = read_full(&mut source, &mut header)?;
    let head = (filled == HEADER_BYTES)
        .then(|| WalHeader::read(&header))
        .flatten();
    let Some(head) = head else {
        // SQLite never leaves a partial or wrong header, except when its very first write was
        // interrupted. Nothing follows the header then.
        let end = if bytes > HEADER_BYTES as u64 {
            WalEnd::NoHeader
        } else {
            WalEnd::Unfinished { offset: 0 }
        };
        return Ok(WalScan {
            bytes,
            kept_frames: 0,
            end,
        });
    };
    head.walk(&mut source, bytes)
}

impl WalScan {
    fn empty() -> Self {
        WalScan {
            bytes: 0,
            kept_frames: 0,
            end: WalEnd::Clean,
        }
    }
}

/// The header of a write-ahead log.
struct WalHeader {
    page_bytes: usize,
    big_endian: bool,
    salts: [u32; 2],
    sum: WalChecksum,
}

impl WalHeader {
    fn read(header: &[u8; HEADER_BYTES]) -> Option<WalHeader> {
        let magic = read_u32(header, 0);
        let page_bytes = read_u32(header, 8);
        let page_ok = page_bytes.is_power_of_two() && (512..=65_536).contains(&page_bytes);
        if magic & !1 != MAGIC || !page_ok {
            return None;
        }
        // The lowest bit of the magic number is the byte order of the checksums.
        let big_endian = magic & 1 == 1;
        let sum = WalChecksum::default().over(&header[..24], big_endian);
        if sum != (WalChecksum(read_u32(header, 24), read_u32(header, 28))) {
            return None;
        }
        Some(WalHeader {
            page_bytes: page_bytes as usize,
            big_endian,
            salts: [read_u32(header, 16), read_u32(header, 20)],
            sum,
        })
    }

    fn walk(&self, source: &mut impl Read, bytes: u64) -> io::Result<WalScan> {
        let mut frame = vec![0; FRAME_HEADER_BYTES + self.page_bytes];
        let mut sum = self.sum;
        let mut whole = 0_u64;
        let mut kept_frames = 0_u64;
        let scan = |kept_frames, end| WalScan {
            bytes,
            kept_frames,
            end,
        };
        loop {
            let filled = read_full(source, &mut frame)?;
            if filled < frame.len() {
                // A part of a frame, or whole frames without the end of their transaction: a crash
                // cut the write off.
                let cut = filled > 0 || whole > kept_frames;
                let offset = self.offset(kept_frames);
                let end = if cut {
                    WalEnd::Unfinished { offset }
                } else {
                    WalEnd::Clean
                };
                return Ok(scan(kept_frames, end));
            }
            let next = self.sum_after(sum, &frame);
            // The same three tests that SQLite makes: salts, a page number, the running checksum.
            let is_whole = self.origin(&frame) == FrameOrigin::Current
                && read_u32(&frame, 0) != 0
                && next == WalChecksum(read_u32(&frame, 16), read_u32(&frame, 20));
            if !is_whole {
                break;
            }
            sum = next;
            whole += 1;
            if ends_transaction(&frame) {
                kept_frames = whole;
            }
        }
        // SQLite stops reading here. The rest decides whether something synced is lost.
        let mut rest = WalTail::default();
        loop {
            rest.note(self.origin(&frame), ends_transaction(&frame));
            if read_full(source, &mut frame)? < frame.len() {
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

    /// The offset of the frame after `frames`.
    fn offset(&self, frames: u64) -> u64 {
        let frame_bytes = (FRAME_HEADER_BYTES + self.page_bytes) as u64;
        HEADER_BYTES as u64 + frames * frame_bytes
    }

    fn sum_after(&self, sum: WalChecksum, frame: &[u8]) -> WalChecksum {
        // The checksum leaves out the salts and itself, which are bytes 8 to 23 of the frame.
        let sum = sum.over(&frame[..8], self.big_endian);
        sum.over(&frame[FRAME_HEADER_BYTES..], self.big_endian)
    }

    fn origin(&self, frame: &[u8]) -> FrameOrigin {
        let salts = [read_u32(frame, 8), read_u32(frame, 12)];
        // Wrapping, because SQLite's increment of the salt wraps too.
        let rounds_back = self.salts[0].wrapping_sub(salts[0]);
        if salts == self.salts {
            FrameOrigin::Current
        } else if (1..=ROUNDS_BACK_MAX).contains(&rounds_back) {
            FrameOrigin::Earlier
        } else {
            FrameOrigin::Unknown
        }
    }
}

/// The round of the log that wrote a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FrameOrigin {
    /// This round of the log.
    Current,
    /// An earlier round, whose leftover it is.
    Earlier,
    /// No known round: zeros or noise.
    Unknown,
}

/// The frames from the first one that is not whole.
#[derive(Default)]
struct WalTail {
    first: Option<FrameOrigin>,
    /// Frames up to the last one of this round; at least the first.
    frames: u64,
    seen: u64,
    /// Frames of this round after the first, and ends of transactions among them.
    current_after: u64,
    ends_after: u64,
    /// True if the first frame claims to end a transaction, which may be noise.
    first_ends: bool,
    ends_with_transaction: bool,
    has_unknown: bool,
}

impl WalTail {
    fn note(&mut self, origin: FrameOrigin, ends_transaction: bool) {
        self.seen += 1;
        if self.first.is_none() {
            self.first = Some(origin);
            self.frames = 1;
            self.first_ends = origin == FrameOrigin::Current && ends_transaction;
        } else if origin == FrameOrigin::Current {
            self.current_after += 1;
            self.ends_after += u64::from(ends_transaction);
            self.frames = self.seen;
        }
        self.has_unknown |= origin == FrameOrigin::Unknown;
        if origin == FrameOrigin::Current {
            self.ends_with_transaction = ends_transaction;
        }
    }

    fn end(&self, kept_offset: u64, bad_offset: u64, unfinished: bool) -> WalEnd {
        // A log that restarted keeps its file, so old frames behind the new ones are expected.
        let at_leftovers = self.first == Some(FrameOrigin::Earlier) && self.current_after == 0;
        if at_leftovers {
            return if unfinished {
                WalEnd::Unfinished {
                    offset: kept_offset,
                }
            } else {
                WalEnd::Clean
            };
        }
        let cut_off = self.first == Some(FrameOrigin::Current)
            && self.current_after == 0
            && !self.ends_with_transaction
            && !self.has_unknown;
        if cut_off {
            return WalEnd::Unfinished {
                offset: kept_offset,
            };
        }
        // Each commit is synced before the next begins, so a power cut can harm only the last one.
        let ends = self.ends_after + u64::from(self.first_ends);
        let one_at_most = ends == 0 || (ends == 1 && self.ends_with_transaction);
        if one_at_most {
            return WalEnd::Torn { offset: bad_offset };
        }
        WalEnd::Damaged {
            offset: bad_offset,
            frames: self.frames,
            // The damaged transaction counts even if no later frame ends one.
            transactions: self.ends_after.max(1),
        }
    }
}

/// SQLite's running checksum.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct WalChecksum(u32, u32);

impl WalChecksum {
    fn over(self, bytes: &[u8], big_endian: bool) -> WalChecksum {
        let read = |half: &[u8]| {
            let half = [half[0], half[1], half[2], half[3]];
            if big_endian {
                u32::from_be_bytes(half)
            } else {
                u32::from_le_bytes(half)
            }
        };
        let WalChecksum(mut first, mut second) = self;
        for pair in bytes.chunks_exact(8) {
            first = first.wrapping_add(read(&pair[..4])).wrapping_add(second);
            second = second.wrapping_add(read(&pair[4..])).wrapping_add(first);
        }
        WalChecksum(first, second)
    }
}

/// Returns true for the last frame of a transaction, which holds the database's size after it.
fn ends_transaction(frame: &[u8]) -> bool {
    read_u32(frame, 4) != 0
}

fn read_u32(bytes: &[u8], at: usize) -> u32 {
    // All fields are big-endian. Only the checksums use the byte order that the magic number names.
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Reads until `into` is full or the source ends.
fn read_full(source: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
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
