//! Collects matches as lines of `path:number:text`, within bounds.

use crate::list::escape_controls;
use crate::walk::StopFlag;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};
use hob_kit::mask::SecretMask;
use std::io;

/// Bytes shown of one line.
const LINE_BYTES_MAX: usize = 500;
/// Bytes of the whole answer.
const TEXT_BYTES_MAX: usize = 128 * 1024;

pub(super) struct GrepMatches<'s> {
    pub(super) text: String,
    pub(super) matches: usize,
    pub(super) files: usize,
    matches_max: usize,
    stop: &'s StopFlag,
    mask: &'s SecretMask,
    path: String,
    /// The text length and the match count before the current file.
    begun: (usize, usize),
}

impl<'s> GrepMatches<'s> {
    pub(super) fn new(matches_max: usize, stop: &'s StopFlag, mask: &'s SecretMask) -> Self {
        GrepMatches {
            text: String::new(),
            matches: 0,
            files: 0,
            matches_max,
            stop,
            mask,
            path: String::new(),
            begun: (0, 0),
        }
    }

    pub(super) fn begin(&mut self, path: &str) {
        self.path = escape_controls(path);
        self.begun = (self.text.len(), self.matches);
    }

    pub(super) fn is_full(&self) -> bool {
        self.matches >= self.matches_max || self.text.len() >= TEXT_BYTES_MAX
    }

    fn push(&mut self, mark: char, number: Option<u64>, bytes: &[u8]) {
        let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = String::from_utf8_lossy(line);
        // Masked before the cut, so that no half of a secret is left.
        let line = self.mask.apply_exact(&line);
        let shown = &line[..line.floor_char_boundary(LINE_BYTES_MAX)];
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(&self.path);
        let place = format!("{mark}{}{mark}", number.unwrap_or(0));
        self.text.push_str(&place);
        self.text.push_str(shown);
        if line.len() > shown.len() {
            self.text.push('…');
        }
    }
}

impl Sink for GrepMatches<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.push(':', found.line_number(), found.bytes());
        self.matches += 1;
        Ok(!self.is_full() && !self.stop.is_set())
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> io::Result<bool> {
        self.push('-', found.line_number(), found.bytes());
        Ok(self.text.len() < TEXT_BYTES_MAX)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> io::Result<()> {
        let (text, matches) = self.begun;
        if end.binary_byte_offset().is_some() {
            // The file is binary, so the matches before the NUL byte are dropped.
            self.text.truncate(text);
            self.matches = matches;
        }
        self.files += usize::from(self.matches > matches);
        Ok(())
    }
}
