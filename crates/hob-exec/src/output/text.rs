//! Converts bytes to text and lines across chunk borders. Pure.

use super::head_tail::without_cut_end;

/// The maximum length of a line. The rest is dropped and [`CUT_MARK`] is appended.
pub const LINE_BYTES_MAX: usize = 16 * 1024;
const CUT_MARK: &str = " […]";

/// Decodes chunks without splitting a character.
#[derive(Debug, Default)]
pub struct Utf8Decoder {
    pending: Vec<u8>,
}

impl Utf8Decoder {
    /// Returns the complete characters so far.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let whole = without_cut_end(&self.pending).len();
        let rest = self.pending.split_off(whole);
        let text = String::from_utf8_lossy(&self.pending).into_owned();
        self.pending = rest;
        text
    }

    /// Returns the rest at the end of the stream.
    pub fn finish(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.pending)).into_owned()
    }
}

/// Splits chunks into lines. `\r\n` ends a line, too.
#[derive(Debug, Default)]
pub struct LineSplitter {
    pending: Vec<u8>,
    /// True if the rest of the current line is dropped.
    is_cut: bool,
}

impl LineSplitter {
    /// Returns the lines that these bytes complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        let mut parts = bytes.split(|byte| *byte == b'\n');
        // The first part continues the current line; each further part follows a line break.
        if let Some(first) = parts.next() {
            self.append(first);
        }
        for part in parts {
            lines.push(self.take());
            self.append(part);
        }
        lines
    }

    /// Returns a last line without a line break.
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
