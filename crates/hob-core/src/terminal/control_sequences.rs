//! The effect of each control sequence on a screen. Sequences that ask a terminal for an answer,
//! name it or reach outside it are ignored.

use super::grid::{ScreenCursor, ScreenGrid};
use super::scrollback::ScrollbackSink;
use vte::{Params, Perform};

impl<P: ScrollbackSink> Perform for ScreenGrid<P> {
    fn print(&mut self, c: char) {
        if self.title.skips() {
            return;
        }
        let c = if self.cursor.draws_lines[self.cursor.charset] {
            line_drawing_char(c)
        } else {
            c
        };
        self.print_char(c);
    }

    fn execute(&mut self, byte: u8) {
        // REP repeats only a character that directly precedes it.
        self.last_printed = None;
        match byte {
            0x08 => self.backspace(),
            b'\t' => self.tab(),
            b'\n' | 0x0b | 0x0c => {
                self.title.end();
                self.linefeed(false);
                if self.modes.newline {
                    self.cursor.column = 0;
                }
            }
            b'\r' => {
                self.title.end();
                self.cursor.column = 0;
            }
            0x0e => self.cursor.charset = 1,
            0x0f => self.cursor.charset = 0,
            _ => {}
        }
    }

    fn esc_dispatch(&mut self, between: &[u8], ignored: bool, byte: u8) {
        self.last_printed = None;
        self.title.end();
        if ignored {
            return;
        }
        match (between, byte) {
            ([], b'7') => self.saved = self.cursor,
            ([], b'8') => self.restore_cursor(),
            ([], b'D') => self.linefeed(false),
            ([], b'E') => {
                self.cursor.column = 0;
                self.linefeed(false);
            }
            ([], b'H') => {
                if let Some(tab) = self.tabs.get_mut(self.cursor.column) {
                    *tab = true;
                }
            }
            ([], b'M') => self.reverse_linefeed(),
            ([], b'c') => self.reset(),
            ([], b'k') => self.title.begin(),
            (b"#", b'8') => self.fill_with_e(),
            (b"(", set) => self.cursor.draws_lines[0] = set == b'0',
            (b")", set) => self.cursor.draws_lines[1] = set == b'0',
            _ => {}
        }
    }

    fn osc_dispatch(&mut self, _: &[&[u8]], _: bool) {
        self.last_printed = None;
        self.title.end();
    }

    fn csi_dispatch(&mut self, params: &Params, between: &[u8], ignored: bool, action: char) {
        self.title.end();
        let repeated = self.last_printed.take();
        if ignored {
            return;
        }
        match between {
            [] if action == 'b' => {
                self.last_printed = repeated;
                self.repeat_last(param_count(params, 0));
                self.last_printed = repeated;
            }
            [] => self.csi_sequence(params, action),
            b"?" if matches!(action, 'h' | 'l') => {
                for mode in params.iter().filter_map(|param| param.first()) {
                    self.private_mode(*mode, action == 'h');
                }
            }
            // Erases unprotected cells only; no cell is protected.
            b"?" if matches!(action, 'J' | 'K') => self.csi_sequence(params, action),
            _ => {}
        }
    }
}

