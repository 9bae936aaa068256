//! What becomes of the lines that leave a screen at its top: kept as text, or only their beginning
//! and end.

use super::cell::Row;
use std::collections::VecDeque;

/// What the past of one screen holds at the most, whatever its lines hold.
pub(super) const PAST_BYTES_MAX: usize = 16 << 20;

/// A line of the past.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// With the blanks that were written at its end.
    pub(super) text: Box<str>,
    /// Whether the text goes on in the next line.
    pub(super) wrapped: bool,
}

impl Line {
    pub(super) fn of(row: &Row) -> Line {
        Line {
            text: row.text().into_boxed_str(),
            wrapped: row.wrapped,
        }
    }

    /// What is shown of it.
    pub(super) fn shown(&self) -> &str {
        shown(&self.text, self.wrapped)
    }
}

/// A line without the blanks at its end; those of a line that goes on belong to it.
pub(super) fn shown(text: &str, wrapped: bool) -> &str {
    if wrapped {
        text
    } else {
        text.trim_end_matches(' ')
    }
}

/// Where lines go that leave a screen at its top.
pub(super) trait Past {
    fn push(&mut self, row: &Row);

    fn clear(&mut self);

    /// The newest line does not go on in the first row any more.
    fn end_line(&mut self);

    /// Takes the newest line back, if it scrolled off: the screen grows.
    fn pull(&mut self) -> Option<Line> {
        None
    }

    /// Takes all lines, to be pushed again at another width, and how many of them scrolled off.
    fn take(&mut self) -> (VecDeque<Line>, usize) {
        (VecDeque::new(), 0)
    }

    /// So many lines at the most may be taken back.
    fn scrolled(&mut self, _lines: usize) {}
}

/// The newest lines.
#[derive(Debug)]
pub(super) struct History {
    lines: VecDeque<Line>,
    lines_max: usize,
    bytes: usize,
    /// How many of them would come back if the screen grew: not those from before a clear.
    scrolled: usize,
}

impl History {
    pub(super) fn new(lines_max: usize) -> Self {
        Self {
            lines: VecDeque::new(),
            lines_max,
            bytes: 0,
            scrolled: 0,
        }
    }

    pub(super) fn lines(&self) -> &VecDeque<Line> {
        &self.lines
    }

    fn cost(line: &Line) -> usize {
        line.text.len() + size_of::<Line>()
    }
}

impl Past for History {
    fn push(&mut self, row: &Row) {
        let line = Line::of(row);
        self.bytes += Self::cost(&line);
        self.lines.push_back(line);
        self.scrolled += 1;
        while self.lines.len() > self.lines_max || self.bytes > PAST_BYTES_MAX {
            let Some(oldest) = self.lines.pop_front() else {
                break;
            };
            self.bytes -= Self::cost(&oldest);
        }
        self.scrolled = self.scrolled.min(self.lines.len());
    }

    fn clear(&mut self) {
        self.lines.clear();
        self.bytes = 0;
        self.scrolled = 0;
    }

    fn end_line(&mut self) {
        if let Some(line) = self.lines.back_mut() {
            line.wrapped = false;
        }
    }

    fn pull(&mut self) -> Option<Line> {
        self.scrolled = self.scrolled.checked_sub(1)?;
        let line = self.lines.pop_back()?;
        self.bytes -= Self::cost(&line);
        Some(line)
    }

    fn take(&mut self) -> (VecDeque<Line>, usize) {
        self.bytes = 0;
        (
            std::mem::take(&mut self.lines),
            std::mem::take(&mut self.scrolled),
        )
    }

    fn scrolled(&mut self, lines: usize) {
        self.scrolled = lines.min(self.lines.len());
    }
}

/// The beginning and the end of all lines; wrapped ones are one again.
#[derive(Debug)]
pub(super) struct Ends {
    /// What the head holds at the most, and what the tail is cut to.
    half: usize,
    head: String,
    tail: String,
    left_out: u64,
    /// Whether the last line goes on.
    open: bool,
}

impl Ends {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self {
            half: bytes_max / 2,
            head: String::new(),
            tail: String::new(),
            left_out: 0,
            open: false,
        }
    }

    /// All of it with what the screen still shows, and whether the middle is missing.
    pub(super) fn text(&self, screen: &str) -> (String, bool) {
        let behind = self.tail.len() + screen.len();
        if self.left_out == 0 && self.head.len() + behind <= self.half * 2 {
            return ([&self.head, &self.tail, screen].concat(), false);
        }
        let mut end = [&self.tail, screen].concat();
        let mut head = self.head.clone();
        if self.tail.is_empty() && head.len() < self.half {
            let taken = end.floor_char_boundary((self.half - head.len()).min(end.len()));
            head.push_str(&end[..taken]);
            end.drain(..taken);
        }
        let cut = end.ceil_char_boundary(end.len().saturating_sub(self.half));
        let left_out = self.left_out + cut as u64;
        (
            format!("{head}\n[… {left_out} bytes left out …]\n{}", &end[cut..]),
            true,
        )
    }

    fn add(&mut self, mut text: &str) {
        if self.tail.is_empty() && self.head.len() < self.half {
            let taken = text.floor_char_boundary((self.half - self.head.len()).min(text.len()));
            self.head.push_str(&text[..taken]);
            text = &text[taken..];
        }
        self.tail.push_str(text);
        // Cut at twice the size, so that each byte is moved once.
        if self.tail.len() > self.half * 2 {
            let cut = self.tail.ceil_char_boundary(self.tail.len() - self.half);
            self.tail.drain(..cut);
            self.left_out += cut as u64;
        }
    }
}

impl Past for Ends {
    fn push(&mut self, row: &Row) {
        let text = row.text();
        self.add(shown(&text, row.wrapped));
        self.open = true;
        if !row.wrapped {
            self.end_line();
        }
    }

    fn clear(&mut self) {
        self.head.clear();
        self.tail.clear();
        self.left_out = 0;
        self.open = false;
    }

    fn end_line(&mut self) {
        if std::mem::take(&mut self.open) {
            self.add("\n");
        }
    }
}
