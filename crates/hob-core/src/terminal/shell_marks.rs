//! The marks of the shell's integration, and the bytes between them. Pure.
//!
//! A mark is `ESC ] 7717 ; KEY ; KIND [; fields]` and BEL or `ESC \`, where KEY is known to the
//! terminal's shell alone. What does not have the key, the form and a known kind is what somebody
//! printed.
//!
//! Invariant: bytes and marks come out in the order they came in, and nothing is dropped.

/// What a mark may hold behind its key; what is longer is data.
const MARK_BYTES_MAX: usize = 8 * 1_024;
/// An id is short: a command's own, or a process and a count.
const ID_BYTES_MAX: usize = 64;

const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;

/// Whether a mark may end with this byte: whoever cuts what comes behind it, and feeds it piece by
/// piece, knows where each mark ended.
pub fn may_end_mark(byte: u8) -> bool {
    matches!(byte, BELL | b'\\')
}

/// A piece of a terminal's bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// What was printed.
    Bytes(&'a [u8]),
    /// What the shell says.
    Mark(Mark),
}

/// What the shell says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A command begins to run.
    Began { id: String, at_us: Option<u64> },
    /// It ended. `typed` is its text, where a person typed it and the shell kept it.
    Ended {
        id: String,
        status: i32,
        at_us: Option<u64>,
        typed: Option<String>,
    },
    /// The shell waits at its prompt, in this folder.
    Prompt { folder: Option<String> },
    /// The shell has taken a command that was handed over.
    Taken { id: String },
    /// The shell asks for the rest of a line.
    Incomplete,
    /// The shell is left.
    Left { status: i32 },
}

/// Finds the marks of one terminal.
#[derive(Debug)]
pub struct Scanner {
    /// What every mark begins with.
    prefix: Vec<u8>,
    /// How much of the prefix was seen.
    matched: usize,
    /// What follows a whole prefix, until the mark ends.
    body: Vec<u8>,
}

impl Scanner {
    pub fn new(key: &str) -> Self {
        Self {
            prefix: format!("\x1b]7717;{key};").into_bytes(),
            matched: 0,
            body: Vec::new(),
        }
    }

    /// Hands on the next bytes. What may be the beginning of a mark waits for the rest of it.
    pub fn feed(&mut self, bytes: &[u8], each: &mut impl FnMut(Piece<'_>)) {
        let mut at = 0;
        while at < bytes.len() {
            at += if self.matched == 0 {
                self.pass(&bytes[at..], each)
            } else if self.matched < self.prefix.len() {
                self.compare(bytes[at], each)
            } else {
                self.collect(bytes[at], each)
            };
        }
    }

    /// Hands on what comes before the next escape.
    fn pass(&mut self, bytes: &[u8], each: &mut impl FnMut(Piece<'_>)) -> usize {
        let escape = bytes.iter().position(|byte| *byte == self.prefix[0]);
        let data = escape.unwrap_or(bytes.len());
        if data > 0 {
            each(Piece::Bytes(&bytes[..data]));
        }
        self.matched = usize::from(escape.is_some());
        data + self.matched
    }

    fn compare(&mut self, byte: u8, each: &mut impl FnMut(Piece<'_>)) -> usize {
        if byte == self.prefix[self.matched] {
            self.matched += 1;
            return 1;
        }
        // Only the first byte of a prefix is an escape, so nothing within it begins another one.
        each(Piece::Bytes(&self.prefix[..self.matched]));
        self.matched = 0;
        0
    }

    fn collect(&mut self, byte: u8, each: &mut impl FnMut(Piece<'_>)) -> usize {
        if self.body.last() == Some(&ESCAPE) {
            self.body.pop();
            if byte == b'\\' {
                self.end(&[ESCAPE, byte], each);
                return 1;
            }
            self.give_up(each);
            // The escape may begin another mark.
            self.matched = 1;
            return 0;
        }
        if byte == BELL {
            self.end(&[byte], each);
            return 1;
        }
        let is_other = byte.is_ascii_control() && byte != ESCAPE;
        if is_other || self.body.len() == MARK_BYTES_MAX {
            self.give_up(each);
            return 0;
        }
        self.body.push(byte);
        1
    }

    /// What was collected has ended like a mark.
    fn end(&mut self, terminator: &[u8], each: &mut impl FnMut(Piece<'_>)) {
        if let Some(mark) = read(&self.body) {
            each(Piece::Mark(mark));
            self.body.clear();
            self.matched = 0;
        } else {
            self.give_up(each);
            each(Piece::Bytes(terminator));
        }
    }

    fn give_up(&mut self, each: &mut impl FnMut(Piece<'_>)) {
        each(Piece::Bytes(&self.prefix));
        if !self.body.is_empty() {
            each(Piece::Bytes(&self.body));
        }
        self.body.clear();
        self.matched = 0;
    }
}

fn read(body: &[u8]) -> Option<Mark> {
    let mut fields = std::str::from_utf8(body).ok()?.split(';');
    let mark = match fields.next()? {
        "C" => Mark::Began {
            id: id(fields.next()?)?,
            at_us: fields.next().and_then(micros),
        },
        "D" => Mark::Ended {
            id: id(fields.next()?)?,
            status: fields.next()?.parse().ok()?,
            at_us: fields.next().and_then(micros),
            typed: match fields.next() {
                Some(hex) => Some(String::from_utf8_lossy(&unhex(hex)?).into_owned()),
                None => None,
            },
        },
        "B" => Mark::Prompt {
            folder: match fields.next() {
                None | Some("") => None,
                Some(hex) => String::from_utf8(unhex(hex)?).ok(),
            },
        },
        "T" => Mark::Taken {
            id: id(fields.next()?)?,
        },
        "I" => Mark::Incomplete,
        "X" => Mark::Left {
            status: fields.next()?.parse().ok()?,
        },
        _ => return None,
    };
    fields.next().is_none().then_some(mark)
}

fn id(text: &str) -> Option<String> {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let fits = !text.is_empty() && text.len() <= ID_BYTES_MAX && text.bytes().all(known);
    fits.then(|| text.to_owned())
}

/// Seconds and parts of them, as shells print them: with a comma in some languages, with more
/// digits in some shells. `None` where the shell has no clock.
fn micros(text: &str) -> Option<u64> {
    let (seconds, parts) = text.split_once(['.', ',']).unwrap_or((text, ""));
    let mut digits = parts.bytes();
    if !parts.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let parts = (0..6).fold(0, |sum, _| {
        sum * 10 + u64::from(digits.next().unwrap_or(b'0') - b'0')
    });
    seconds
        .parse::<u64>()
        .ok()?
        .checked_mul(1_000_000)?
        .checked_add(parts)
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    data_encoding::HEXLOWER_PERMISSIVE
        .decode(text.as_bytes())
        .ok()
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
