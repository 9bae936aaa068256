//! Writes words and markup as Markdown, in order. Pure.
//!
//! Markup is held back until the first word it applies to, so that it never encloses nothing. Line
//! breaks are held back too, so that there is at most one empty line. The text of a page is not
//! escaped: a reader should see it as it is.
//!
//! Invariant: the text exceeds its bound by at most one piece.

/// Levels of lists and quotes; deeper ones look like the last.
const LEVELS_MAX: usize = 12;
/// Marks that wait at once.
const MARKS_MAX: usize = 64;

#[derive(Debug)]
pub(super) struct MarkdownWriter {
    text: String,
    bytes_max: usize,
    /// Plain text: no marks and no links.
    is_plain: bool,
    /// Line breaks before the next word: one, or two for an empty line.
    breaks: usize,
    space: bool,
    /// Marks that no word has followed yet.
    waiting: Vec<String>,
    /// The bullet or number of a list item, written before the next word.
    sign: Option<String>,
    /// The next numbers of the open lists; `None` for bullets.
    lists: Vec<Option<u32>>,
    quotes: usize,
    /// The number of open quotes at the last word.
    quoted: usize,
    /// True in a table cell, which cannot hold line breaks.
    pub(super) in_cell: bool,
}

impl MarkdownWriter {
    pub(super) fn new(is_plain: bool, bytes_max: usize) -> MarkdownWriter {
        MarkdownWriter {
            text: String::new(),
            bytes_max,
            is_plain,
            breaks: 0,
            space: false,
            waiting: Vec::new(),
            sign: None,
            lists: Vec::new(),
            quotes: 0,
            quoted: 0,
            in_cell: false,
        }
    }

    pub(super) fn is_plain(&self) -> bool {
        self.is_plain
    }

    pub(super) fn is_full(&self) -> bool {
        self.text.len() > self.bytes_max
    }

    pub(super) fn finish(self) -> String {
        self.text
    }

    /// Writes words of a paragraph; white space collapses to one space.
    pub(super) fn words(&mut self, text: &str) {
        for (index, word) in text.split(char::is_whitespace).enumerate() {
            self.space |= index > 0;
            if !word.is_empty() && !self.is_full() {
                self.begin();
                self.text.push_str(word);
            }
        }
    }

    /// Writes preformatted text as a fenced block.
    pub(super) fn block(&mut self, text: &str) {
        // The fence is longer than any run of backticks in the text, so the text cannot close it.
        let longest = text.split(|letter| letter != '`').map(str::len).max();
        let fence = "`".repeat(longest.unwrap_or(0).max(2) + 1);
        let fence = if self.is_plain { "" } else { &fence };
        self.line_break(2);
        self.begin();
        self.text.push_str(fence);
        for line in text.trim_matches('\n').split('\n') {
            if self.is_full() {
                break;
            }
            self.text.push('\n');
            self.indent();
            self.text.push_str(line.trim_end_matches('\r'));
        }
        self.text.push('\n');
        self.indent();
        self.text.push_str(fence);
        self.line_break(2);
    }

    /// Opens a mark before the next word.
    pub(super) fn open(&mut self, mark: &str) {
        if !self.is_plain && self.waiting.len() < MARKS_MAX {
            self.waiting.push(mark.to_owned());
        }
    }

    /// Closes a mark after the last word; an empty mark is dropped.
    pub(super) fn close(&mut self, opened: &str, mark: &str) {
        if self.is_plain {
            return;
        }
        match self.waiting.iter().rposition(|waits| waits == opened) {
            Some(at) => drop(self.waiting.remove(at)),
            None => self.text.push_str(mark),
        }
    }

    /// Writes text as it is.
    pub(super) fn put(&mut self, text: &str) {
        self.begin();
        self.text.push_str(text);
    }

    /// Writes the border of a cell right after the last word.
    pub(super) fn edge(&mut self, text: &str) {
        self.space = false;
        self.begin();
        self.text.push_str(text);
    }

    /// Requires at least this many line breaks before the next word.
    pub(super) fn line_break(&mut self, breaks: usize) {
        if self.in_cell {
            self.space = true;
            return;
        }
        self.breaks = self.breaks.max(breaks);
        self.space = false;
    }

    pub(super) fn open_list(&mut self, number: Option<u32>) {
        self.line_break(if self.lists.is_empty() { 2 } else { 1 });
        if self.lists.len() < LEVELS_MAX {
            self.lists.push(number);
        }
    }

    pub(super) fn close_list(&mut self) {
        self.lists.pop();
        self.sign = None;
        self.line_break(if self.lists.is_empty() { 2 } else { 1 });
    }

    pub(super) fn item(&mut self) {
        self.line_break(1);
        self.sign = Some(match self.lists.last_mut() {
            Some(Some(number)) => {
                let sign = format!("{number}. ");
                *number = number.saturating_add(1);
                sign
            }
            _ => "- ".to_owned(),
        });
    }

    pub(super) fn quote(&mut self, opens: bool) {
        self.line_break(2);
        self.quotes = if opens {
            (self.quotes + 1).min(LEVELS_MAX)
        } else {
            self.quotes.saturating_sub(1)
        };
    }

    /// Writes the pending breaks, space and marks.
    fn begin(&mut self) {
        if self.text.is_empty() {
            self.breaks = 0;
            self.space = false;
            self.sign_or_indent();
        } else if self.breaks > 0 {
            for index in (0..self.breaks).rev() {
                self.text.push('\n');
                if index > 0 && !self.is_plain {
                    let quotes = self.quotes.min(self.quoted);
                    self.text.push_str(&">".repeat(quotes));
                }
            }
            self.breaks = 0;
            self.sign_or_indent();
        } else if self.space && !self.text.ends_with([' ', '\t', '\n']) {
            self.text.push(' ');
        }
        self.space = false;
        self.quoted = self.quotes;
        for mark in self.waiting.drain(..) {
            self.text.push_str(&mark);
        }
    }

    fn sign_or_indent(&mut self) {
        let Some(sign) = self.sign.take() else {
            self.indent();
            return;
        };
        self.quote_signs();
        let levels = self.lists.len().saturating_sub(1);
        self.text.push_str(&"  ".repeat(levels));
        self.text.push_str(&sign);
    }

    fn indent(&mut self) {
        self.quote_signs();
        self.text.push_str(&"  ".repeat(self.lists.len()));
    }

    fn quote_signs(&mut self) {
        if !self.is_plain {
            self.text.push_str(&"> ".repeat(self.quotes));
        }
    }
}
