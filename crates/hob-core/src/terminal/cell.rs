//! One cell of a screen, and a row of cells.

use unicode_width::UnicodeWidthChar;

/// The most bytes of a cell: a character and as many combining marks as fit.
const CELL_BYTES_MAX: usize = 22;
const JOINER: char = '\u{200d}';

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell {
    bytes: [u8; CELL_BYTES_MAX],
    len: u8,
    /// 0 for the right half of a wide character.
    width: u8,
}

impl Cell {
    pub(super) const BLANK: Cell = Cell::ascii(b' ');
    const HALF: Cell = Cell {
        bytes: [0; CELL_BYTES_MAX],
        len: 0,
        width: 0,
    };

    const fn ascii(byte: u8) -> Cell {
        let mut bytes = [0; CELL_BYTES_MAX];
        bytes[0] = byte;
        Cell {
            bytes,
            len: 1,
            width: 1,
        }
    }

    fn new(c: char, width: u8) -> Cell {
        let mut cell = Cell {
            bytes: [0; CELL_BYTES_MAX],
            len: 0,
            width,
        };
        cell.add_combining(c);
        cell
    }

    /// Adds a combining mark, if there is room.
    fn add_combining(&mut self, c: char) {
        let from = usize::from(self.len);
        // A cell has a fixed size: endless combining marks must not grow it.
        if let Some(room) = self.bytes.get_mut(from..from + c.len_utf8()) {
            c.encode_utf8(room);
            self.len += u8::try_from(c.len_utf8()).unwrap_or(0);
        }
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes[..usize::from(self.len)]).unwrap_or_default()
    }

    pub(super) fn width(&self) -> usize {
        usize::from(self.width)
    }

    fn is_half(&self) -> bool {
        self.width == 0
    }
}

impl std::fmt::Debug for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.text().fmt(f)
    }
}

/// Returns the columns a character takes: 0 for a combining mark, `None` for a character that is
/// not shown.
pub(super) fn char_width(c: char) -> Option<usize> {
    if c.is_ascii() {
        return (!c.is_ascii_control()).then_some(1);
    }
    c.width().map(|width| width.min(2))
}

/// A row. Everything after its last cell is blank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GridRow {
    cells: Vec<Cell>,
    /// True if the text continues in the next row.
    pub(super) wrapped: bool,
}

impl GridRow {
    /// Returns the cells of a line of text.
    pub(super) fn from_text(text: &str, wrapped: bool) -> GridRow {
        let mut row = GridRow {
            cells: Vec::with_capacity(text.len()),
            wrapped,
        };
        for c in text.chars() {
            let width = char_width(c).unwrap_or(0);
            if width == 0 || row.joins_previous(row.cells.len()) {
                row.add_combining(row.cells.len(), c);
            } else {
                row.put_char(row.cells.len(), c, width);
            }
        }
        row
    }

    pub(super) fn len(&self) -> usize {
        self.cells.len()
    }

    pub(super) fn cells(&self) -> &[Cell] {
        &self.cells
    }

    pub(super) fn push(&mut self, cell: Cell) {
        self.cells.push(cell);
        if cell.width == 2 {
            self.cells.push(Cell::HALF);
        }
    }

    /// Returns true if a character at this column joins the one before it.
    pub(super) fn joins_previous(&self, column: usize) -> bool {
        column > 0
            && self
                .start_before(column)
                .is_some_and(|start| self.cells[start].text().ends_with(JOINER))
    }

    /// Adds a combining mark to the character before this column.
    pub(super) fn add_combining(&mut self, column: usize, c: char) {
        if column == 0 {
            return;
        }
        self.pad(column);
        if let Some(start) = self.start_before(column) {
            self.cells[start].add_combining(c);
        }
    }

    fn start_before(&self, column: usize) -> Option<usize> {
        (0..column.min(self.cells.len()))
            .rev()
            .find(|at| !self.cells[*at].is_half())
    }

    /// Puts a character, overwriting what is there.
    pub(super) fn put_char(&mut self, column: usize, c: char, width: usize) {
        self.pad(column + width);
        self.split(column);
        self.split(column + width);
        let narrow = width < 2;
        self.cells[column] = if c.is_ascii() {
            Cell::ascii(c as u8)
        } else {
            Cell::new(c, if narrow { 1 } else { 2 })
        };
        if !narrow {
            self.cells[column + 1] = Cell::HALF;
        }
    }

    /// Blanks a range of columns. Blanked cells still count as written.
    pub(super) fn erase(&mut self, from: usize, to: usize) {
        let to = to.min(self.cells.len());
        if from < to {
            self.split(from);
            self.split(to);
            self.cells[from..to].fill(Cell::BLANK);
        }
    }

    /// Moves the cells right of a column to the right.
    pub(super) fn insert(&mut self, column: usize, count: usize, columns: usize) {
        self.pad(columns);
        self.split(column);
        self.split(columns - count);
        self.cells.truncate(columns - count);
        self.cells
            .splice(column..column, std::iter::repeat_n(Cell::BLANK, count));
    }

    /// Deletes cells; the cells to their right move left.
    pub(super) fn delete(&mut self, column: usize, count: usize, columns: usize) {
        let len = self.cells.len();
        self.pad(columns);
        self.split(column);
        self.split(column + count);
        self.cells.drain(column..column + count);
        // Not shorter than before, because blanks that were written still count.
        self.pad(len);
    }

    pub(super) fn truncate(&mut self, columns: usize) {
        self.split(columns);
        self.cells.truncate(columns);
    }

    /// Returns the text, including blanks written at its end.
    pub(super) fn text(&self) -> String {
        let mut text = String::with_capacity(self.cells.len());
        for cell in &self.cells {
            text.push_str(cell.text());
        }
        text
    }

    fn pad(&mut self, columns: usize) {
        if self.cells.len() < columns {
            self.cells.resize(columns, Cell::BLANK);
        }
    }

    /// Blanks a wide character that a column would cut in two.
    fn split(&mut self, column: usize) {
        // Half of a wide character cannot be shown.
        if column > 0 && self.cells.get(column).is_some_and(Cell::is_half) {
            self.cells[column - 1] = Cell::BLANK;
            self.cells[column] = Cell::BLANK;
        }
    }
}
