//! Frames as lines, for transports without message boundaries.
//!
//! Invariants: a line over its limit is refused as soon as the limit is passed, and never stored
//! whole. A written frame is always one line, even if its payload has line breaks between tokens.

use bytes::{BufMut, Bytes, BytesMut};
use hob_wire::frame;
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt};

const READ_BYTES: usize = 8 * 1024;
const READ_BYTES_MAX: usize = 256 * 1024;
/// A buffer that grew beyond this is released.
const RETAINED_BYTES_MAX: usize = 256 * 1024;

/// Splits a byte stream into lines.
#[derive(Debug)]
pub(crate) struct LineReader<R> {
    source: R,
    buffer: BytesMut,
    /// The length of the buffer's beginning that has no line break.
    searched: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReadLine {
    /// A line without its line break; never empty.
    Text(Bytes),
    TooLong,
    /// The peer closed. An unfinished line is dropped.
    End,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(crate) fn new(source: R) -> Self {
        LineReader {
            source,
            buffer: BytesMut::new(),
            searched: 0,
        }
    }

    /// Returns the next line of at most `bytes_max` bytes. Cancel-safe.
    pub(crate) async fn next(&mut self, bytes_max: usize) -> io::Result<ReadLine> {
        loop {
            while let Some(line) = self.take_line() {
                // A whole line may arrive in one read that crosses the limit.
                if line.len() > bytes_max {
                    return Ok(ReadLine::TooLong);
                }
                if !line.is_empty() {
                    return Ok(ReadLine::Text(line));
                }
            }
            if self.buffer.len() > bytes_max {
                return Ok(ReadLine::TooLong);
            }
            self.buffer.reserve(READ_BYTES);
            // A grown buffer may have much spare capacity, and a fast peer would fill it in one
            // read. Smaller reads let the limit above be checked in between.
            let mut room = (&mut self.buffer).limit(READ_BYTES_MAX);
            if self.source.read_buf(&mut room).await? == 0 {
                return Ok(ReadLine::End);
            }
        }
    }

    fn take_line(&mut self) -> Option<Bytes> {
        let found = self.buffer[self.searched..]
            .iter()
            .position(|byte| *byte == b'\n');
        let Some(offset) = found else {
            self.searched = self.buffer.len();
            return None;
        };
        let mut line = self.buffer.split_to(self.searched + offset + 1);
        self.searched = 0;
        if self.buffer.is_empty() && line.len() > RETAINED_BYTES_MAX {
            // The large allocation of a long line is not kept for the short lines after it.
            self.buffer = BytesMut::new();
        }
        line.truncate(line.len() - 1);
        // Some clients end lines with CRLF.
        if line.last() == Some(&b'\r') {
            line.truncate(line.len() - 1);
        }
        Some(line.freeze())
    }
}

/// A batch of frames for one write.
#[derive(Debug, Default)]
pub(crate) struct LineBatch {
    text: Vec<u8>,
}

impl LineBatch {
    pub(crate) fn add(&mut self, frame: &[u8]) {
        // JSON strings cannot contain raw line breaks, so flattening changes only whitespace.
        let start = self.text.len();
        self.text.extend_from_slice(frame);
        frame::flatten_line_breaks(&mut self.text[start..]);
        self.text.push(b'\n');
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.text
    }

    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.text.shrink_to(RETAINED_BYTES_MAX);
    }
}

#[cfg(test)]
#[path = "line_codec_tests.rs"]
mod tests;
