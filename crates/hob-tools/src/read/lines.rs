//! Some lines out of the middle of a file, without holding the file.
//!
//! Invariants: memory is bounded by a page whatever the file holds; a long line is cut and says
//! so; text that is not UTF-8 comes out with marks in its place.

use std::io::{self, BufRead, BufReader, Read};

/// Bytes of one line that are shown.
const LINE_BYTES_MAX: usize = 2_000;
/// Bytes of one page.
const PAGE_BYTES_MAX: usize = 128 * 1024;
/// Bytes looked through to reach a line and its page.
const SCAN_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) text: String,
    /// Lines in `text`.
    pub(crate) lines: usize,
    /// Lines the file was seen to have, as far as it was read.
    pub(crate) seen: usize,
    /// Whether lines follow.
    pub(crate) more: bool,
}

pub(crate) struct Lines<R: Read> {
    source: BufReader<io::Take<R>>,
    /// How much of the line at hand was left out.
    cut_bytes: usize,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(source: R) -> Self {
        Lines {
            source: BufReader::new(source.take(SCAN_BYTES_MAX)),
            cut_bytes: 0,
        }
    }

    /// `count` lines from line `first` on, counted from 1.
    pub(crate) fn page(mut self, first: usize, count: usize) -> io::Result<Page> {
        let mut page = Page::default();
        let mut line = Vec::new();
        while self.next_line(&mut line)? {
            page.seen += 1;
            if page.seen < first {
                continue;
            }
            if page.lines == count || page.text.len() + line.len() > PAGE_BYTES_MAX {
                page.more = true;
                return Ok(page);
            }
            self.push(&mut page, &line);
        }
        if self.source.get_ref().limit() == 0 {
            page.more = true;
            page.text
                .push_str("(the file goes on, but no more than 64 MiB of it are looked through)");
        }
        Ok(page)
    }

    fn push(&self, page: &mut Page, line: &[u8]) {
        page.lines += 1;
        page.text.push_str(&String::from_utf8_lossy(line));
        if self.cut_bytes > 0 {
            if page.text.ends_with('\n') {
                page.text.pop();
            }
            let left_out = format!("… ({} more bytes in this line)\n", self.cut_bytes);
            page.text.push_str(&left_out);
        }
    }

    /// Reads one line with its end; false at the end of the file.
    fn next_line(&mut self, line: &mut Vec<u8>) -> io::Result<bool> {
        line.clear();
        self.cut_bytes = 0;
        let mut any = false;
        loop {
            let ready = self.source.fill_buf()?;
            if ready.is_empty() {
                return Ok(any);
            }
            any = true;
            let end = ready.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(ready.len(), |at| at + 1);
            let room = LINE_BYTES_MAX.saturating_sub(line.len()).min(taken);
            line.extend_from_slice(&ready[..room]);
            self.cut_bytes += taken - room;
            self.source.consume(taken);
            if end.is_some() {
                return Ok(true);
            }
        }
    }
}
