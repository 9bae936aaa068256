//! Head and tail of a stream. Pure. Invariant: holds at most its bound; what it hands out is valid
//! UTF-8 and says how much is left out.

use hob_kit::failpoint;
use std::collections::VecDeque;

/// Keeps the first and the last half of its bound.
#[derive(Clone, Debug)]
pub struct Keep {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    half: usize,
    total: u64,
}

/// What was kept of a finished or running stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    pub head: String,
    /// Empty while the head holds everything.
    pub tail: String,
    /// All that was printed.
    pub total_bytes: u64,
    /// What lies between head and tail.
    pub left_out_bytes: u64,
}

impl Kept {
    pub fn is_truncated(&self) -> bool {
        self.left_out_bytes > 0
    }

    /// One text, with a line that says what is missing.
    pub fn text(&self) -> String {
        if self.is_truncated() {
            format!(
                "{}\n[… {} bytes left out …]\n{}",
                self.head, self.left_out_bytes, self.tail
            )
        } else {
            format!("{}{}", self.head, self.tail)
        }
    }
}

/// What came after a place in a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Since {
    pub text: String,
    /// Where to go on from.
    pub next: u64,
    /// Bytes after the asked place that are not kept any more.
    pub missed_bytes: u64,
}

impl Keep {
    pub fn new(bound: usize) -> Keep {
        Keep {
            head: Vec::new(),
            tail: VecDeque::new(),
            half: (bound / 2).max(if failpoint::broken(63) { 1 << 30 } else { 1 }),
            total: 0,
        }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.total = self.total.saturating_add(length(bytes));
        let room = (self.half - self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(self.half)..];
        let excess = (self.tail.len() + rest.len()).saturating_sub(self.half);
        self.tail.drain(..excess);
        self.tail.extend(rest);
    }

    pub fn kept(&self) -> Kept {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let left_out_bytes = self.total - length(&self.head) - length(&tail);
        if left_out_bytes == 0 {
            // Decoded as one, so that a character on the seam stays whole.
            let mut whole = self.head.clone();
            whole.extend(tail);
            return Kept {
                head: String::from_utf8_lossy(&whole).into_owned(),
                tail: String::new(),
                total_bytes: self.total,
                left_out_bytes,
            };
        }
        let head = without_cut_end(&self.head);
        let tail = without_cut_start(&tail);
        Kept {
            head: String::from_utf8_lossy(head).into_owned(),
            tail: String::from_utf8_lossy(tail).into_owned(),
            total_bytes: self.total,
            left_out_bytes: self.total - length(head) - length(tail),
        }
    }

    /// What came from byte `from` on, as far as it is kept.
    pub fn since(&self, from: u64) -> Since {
        let tail_begins = self.total - length_of(self.tail.len());
        let head_ends = length(&self.head);
        let mut bytes = Vec::new();
        if from < head_ends {
            let at = usize::try_from(from).unwrap_or(usize::MAX);
            bytes.extend_from_slice(self.head.get(at..).unwrap_or_default());
        }
        let skip = usize::try_from(from.saturating_sub(tail_begins)).unwrap_or(usize::MAX);
        bytes.extend(self.tail.iter().skip(skip));
        let missed_bytes = tail_begins.saturating_sub(from.max(head_ends));
        let whole = without_cut_end(without_cut_start(&bytes));
        // A character that is not whole yet is given with its rest.
        let held_back = bytes.len() - without_cut_end(&bytes).len();
        Since {
            text: String::from_utf8_lossy(whole).into_owned(),
            next: self.total.max(from) - length_of(held_back),
            missed_bytes,
        }
    }
}

fn length(bytes: &[u8]) -> u64 {
    length_of(bytes.len())
}

fn length_of(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// Longest beginning of a UTF-8 character that is not whole: three bytes.
const PARTIAL_BYTES_MAX: usize = 3;

/// Without a character that was cut at the end.
pub(super) fn without_cut_end(bytes: &[u8]) -> &[u8] {
    let last = bytes.len().saturating_sub(PARTIAL_BYTES_MAX);
    for at in (last..bytes.len()).rev() {
        let byte = bytes[at];
        if byte & 0xc0 == 0x80 {
            continue;
        }
        let needs = match byte {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => 1,
        };
        return if bytes.len() - at < needs {
            &bytes[..at]
        } else {
            bytes
        };
    }
    bytes
}

/// Without the rest of a character whose beginning is missing.
fn without_cut_start(bytes: &[u8]) -> &[u8] {
    let rest = bytes
        .iter()
        .take(PARTIAL_BYTES_MAX)
        .take_while(|byte| **byte & 0xc0 == 0x80)
        .count();
    &bytes[rest..]
}

#[cfg(test)]
#[path = "keep_tests.rs"]
mod tests;
