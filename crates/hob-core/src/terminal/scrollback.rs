//! Lines that leave a screen at its top: kept as text, or only their beginning and end.

use super::cell::GridRow;
use std::collections::VecDeque;

/// The most bytes of one screen's scrollback, whatever its lines contain.
pub(super) const SCROLLBACK_BYTES_MAX: usize = 16 << 20;

/// A line of the scrollback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ScrollbackLine {
    /// Includes blanks written at its end.
    pub(super) text: Box<str>,
    /// True if the text continues in the next line.
    pub(super) wrapped: bool,
}

impl ScrollbackLine {
    pub(super) fn from_row(row: &GridRow) -> ScrollbackLine {
        ScrollbackLine {
            text: row.text().into_boxed_str(),
            wrapped: row.wrapped,
        }
    }

    /// Returns its visible text.
    pub(super) fn visible_text(&self) -> &str {
        without_trailing_blanks(&self.text, self.wrapped)
    }
}

/// Returns a line without trailing blanks; the blanks of a wrapped line belong to its text.
pub(super) fn without_trailing_blanks(text: &str, wrapped: bool) -> &str {
    if wrapped {
        text
    } else {
        text.trim_end_matches(' ')
    }
}

/// The destination of lines that leave a screen at its top.
pub(super) trait ScrollbackSink {
    fn push(&mut self, row: &GridRow);

    fn clear(&mut self);

    /// Ends the newest line: it no longer continues in the first row.
    fn end_line(&mut self);

    /// Takes the newest line back when the screen grows, if it scrolled off.
    fn take_newest(&mut self) -> Option<ScrollbackLine> {
        None
    }

    /// Takes all lines, to be pushed again at another width, and the number of returnable ones.
    fn take_all(&mut self) -> (VecDeque<ScrollbackLine>, usize) {
        (VecDeque::new(), 0)
    }

    /// Sets how many lines may return to the screen.
    fn set_returnable(&mut self, _lines: usize) {}
}

/// The newest lines.
#[derive(Debug)]
pub(super) struct Scrollback {
    lines: VecDeque<ScrollbackLine>,
    lines_max: usize,
    bytes: usize,
    /// The number of lines that return if the screen grows: not those from before a clear.
    returnable: usize,
}

impl Scrollback {
    pub(super) fn new(lines_max: usize) -> Self {
        Self {
            lines: VecDeque::new(),
            lines_max,
            bytes: 0,
            returnable: 0,
        }
    }

    pub(super) fn lines(&self) -> &VecDeque<ScrollbackLine> {
        &self.lines
    }

    fn line_bytes(line: &ScrollbackLine) -> usize {
        line.text.len() + size_of::<ScrollbackLine>()
    }
}

impl ScrollbackSink for Scrollback {
    fn push(&mut self, row: &GridRow) {
        let line = ScrollbackLine::from_row(row);
        self.bytes += Self::line_bytes(&line);
        self.lines.push_back(line);
        self.returnable += 1;
        // Two bounds: one for many short lines, one for a few huge ones.
        while self.lines.len() > self.lines_max || self.bytes > SCROLLBACK_BYTES_MAX {
            let Some(oldest) = self.lines.pop_front() else {
                break;
            };
            self.bytes -= Self::line_bytes(&oldest);
        }
        // Lines dropped by the bounds cannot return.
        self.returnable = self.returnable.min(self.lines.len());
    }

    fn clear(&mut self) {
        self.lines.clear();
        self.bytes = 0;
        self.returnable = 0;
    }

    fn end_line(&mut self) {
        if let Some(line) = self.lines.back_mut() {
            line.wrapped = false;
        }
    }

    fn take_newest(&mut self) -> Option<ScrollbackLine> {
        self.returnable = self.returnable.checked_sub(1)?;
        let line = self.lines.pop_back()?;
        self.bytes -= Self::line_bytes(&line);
        Some(line)
    }

    fn take_all(&mut self) -> (VecDeque<ScrollbackLine>, usize) {
        self.bytes = 0;
        (
            std::mem::take(&mut self.lines),
            std::mem::take(&mut self.returnable),
        )
    }

    fn set_returnable(&mut self, lines: usize) {
        self.returnable = lines.min(self.lines.len());
    }
}

/// The beginning and end of all lines; wrapped lines are joined again.
#[derive(Debug)]
pub(super) struct HeadAndTail {
    /// The capacity of the head, and the size the tail is cut to.
    half_bytes_max: usize,
    head: String,
    tail: String,
    left_out_bytes: u64,
    /// True if the last line continues.
    is_line_open: bool,
}

impl HeadAndTail {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self {
            half_bytes_max: bytes_max / 2,
            head: String::new(),
            tail: String::new(),
            left_out_bytes: 0,
            is_line_open: false,
        }
    }

    /// Returns everything including the present screen, and true if the middle is missing.
    pub(super) fn text(&self, screen: &str) -> (String, bool) {
        let behind = self.tail.len() + screen.len();
        if self.left_out_bytes == 0 && self.head.len() + behind <= self.half_bytes_max * 2 {
            return ([&self.head, &self.tail, screen].concat(), false);
        }
        let mut end = [&self.tail, screen].concat();
        let mut head = self.head.clone();
        // The head has room left, so the beginning of the screen's text fills it.
        if self.tail.is_empty() && head.len() < self.half_bytes_max {
            let taken = end.floor_char_boundary((self.half_bytes_max - head.len()).min(end.len()));
            head.push_str(&end[..taken]);
            end.drain(..taken);
        }
        let cut = end.ceil_char_boundary(end.len().saturating_sub(self.half_bytes_max));
        let left_out = self.left_out_bytes + cut as u64;
        (
            format!("{head}\n[… {left_out} bytes left out …]\n{}", &end[cut..]),
            true,
        )
    }

    fn add(&mut self, mut text: &str) {
        if self.tail.is_empty() && self.head.len() < self.half_bytes_max {
            let taken =
                text.floor_char_boundary((self.half_bytes_max - self.head.len()).min(text.len()));
            self.head.push_str(&text[..taken]);
            text = &text[taken..];
        }
        self.tail.push_str(text);
        // Cutting only at twice the size moves each byte once.
        if self.tail.len() > self.half_bytes_max * 2 {
            let cut = self
                .tail
                .ceil_char_boundary(self.tail.len() - self.half_bytes_max);
            self.tail.drain(..cut);
            self.left_out_bytes += cut as u64;
        }
    }
}

impl ScrollbackSink for HeadAndTail {
    fn push(&mut self, row: &GridRow) {
        let text = row.text();
        self.add(without_trailing_blanks(&text, row.wrapped));
        self.is_line_open = true;
        if !row.wrapped {
            self.end_line();
        }
    }

    fn clear(&mut self) {
        self.head.clear();
        self.tail.clear();
        self.left_out_bytes = 0;
        self.is_line_open = false;
    }

    fn end_line(&mut self) {
        if std::mem::take(&mut self.is_line_open) {
            self.add("\n");
        }
    }
}
