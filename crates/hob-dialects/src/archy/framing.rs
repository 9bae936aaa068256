//! Finds the end of a JSON object in a byte stream. Archy's clients send no delimiter after a
//! request.
//!
//! Invariant: each byte is examined once, however small the pieces in which they arrive.

/// Finds the end of one object by counting brackets outside of strings. The parser checks the JSON.
#[derive(Debug, Default)]
pub(crate) struct JsonFramer {
    /// Number of examined bytes.
    examined: usize,
    depth: u32,
    in_text: bool,
    escaped: bool,
}

impl JsonFramer {
    /// Examines the new bytes. Returns the length of the object once it is complete.
    pub(crate) fn find_end(&mut self, bytes: &[u8]) -> Option<usize> {
        let from = self.examined.min(bytes.len());
        for (offset, byte) in bytes[from..].iter().enumerate() {
            if self.ends_at(*byte) {
                self.examined = from + offset + 1;
                return Some(self.examined);
            }
        }
        self.examined = bytes.len();
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
                // A bracket that was never opened also ends the document, which the parser then
                // refuses.
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
