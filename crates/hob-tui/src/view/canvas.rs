//! Puts rows into the cells of a frame. Nothing is ever drawn outside of the frame.

use crate::text::{Role, Row, Span, Tone, grapheme_width};
use crate::theme::Theme;
use ratatui_core::buffer::Buffer;
use ratatui_core::style::Style;
use unicode_segmentation::UnicodeSegmentation;

/// A rectangle of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Area {
    pub(crate) x: usize,
    pub(crate) y: usize,
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

pub(crate) struct Canvas<'b> {
    buffer: &'b mut Buffer,
    theme: Theme,
}

impl<'b> Canvas<'b> {
    pub(crate) fn new(buffer: &'b mut Buffer, theme: Theme) -> Canvas<'b> {
        buffer.reset();
        Canvas { buffer, theme }
    }

    pub(crate) fn columns(&self) -> usize {
        usize::from(self.buffer.area.width)
    }

    pub(crate) fn rows(&self) -> usize {
        usize::from(self.buffer.area.height)
    }

    /// Draws a row from `x` on, in at most this many columns. Returns the columns it took.
    pub(crate) fn row(&mut self, x: usize, y: usize, columns: usize, row: &Row) -> usize {
        self.spans(x, y, columns, &row.spans)
    }

    pub(crate) fn spans(&mut self, x: usize, y: usize, columns: usize, spans: &[Span]) -> usize {
        let mut taken = 0;
        for span in spans {
            let style = self.theme.style(span.tone);
            for grapheme in span.text.graphemes(true) {
                let wide = grapheme_width(grapheme);
                if taken + wide > columns {
                    return taken;
                }
                if wide > 0 {
                    self.cell((x + taken, y), grapheme, wide, style);
                }
                taken += wide;
            }
        }
        taken
    }

    pub(crate) fn text(&mut self, x: usize, y: usize, text: &str, tone: impl Into<Tone>) -> usize {
        let columns = self.columns().saturating_sub(x);
        self.spans(x, y, columns, &[Span::new(text, tone)])
    }

    /// Draws a line of one character.
    pub(crate) fn line(&mut self, x: usize, y: usize, columns: usize, role: Role) {
        let columns = columns.min(self.columns().saturating_sub(x));
        self.text(x, y, &"─".repeat(columns), role);
    }

    /// Empties a rectangle.
    pub(crate) fn clear(&mut self, area: Area) {
        let style = self.theme.style(Tone::default());
        for y in area.y..area.y + area.rows {
            for x in area.x..area.x + area.columns {
                self.cell((x, y), " ", 1, style);
            }
        }
    }

    /// Gives the cells of a row another look, from `x` on.
    pub(crate) fn tint(&mut self, x: usize, y: usize, columns: usize, role: Role) {
        let style = self.theme.style(role.into());
        for x in x..x + columns {
            if let Some(cell) = self.cell_at(x, y) {
                cell.set_style(style);
            }
        }
    }

    /// A frame of lines around an area, with a title in its upper line.
    pub(crate) fn frame(&mut self, area: Area, title: &str, role: Role) {
        self.clear(area);
        let inner = area.columns.saturating_sub(2);
        let (right, bottom) = (area.x + area.columns - 1, area.y + area.rows - 1);
        self.text(area.x, area.y, &format!("╭{}╮", "─".repeat(inner)), role);
        self.text(area.x, bottom, &format!("╰{}╯", "─".repeat(inner)), role);
        for y in area.y + 1..bottom {
            self.text(area.x, y, "│", role);
            self.text(right, y, "│", role);
        }
        let title = crate::text::truncate(title, inner.saturating_sub(4));
        self.text(area.x + 2, area.y, &format!(" {title} "), role);
    }

    fn cell_at(&mut self, x: usize, y: usize) -> Option<&mut ratatui_core::buffer::Cell> {
        let place = (u16::try_from(x).ok()?, u16::try_from(y).ok()?);
        self.buffer.cell_mut(place)
    }

    fn cell(&mut self, (x, y): (usize, usize), symbol: &str, wide: usize, style: Style) {
        // Half of a wide character is never drawn at the edge.
        if x + wide > self.columns() {
            return;
        }
        if let Some(cell) = self.cell_at(x, y) {
            cell.set_symbol(symbol).set_style(style);
        }
        for x in x + 1..x + wide {
            if let Some(cell) = self.cell_at(x, y) {
                cell.reset();
                cell.set_style(style);
            }
        }
    }
}
