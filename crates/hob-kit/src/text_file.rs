//! Decodes text files that users write. The error for a file that is not UTF-8 names the line
//! and column of the first bad byte and says what to do.

use std::fmt;

/// The first bytes of a file that an editor saved as UTF-16.
const UTF16_MARKS: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];

/// The error for a file that is not UTF-8.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotText {
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in bytes of the line.
    pub column: usize,
    /// The byte that cannot be read.
    pub byte: u8,
    is_utf16: bool,
}

impl fmt::Display for NotText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_utf16 {
            f.write_str("the file is in UTF-16")?;
        } else {
            write!(
                f,
                "the file is not in UTF-8: it has the byte 0x{:02x} at column {}",
                self.byte, self.column
            )?;
        }
        f.write_str(". Save the file as UTF-8 and try again.")
    }
}

impl std::error::Error for NotText {}

/// Decodes UTF-8.
pub fn decode(bytes: Vec<u8>) -> Result<String, NotText> {
    String::from_utf8(bytes).map_err(|failure| {
        let at = failure.utf8_error().valid_up_to();
        let bytes = failure.as_bytes();
        let before = &bytes[..at];
        // Everything before the bad byte is valid, so line breaks can be counted in it.
        let line_start = before.iter().rposition(|byte| *byte == b'\n');
        NotText {
            line: before.split(|byte| *byte == b'\n').count(),
            column: at - line_start.map_or(0, |end| end + 1) + 1,
            byte: bytes.get(at).copied().unwrap_or_default(),
            is_utf16: UTF16_MARKS.iter().any(|mark| bytes.starts_with(mark)),
        }
    })
}

#[cfg(test)]
#[path = "text_file_tests.rs"]
mod tests;
