//! Reads a page of lines from a file without loading the file.
//!
//! Invariants: memory is bounded by one page; a long line is cut and says so; invalid UTF-8 becomes
//! replacement characters.

use std::io::{self, BufRead, BufReader, Read};

/// Bytes shown of one line.
const LINE_BYTES_MAX: usize = 2_000;
/// Bytes of one page.
const PAGE_BYTES_MAX: usize = 128 * 1024;
/// Bytes read to reach a line and its page.
const SCAN_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// A page of lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LinePage {
    pub(crate) text: String,
    /// Lines in `text`.
    pub(crate) lines: usize,
    /// Lines of the file read so far.
    pub(crate) seen: usize,
    /// True if more lines follow.
    pub(crate) more: bool,
}

pub(crate) struct PageReader<R: Read> {
    source: BufReader<io::Take<R>>,
    /// Bytes left out of the current line.
    cut_bytes: usize,
}

impl<R: Read> PageReader<R> {
    pub(crate) fn new(source: R) -> Self {
        PageReader {
            source: BufReader::new(source.take(SCAN_BYTES_MAX)),
            cut_bytes: 0,
        }
    }

    /// Reads `count` lines from line `first`, counted from 1.
    pub(crate) fn page(mut self, first: usize, count: usize) -> io::Result<LinePage> {
        let mut page = LinePage::default();
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

    fn push(&self, page: &mut LinePage, line: &[u8]) {
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

    /// Reads one line with its newline; returns false at the end of the file.
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
