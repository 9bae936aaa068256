//! Frames as lines, for transports without messages of their own.
//!
//! Invariants: a line longer than its bound is refused as soon as it is, and never stored; a
//! frame written is one line, whatever its payload's author put between the tokens.

use bytes::{BufMut, Bytes, BytesMut};
use hob_wire::frame;
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt};

const READ_BYTES: usize = 8 * 1024;
const READ_BYTES_MAX: usize = 256 * 1024;
/// A buffer that grew beyond this for once is given back.
const KEPT_BYTES_MAX: usize = 256 * 1024;

/// Reads lines.
#[derive(Debug)]
pub(crate) struct LineReader<R> {
    source: R,
    buffer: BytesMut,
    /// How much of the buffer holds no line break.
    searched: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// Without its line break; never empty.
    Text(Bytes),
    TooLong,
    /// The peer closed; an unfinished line is dropped.
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

    /// The next line of at most `bytes_max` bytes. May be dropped and asked again.
    pub(crate) async fn next(&mut self, bytes_max: usize) -> io::Result<Line> {
        loop {
            while let Some(line) = self.take_line() {
                if line.len() > bytes_max {
                    return Ok(Line::TooLong);
                }
                if !line.is_empty() {
                    return Ok(Line::Text(line));
                }
            }
            if self.buffer.len() > bytes_max {
                return Ok(Line::TooLong);
            }
            self.buffer.reserve(READ_BYTES);
            // A grown buffer has room for as much again, and a writer who keeps up would fill it in
            // one read: the bound is looked at in between.
            let mut room = (&mut self.buffer).limit(READ_BYTES_MAX);
            if self.source.read_buf(&mut room).await? == 0 {
                return Ok(Line::End);
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
        if self.buffer.is_empty() && line.len() > KEPT_BYTES_MAX {
            // A long line's room is not kept for the short ones after it.
            self.buffer = BytesMut::new();
        }
        line.truncate(line.len() - 1);
        if line.last() == Some(&b'\r') {
            line.truncate(line.len() - 1);
        }
        Some(line.freeze())
    }
}

/// Gathers frames into one write.
#[derive(Debug, Default)]
pub(crate) struct LineBatch {
    text: Vec<u8>,
}

impl LineBatch {
    pub(crate) fn add(&mut self, frame: &[u8]) {
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
        self.text.shrink_to(KEPT_BYTES_MAX);
    }
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
