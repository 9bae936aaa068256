//! The marks of the shell integration, and the bytes between them. Pure.
//!
//! A mark is `ESC ] 7717 ; KEY ; KIND [; fields]` followed by BEL or `ESC \`. Only the terminal's
//! shell knows KEY. Anything without the key, the form and a known kind is ordinary output.
//!
//! Invariant: bytes and marks come out in the order they came in, and nothing is dropped.

/// The most bytes of a mark after its key; a longer one is ordinary output.
const MARK_BYTES_MAX: usize = 8 * 1_024;
/// The most bytes of an id: a command id, or a process id and a counter.
const ID_BYTES_MAX: usize = 64;

const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;

/// Returns true if a mark may end with this byte. A caller that feeds the scanner up to such bytes
/// knows where each mark ended.
pub fn may_end_mark(byte: u8) -> bool {
    matches!(byte, BELL | b'\\')
}

/// The bytes every mark begins with, before its key.
const INTRODUCER: &[u8] = b"\x1b]7717;";

/// The number of bytes of a mark up to the end of its key.
pub const fn mark_head_bytes(key_digits: usize) -> usize {
    INTRODUCER.len() + key_digits
}

/// Overwrites the keys in marks with zeros, so that nobody who replays the bytes forges a mark.
/// Every byte keeps its place.
pub fn mask_keys(bytes: &mut [u8], key_digits: usize) {
    let mut at = 0;
    while let Some(found) = bytes[at..].iter().position(|byte| *byte == ESCAPE) {
        at += found;
        if bytes[at..].starts_with(INTRODUCER) {
            let after = bytes[at..].iter_mut().skip(INTRODUCER.len());
            let key = after.take(key_digits);
            key.take_while(|byte| byte.is_ascii_hexdigit())
                .for_each(|digit| *digit = b'0');
        }
        at += 1;
    }
}

/// A piece of a terminal's bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum ScannedPiece<'a> {
    /// Ordinary output.
    Bytes(&'a [u8]),
    /// A message of the shell.
    Mark(ShellMark),
}

/// A message of the shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShellMark {
    /// A command begins to run.
    Began { id: String, at_us: Option<u64> },
    /// It ended. `typed` is its text, if a person typed it and the shell kept it.
    Ended {
        id: String,
        status: i32,
        at_us: Option<u64>,
        typed: Option<String>,
    },
    /// The shell waits at its prompt, in this folder.
    Prompt { folder: Option<String> },
    /// The shell took a command that was handed over.
    Taken { id: String },
    /// The shell asks for the rest of a line.
    Incomplete,
    /// The shell exited.
    Left { status: i32 },
}

/// Finds the marks of one terminal.
#[derive(Debug)]
pub struct MarkScanner {
    /// The bytes every mark begins with.
    prefix: Vec<u8>,
    /// The matched bytes of the prefix.
    matched: usize,
    /// The bytes after a whole prefix, until the mark ends.
    body: Vec<u8>,
}

impl MarkScanner {
    pub fn new(key: &str) -> Self {
        Self {
            prefix: [INTRODUCER, key.as_bytes(), b";"].concat(),
            matched: 0,
            body: Vec::new(),
        }
    }

