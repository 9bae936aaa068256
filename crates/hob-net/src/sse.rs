//! A parser for event streams (server-sent events) as the HTML standard defines them. Pure.
//!
//! Invariants: the events do not depend on how the bytes were split; an event is returned only
//! after its blank line, so a stream that breaks off never gives half an event; no line and no
//! event exceeds its bound.

/// The longest line; a longer one ends the stream.
pub const LINE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// The largest data of one event, over all its lines.
pub const EVENT_BYTES_MAX: usize = 8 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// The `event:` field; empty if there was none.
    pub event: String,
    /// The `data:` lines, joined by line breaks.
    pub data: String,
}

/// The reason for which the bytes are not an event stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SseError {
    TooLarge { bytes_max: usize },
    Garbage { what: &'static str },
}

/// Parses bytes as they arrive.
#[derive(Clone, Debug)]
pub struct SseParser {
    line_bytes_max: usize,
    event_bytes_max: usize,
    /// The current line, without its end.
    line: Vec<u8>,
    /// The last line ended with CR. A following LF belongs to that end.
    after_cr: bool,
    /// No line has ended yet, so that a byte order mark is allowed.
    first_line: bool,
    event: String,
    data: String,
    has_data: bool,
}

impl Default for SseParser {
    fn default() -> Self {
        SseParser::with_bounds(LINE_BYTES_MAX, EVENT_BYTES_MAX)
    }
}

impl SseParser {
    pub fn with_bounds(line_bytes_max: usize, event_bytes_max: usize) -> SseParser {
        SseParser {
            line_bytes_max,
            event_bytes_max,
            line: Vec::new(),
            after_cr: false,
            first_line: true,
            event: String::new(),
            data: String::new(),
            has_data: false,
        }
    }

    /// Parses the next bytes and appends the events they complete. After an error no more bytes may
    /// be pushed; the events before it are valid.
    pub fn push(
        &mut self,
        bytes: &[u8],
        events: &mut impl Extend<SseEvent>,
    ) -> Result<(), SseError> {
        let mut rest = bytes;
        while let Some(first) = rest.first() {
            if std::mem::take(&mut self.after_cr) && *first == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let piece = &rest[..end.unwrap_or(rest.len())];
            // Checked before the copy, so that the buffer itself never exceeds the bound.
            if self.line.len() + piece.len() > self.line_bytes_max {
                return Err(SseError::TooLarge {
                    bytes_max: self.line_bytes_max,
                });
            }
            self.line.extend_from_slice(piece);
            let Some(end) = end else { break };
            self.after_cr = rest[end] == b'\r';
            rest = &rest[end + 1..];
            if let Some(event) = self.end_line()? {
                events.extend([event]);
            }
        }
        Ok(())
    }

    fn end_line(&mut self) -> Result<Option<SseEvent>, SseError> {
        let line = std::mem::take(&mut self.line);
        let mut bytes = line.as_slice();
        if std::mem::take(&mut self.first_line) {
            bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
        }
        let taken = self.take_line(bytes);
        // The buffer is reused for the next line, unless one long line made it large.
        if line.capacity() <= 64 * 1024 {
            self.line = line;
            self.line.clear();
        }
        taken
    }

    fn take_line(&mut self, bytes: &[u8]) -> Result<Option<SseEvent>, SseError> {
        let Ok(line) = std::str::from_utf8(bytes) else {
            return Err(SseError::Garbage {
                what: "bytes that are not text",
            });
        };
        if line.is_empty() {
            return Ok(self.end_event());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        // The standard removes exactly one space; a second one belongs to the value.
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                // With `>=` the line break that joins two lines is counted, too.
                if self.data.len() + value.len() >= self.event_bytes_max {
                    return Err(SseError::TooLarge {
                        bytes_max: self.event_bytes_max,
                    });
                }
                if self.has_data {
                    self.data.push('\n');
                }
                self.has_data = true;
                self.data.push_str(value);
            }
            "event" => value.clone_into(&mut self.event),
            // A comment, a field of the standard that hob does not need, or an unknown field.
            _ if field.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {}
            _ => {
                return Err(SseError::Garbage {
                    what: "a line that is not a field",
                });
            }
        }
        Ok(None)
    }

    fn end_event(&mut self) -> Option<SseEvent> {
        // The name of an event without data is dropped with it, as the standard says.
        let event = std::mem::take(&mut self.event);
        if !std::mem::take(&mut self.has_data) {
            return None;
        }
        let data = std::mem::take(&mut self.data);
        Some(SseEvent { event, data })
    }
}

#[cfg(test)]
#[path = "sse_tests.rs"]
mod tests;