impl<P: ScrollbackSink> ScreenGrid<P> {
    fn csi_sequence(&mut self, params: &Params, action: char) {
        let n = param_count(params, 0);
        match action {
            '@' => self.insert_cells(n),
            'A' => self.move_up(n),
            'B' | 'e' => self.move_down(n),
            'C' | 'a' => self.move_right(n),
            'D' => self.move_left(n),
            'E' => {
                self.cursor.column = 0;
                self.move_down(n);
            }
            'F' => {
                self.cursor.column = 0;
                self.move_up(n);
            }
            // A count is at least 1, so none of these subtractions underflows.
            'G' | '`' => self.cursor.column = (n - 1).min(self.columns - 1),
            'H' | 'f' => self.move_to(param_count(params, 1) - 1, n - 1),
            'I' => (0..n.min(self.columns)).for_each(|_| self.tab()),
            'J' => self.erase_display(param(params, 0)),
            'K' => self.erase_in_line(param(params, 0)),
            'L' => self.insert_rows(n),
            'M' => self.delete_rows(n),
            'P' => self.delete_cells(n),
            // Counts are capped by the screen: a few bytes must not cost a long loop.
            'S' => (0..n.min(self.rows.len())).for_each(|_| self.scroll_up()),
            'T' => (0..n.min(self.rows.len())).for_each(|_| self.scroll_down()),
            'X' => self.erase_cells(n),
            'Z' => (0..n.min(self.columns)).for_each(|_| self.back_tab()),
            'd' => self.move_to(self.cursor.column, n - 1),
            'g' => self.clear_tabs(param(params, 0)),
            'h' | 'l' => {
                for mode in params.iter().filter_map(|param| param.first()) {
                    match mode {
                        4 => self.modes.insert = action == 'h',
                        20 => self.modes.newline = action == 'h',
                        _ => {}
                    }
                }
            }
            'r' => {
                let bottom = param(params, 1);
                let bottom = if bottom == 0 { self.rows.len() } else { bottom };
                self.set_region(n - 1, bottom - 1);
            }
            's' => self.saved = self.cursor,
            'u' => self.restore_cursor(),
            _ => {}
        }
    }

    fn private_mode(&mut self, mode: u16, on: bool) {
        match mode {
            // Switches to 132 or 80 columns: a program may not change the size, but the rest is
            // done.
            3 => {
                self.cursor.column = 0;
                self.cursor.row = 0;
                self.erase_all();
            }
            6 => {
                self.cursor.origin_mode = on;
                self.move_to(0, 0);
            }
            7 => self.modes.wrap = on,
            47 | 1047 | 1049 if on => self.enter_alternate_screen(),
            47 | 1047 => self.leave_alternate_screen(false),
            1048 if on => self.saved = self.cursor,
            1048 => self.restore_cursor(),
            1049 => self.leave_alternate_screen(true),
            _ => {}
        }
    }

    fn erase_display(&mut self, what: usize) {
        match what {
            0 => self.erase_below(),
            1 => self.erase_above(),
            2 => self.erase_all(),
            3 => self.scrollback.clear(),
            _ => {}
        }
    }

    fn erase_in_line(&mut self, what: usize) {
        match what {
            0 => self.erase_line(self.cursor.column, self.columns),
            1 => self.erase_line(0, self.cursor.column + 1),
            2 => self.erase_line(0, self.columns),
            _ => {}
        }
    }

    fn erase_cells(&mut self, count: usize) {
        let ScreenCursor { column, row, .. } = self.cursor;
        self.rows[row].erase(column, (column + count).min(self.columns));
    }

    fn clear_tabs(&mut self, what: usize) {
        match what {
            0 => {
                if let Some(tab) = self.tabs.get_mut(self.cursor.column) {
                    *tab = false;
                }
            }
            3 => self.tabs.fill(false),
            _ => {}
        }
    }

    fn restore_cursor(&mut self) {
        self.cursor = self.saved;
        self.clamp_cursor();
    }
}

/// Returns a parameter; 0 if it is missing.
fn param(params: &Params, at: usize) -> usize {
    params
        .iter()
        .nth(at)
        .and_then(|param| param.first())
        .map_or(0, |value| usize::from(*value))
}

/// Returns a parameter that counts; at least 1.
fn param_count(params: &Params, at: usize) -> usize {
    param(params, at).max(1)
}

/// Returns the character that the line-drawing set shows for a letter.
fn line_drawing_char(c: char) -> char {
    const LINES: &str = "◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·";
    let at = (c as u32)
        .checked_sub(0x60)
        .and_then(|at| usize::try_from(at).ok());
    at.and_then(|at| LINES.chars().nth(at)).unwrap_or(c)
}
