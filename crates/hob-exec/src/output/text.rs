//! Bytes to text, across the borders of chunks. Pure.

use super::keep::without_cut_end;

/// A line is cut here; its rest is dropped, with a mark at the cut.
pub const LINE_BYTES_MAX: usize = 16 * 1024;
const CUT_MARK: &str = " […]";

/// Turns chunks into text without breaking a character in two.
#[derive(Debug, Default)]
pub struct Decoder {
    pending: Vec<u8>,
}

impl Decoder {
    /// The text that is whole so far.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let whole = without_cut_end(&self.pending).len();
        let rest = self.pending.split_off(whole);
        let text = String::from_utf8_lossy(&self.pending).into_owned();
        self.pending = rest;
        text
    }

    /// What is left at the end of the stream.
    pub fn finish(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.pending)).into_owned()
    }
}

/// Puts lines together again, whatever chunks they came in. `\r\n` ends a line too.
#[derive(Debug, Default)]
pub struct Lines {
    pending: Vec<u8>,
    /// Whether the rest of the current line is dropped.
    is_cut: bool,
}

impl Lines {
    /// The lines that these bytes complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        let mut parts = bytes.split(|byte| *byte == b'\n');
        // There is always a first part; each further one follows the end of a line.
        if let Some(first) = parts.next() {
            self.append(first);
        }
        for part in parts {
            lines.push(self.take());
            self.append(part);
        }
        lines
    }

    /// A last line without an end.
    pub fn finish(&mut self) -> Option<String> {
        (!self.pending.is_empty() || self.is_cut).then(|| self.take())
    }

    fn append(&mut self, bytes: &[u8]) {
        let room = LINE_BYTES_MAX - self.pending.len();
        self.is_cut |= bytes.len() > room;
        self.pending
            .extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn take(&mut self) -> String {
        let mut bytes = std::mem::take(&mut self.pending);
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
        if std::mem::take(&mut self.is_cut) {
            let whole = without_cut_end(&bytes);
            return format!("{}{CUT_MARK}", String::from_utf8_lossy(whole));
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
