//! Head and tail of a stream. Pure.
//!
//! Invariants: a buffer holds at most its bound; its text is valid UTF-8 and says how much is left
//! out.

use std::collections::VecDeque;

/// A buffer that keeps the first and the last bytes, each up to half of its bound.
#[derive(Clone, Debug)]
pub struct HeadTailBuffer {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    half: usize,
    total: u64,
}

/// The kept output of a finished or running stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptOutput {
    pub head: String,
    /// Empty while the head holds everything.
    pub tail: String,
    /// The length of the whole output.
    pub total_bytes: u64,
    /// The length of the gap between head and tail.
    pub left_out_bytes: u64,
}

impl KeptOutput {
    pub fn is_truncated(&self) -> bool {
        self.left_out_bytes > 0
    }

    /// Returns one text, with a line that says how much is left out.
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

/// The output of a stream after an offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputSince {
    pub text: String,
    /// The offset of the next read.
    pub next: u64,
    /// Bytes after the offset that are not kept any more.
    pub missed_bytes: u64,
}

impl HeadTailBuffer {
    pub fn new(bound: usize) -> HeadTailBuffer {
        HeadTailBuffer {
            head: Vec::new(),
            tail: VecDeque::new(),
            half: (bound / 2).max(1),
            total: 0,
        }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.total = self.total.saturating_add(length(bytes));
        let room = (self.half - self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        // Only the end of a long piece can stay in the tail.
        let rest = &rest[rest.len().saturating_sub(self.half)..];
        let excess = (self.tail.len() + rest.len()).saturating_sub(self.half);
        self.tail.drain(..excess);
        self.tail.extend(rest);
    }

    pub fn snapshot(&self) -> KeptOutput {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let left_out_bytes = self.total - length(&self.head) - length(&tail);
        if left_out_bytes == 0 {
            // Decoded as one text, so that a character across the border stays whole.
            let mut whole = self.head.clone();
            whole.extend(tail);
            return KeptOutput {
                head: String::from_utf8_lossy(&whole).into_owned(),
                tail: String::new(),
                total_bytes: self.total,
                left_out_bytes,
            };
        }
        let head = without_cut_end(&self.head);
        let tail = without_cut_start(&tail);
        KeptOutput {
            head: String::from_utf8_lossy(head).into_owned(),
            tail: String::from_utf8_lossy(tail).into_owned(),
            total_bytes: self.total,
            left_out_bytes: self.total - length(head) - length(tail),
        }
    }

    /// Returns the output from byte `from` on, as far as it is kept.
    pub fn since(&self, from: u64) -> OutputSince {
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
        // An incomplete character is returned later, together with its rest.
        let held_back = bytes.len() - without_cut_end(&bytes).len();
        OutputSince {
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

/// The longest incomplete UTF-8 character.
const PARTIAL_BYTES_MAX: usize = 3;

/// Returns the bytes without an incomplete character at the end.
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

/// Returns the bytes without the rest of a character whose beginning is missing.
fn without_cut_start(bytes: &[u8]) -> &[u8] {
    let rest = bytes
        .iter()
        .take(PARTIAL_BYTES_MAX)
        .take_while(|byte| **byte & 0xc0 == 0x80)
        .count();
    &bytes[rest..]
}

#[cfg(test)]
#[path = "head_tail_tests.rs"]
mod tests;
