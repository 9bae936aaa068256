//! Turns frames into bytes for the terminal: only what changed, in one synchronised update, with the
//! real cursor at the caret.
//!
//! Invariants: no byte when nothing changed; never an order that erases the screen or sets a scroll
//! region; a whole frame writes every cell, so it needs no erasing.

use crate::text::width;
use crate::view::CaretPlace;
use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier};
use std::fmt::Write;

const BEGIN: &str = "\u{1b}[?2026h\u{1b}[?25l";
const END: &str = "\u{1b}[?25h\u{1b}[?2026l";

#[derive(Debug)]
pub(super) struct FrameWriter {
    shown: Buffer,
    caret: Option<CaretPlace>,
    title: String,
    /// The next frame writes every cell.
    is_whole: bool,
}

impl FrameWriter {
    pub(super) fn new(columns: u16, rows: u16) -> FrameWriter {
        FrameWriter {
            shown: Buffer::empty(Rect::new(0, 0, columns, rows)),
            caret: None,
            title: String::new(),
            is_whole: true,
        }
    }

    /// Writes every cell of the next frame.
    pub(super) fn renew(&mut self) {
        self.is_whole = true;
    }

    /// An empty frame of the current size to draw into.
    pub(super) fn frame(&self) -> Buffer {
        Buffer::empty(self.shown.area)
    }

    pub(super) fn resize(&mut self, columns: u16, rows: u16) {
        self.shown = Buffer::empty(Rect::new(0, 0, columns, rows));
        self.is_whole = true;
    }

    /// The bytes that make the terminal show this frame; empty if it does already.
    pub(super) fn bytes(&mut self, next: Buffer, caret: CaretPlace, title: &str) -> Vec<u8> {
        let mut out = FrameBytes::default();
        if std::mem::take(&mut self.is_whole) {
            write_every_cell(&next, &mut out);
        } else {
            for (x, y, cell) in self.shown.diff(&next) {
                out.cell(x, y, cell);
            }
        }
        let has_moved = self.caret != Some(caret);
        let has_title = self.title != title;
        if out.text.is_empty() && !has_moved && !has_title {
            return Vec::new();
        }
        let mut text = BEGIN.to_owned();
        text.push_str(&out.text);
        // Writing to a string cannot fail.
        let _ = write!(text, "\u{1b}[0m\u{1b}[{};{}H", caret.1 + 1, caret.0 + 1);
        text.push_str(END);
        if has_title {
            title.clone_into(&mut self.title);
            let _ = write!(text, "\u{1b}]2;{title}\u{7}");
        }
        self.shown = next;
        self.caret = Some(caret);
        text.into_bytes()
    }
}

fn write_every_cell(frame: &Buffer, out: &mut FrameBytes) {
    let area = frame.area;
    for y in area.top()..area.bottom() {
        let mut x = area.left();
        while x < area.right() {
            let Some(cell) = frame.cell((x, y)) else {
                break;
            };
            out.cell(x, y, cell);
            let columns = u16::try_from(width(cell.symbol())).unwrap_or(1);
            x += columns.max(1);
        }
    }
}

/// Bytes of cells, with as few moves and colours as needed.
#[derive(Default)]
struct FrameBytes {
    text: String,
    /// Where the terminal's cursor is, if that is sure.
    at: Option<(u16, u16)>,
    look: Option<(Color, Modifier)>,
}

impl FrameBytes {
    fn cell(&mut self, x: u16, y: u16, cell: &Cell) {
        if self.at != Some((x, y)) {
            let _ = write!(self.text, "\u{1b}[{};{}H", y + 1, x + 1);
        }
        let look = (cell.fg, cell.modifier);
        if self.look != Some(look) {
            self.look = Some(look);
            self.text.push_str(&look_order(look));
        }
        let symbol = cell.symbol();
        self.text.push_str(symbol);
        // Terminals do not agree about the width of joined and wide letters, so the next cell is
        // addressed by its place.
        let is_sure = symbol.is_ascii();
        self.at = is_sure.then_some((x + 1, y));
    }
}

fn look_order((colour, modifier): (Color, Modifier)) -> String {
    let mut codes = vec!["0"];
    for (flag, code) in [
        (Modifier::BOLD, "1"),
        (Modifier::DIM, "2"),
        (Modifier::ITALIC, "3"),
        (Modifier::UNDERLINED, "4"),
        (Modifier::REVERSED, "7"),
        (Modifier::CROSSED_OUT, "9"),
    ] {
        if modifier.contains(flag) {
            codes.push(code);
        }
    }
    codes.extend(colour_code(colour));
    format!("\u{1b}[{}m", codes.join(";"))
}

/// Themes use the terminal's own colours only.
fn colour_code(colour: Color) -> Option<&'static str> {
    match colour {
        Color::Red => Some("31"),
        Color::Green => Some("32"),
        Color::Yellow => Some("33"),
        Color::Blue => Some("34"),
        Color::Magenta => Some("35"),
        Color::Cyan => Some("36"),
        _ => None,
    }
}

/// Rows as text with colours, for the normal screen.
pub(super) fn coloured_rows(rows: &[crate::text::Row], theme: crate::theme::Theme) -> String {
    let mut out = String::new();
    for row in rows {
        for span in &row.spans {
            let style = theme.style(span.tone);
            let look = (style.fg.unwrap_or(Color::Reset), style.add_modifier);
            if look == (Color::Reset, Modifier::empty()) {
                out.push_str(&span.text);
            } else {
                let _ = write!(out, "{}{}\u{1b}[0m", look_order(look), span.text);
            }
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
#[path = "frame_writer_tests.rs"]
mod tests;
