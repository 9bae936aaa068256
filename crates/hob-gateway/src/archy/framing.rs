//! Where a JSON document ends, found as its bytes come. Archy's clients put nothing between a
//! request and the end of what they send.
//!
//! Invariant: each byte is looked at once, however small the pieces are in which they come.

/// Finds the end of one object. It counts brackets outside of texts; whether what is between them
/// is JSON, the parser says.
#[derive(Debug, Default)]
pub(crate) struct Framing {
    /// Bytes that were looked at.
    seen: usize,
    depth: u32,
    in_text: bool,
    escaped: bool,
}

impl Framing {
    /// Looks at what came since the last time; the length of the object once it is whole.
    pub(crate) fn find(&mut self, bytes: &[u8]) -> Option<usize> {
        let from = self.seen.min(bytes.len());
        for (offset, byte) in bytes[from..].iter().enumerate() {
            if self.ends_at(*byte) {
                self.seen = from + offset + 1;
                return Some(self.seen);
            }
        }
        self.seen = bytes.len();
        None
    }

    fn ends_at(&mut self, byte: u8) -> bool {
        if self.in_text {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_text = false,
                _ => {}
            }
            return false;
        }
        match byte {
            b'"' => self.in_text = true,
            b'{' | b'[' => self.depth = self.depth.saturating_add(1),
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                return self.depth == 0;
            }
            _ => {}
        }
        false
    }
}

#[cfg(test)]
#[path = "framing_tests.rs"]
mod tests;