    /// Passes on the next bytes. A possible beginning of a mark waits for the rest.
    pub fn feed(&mut self, bytes: &[u8], each: &mut impl FnMut(ScannedPiece<'_>)) {
        let mut at = 0;
        while at < bytes.len() {
            at += if self.matched == 0 {
                self.pass_text(&bytes[at..], each)
            } else if self.matched < self.prefix.len() {
                self.match_prefix(bytes[at], each)
            } else {
                self.collect_body(bytes[at], each)
            };
        }
    }

    /// Passes on the bytes before the next escape.
    fn pass_text(&mut self, bytes: &[u8], each: &mut impl FnMut(ScannedPiece<'_>)) -> usize {
        let escape = bytes.iter().position(|byte| *byte == self.prefix[0]);
        let data = escape.unwrap_or(bytes.len());
        if data > 0 {
            each(ScannedPiece::Bytes(&bytes[..data]));
        }
        self.matched = usize::from(escape.is_some());
        data + self.matched
    }

    fn match_prefix(&mut self, byte: u8, each: &mut impl FnMut(ScannedPiece<'_>)) -> usize {
        if byte == self.prefix[self.matched] {
            self.matched += 1;
            return 1;
        }
        // Only the first byte of the prefix is an escape, so no other mark begins within it.
        each(ScannedPiece::Bytes(&self.prefix[..self.matched]));
        self.matched = 0;
        0
    }

    fn collect_body(&mut self, byte: u8, each: &mut impl FnMut(ScannedPiece<'_>)) -> usize {
        if self.body.last() == Some(&ESCAPE) {
            self.body.pop();
            if byte == b'\\' {
                self.end_mark(&[ESCAPE, byte], each);
                return 1;
            }
            self.emit_as_bytes(each);
            // The escape may begin another mark.
            self.matched = 1;
            return 0;
        }
        if byte == BELL {
            self.end_mark(&[byte], each);
            return 1;
        }
        // A mark contains no control characters, so this is ordinary output.
        let is_other = byte.is_ascii_control() && byte != ESCAPE;
        if is_other || self.body.len() == MARK_BYTES_MAX {
            self.emit_as_bytes(each);
            return 0;
        }
        self.body.push(byte);
        1
    }

    /// Handles the end of a collected mark.
    fn end_mark(&mut self, terminator: &[u8], each: &mut impl FnMut(ScannedPiece<'_>)) {
        if let Some(mark) = parse_mark(&self.body) {
            each(ScannedPiece::Mark(mark));
            self.body.clear();
            self.matched = 0;
        } else {
            self.emit_as_bytes(each);
            each(ScannedPiece::Bytes(terminator));
        }
    }

    fn emit_as_bytes(&mut self, each: &mut impl FnMut(ScannedPiece<'_>)) {
        each(ScannedPiece::Bytes(&self.prefix));
        if !self.body.is_empty() {
            each(ScannedPiece::Bytes(&self.body));
        }
        self.body.clear();
        self.matched = 0;
    }
}

fn parse_mark(body: &[u8]) -> Option<ShellMark> {
    let mut fields = std::str::from_utf8(body).ok()?.split(';');
    let mark = match fields.next()? {
        "C" => ShellMark::Began {
            id: parse_id(fields.next()?)?,
            at_us: fields.next().and_then(parse_micros),
        },
        "D" => ShellMark::Ended {
            id: parse_id(fields.next()?)?,
            status: fields.next()?.parse().ok()?,
            at_us: fields.next().and_then(parse_micros),
            typed: match fields.next() {
                Some(hex) => Some(String::from_utf8_lossy(&decode_hex(hex)?).into_owned()),
                None => None,
            },
        },
        "B" => ShellMark::Prompt {
            folder: match fields.next() {
                None | Some("") => None,
                // The name of a folder may hold any bytes; one that is no text counts as unknown.
                Some(hex) => String::from_utf8(decode_hex(hex)?).ok(),
            },
        },
        "T" => ShellMark::Taken {
            id: parse_id(fields.next()?)?,
        },
        "I" => ShellMark::Incomplete,
        "X" => ShellMark::Left {
            status: fields.next()?.parse().ok()?,
        },
        _ => return None,
    };
    // A mark with extra fields does not come from hob's hooks.
    fields.next().is_none().then_some(mark)
}

fn parse_id(text: &str) -> Option<String> {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let fits = !text.is_empty() && text.len() <= ID_BYTES_MAX && text.bytes().all(known);
    fits.then(|| text.to_owned())
}

/// Parses seconds as shells print them: with a comma in some locales, with more digits in some
/// shells. `None` if the shell has no clock.
fn parse_micros(text: &str) -> Option<u64> {
    let (seconds, parts) = text.split_once(['.', ',']).unwrap_or((text, ""));
    let mut digits = parts.bytes();
    if !parts.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Exactly six digits: a shorter fraction is filled up, a longer one is cut.
    let parts = (0..6).fold(0, |sum, _| {
        sum * 10 + u64::from(digits.next().unwrap_or(b'0') - b'0')
    });
    seconds
        .parse::<u64>()
        .ok()?
        .checked_mul(1_000_000)?
        .checked_add(parts)
}

fn decode_hex(text: &str) -> Option<Vec<u8>> {
    data_encoding::HEXLOWER_PERMISSIVE
        .decode(text.as_bytes())
        .ok()
}

#[cfg(test)]
#[path = "shell_marks_tests.rs"]
mod tests;
