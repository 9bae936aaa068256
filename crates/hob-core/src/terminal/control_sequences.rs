//! Which control sequence does what to a screen. What asks a terminal for an answer, names it or
//! reaches outside it does nothing here.

use super::canvas::{Canvas, Cursor};
use super::past::Past;
use vte::{Params, Perform};

impl<P: Past> Perform for Canvas<P> {
    fn print(&mut self, c: char) {
        if self.title.takes() {
            return;
        }
        let c = if self.cursor.lines[self.cursor.set] {
            line_of(c)
        } else {
            c
        };
        self.print_char(c);
    }

    fn execute(&mut self, byte: u8) {
        self.last = None;
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
            0x0e => self.cursor.set = 1,
            0x0f => self.cursor.set = 0,
            _ => {}
        }
    }

    fn esc_dispatch(&mut self, between: &[u8], ignored: bool, byte: u8) {
        self.last = None;
        self.title.end();
        if ignored {
            return;
        }
        match (between, byte) {
            ([], b'7') => self.saved = self.cursor,
            ([], b'8') => self.restore(),
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
            (b"#", b'8') => self.fill_with_letters(),
            (b"(", set) => self.cursor.lines[0] = set == b'0',
            (b")", set) => self.cursor.lines[1] = set == b'0',
            _ => {}
        }
    }

    fn osc_dispatch(&mut self, _: &[&[u8]], _: bool) {
        self.last = None;
        self.title.end();
    }

    fn csi_dispatch(&mut self, params: &Params, between: &[u8], ignored: bool, action: char) {
        self.title.end();
        let repeated = self.last.take();
        if ignored {
            return;
        }
        match between {
            [] if action == 'b' => {
                self.last = repeated;
                self.repeat(count(params, 0));
                self.last = repeated;
            }
            [] => self.sequence(params, action),
            b"?" if matches!(action, 'h' | 'l') => {
                for mode in params.iter().filter_map(|param| param.first()) {
                    self.private_mode(*mode, action == 'h');
                }
            }
            // Erasing what is not protected: nothing is.
            b"?" if matches!(action, 'J' | 'K') => self.sequence(params, action),
            _ => {}
        }
    }
}

impl<P: Past> Canvas<P> {
    fn sequence(&mut self, params: &Params, action: char) {
        let n = count(params, 0);
        match action {
            '@' => self.insert_cells(n),
            'A' => self.up(n),
            'B' | 'e' => self.down(n),
            'C' | 'a' => self.right(n),
            'D' => self.left(n),
            'E' => {
                self.cursor.column = 0;
                self.down(n);
            }
            'F' => {
                self.cursor.column = 0;
                self.up(n);
            }
            'G' | '`' => self.cursor.column = (n - 1).min(self.columns - 1),
            'H' | 'f' => self.go(count(params, 1) - 1, n - 1),
            'I' => (0..n.min(self.columns)).for_each(|_| self.tab()),
            'J' => self.erase_display(value(params, 0)),
            'K' => self.erase_in_line(value(params, 0)),
            'L' => self.insert_rows(n),
            'M' => self.delete_rows(n),
            'P' => self.delete_cells(n),
            'S' => (0..n.min(self.rows.len())).for_each(|_| self.scroll_up()),
            'T' => (0..n.min(self.rows.len())).for_each(|_| self.scroll_down()),
            'X' => self.erase_cells(n),
            'Z' => (0..n.min(self.columns)).for_each(|_| self.back_tab()),
            'd' => self.go(self.cursor.column, n - 1),
            'g' => self.clear_tabs(value(params, 0)),
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
                let bottom = value(params, 1);
                let bottom = if bottom == 0 { self.rows.len() } else { bottom };
                self.set_region(n - 1, bottom - 1);
            }
            's' => self.saved = self.cursor,
            'u' => self.restore(),
            _ => {}
        }
    }

    fn private_mode(&mut self, mode: u16, on: bool) {
        match mode {
            // 132 columns or 80: the size is not the program's to change, the rest is done.
            3 => {
                self.cursor.column = 0;
                self.cursor.row = 0;
                self.erase_all();
            }
            6 => {
                self.cursor.origin = on;
                self.go(0, 0);
            }
            7 => self.modes.wrap = on,
            47 | 1047 | 1049 if on => self.cover(),
            47 | 1047 => self.uncover(false),
            1048 if on => self.saved = self.cursor,
            1048 => self.restore(),
            1049 => self.uncover(true),
            _ => {}
        }
    }

    fn erase_display(&mut self, what: usize) {
        match what {
            0 => self.erase_below(),
            1 => self.erase_above(),
            2 => self.erase_all(),
            3 => self.past.clear(),
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
        let Cursor { column, row, .. } = self.cursor;
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

    fn restore(&mut self) {
        self.cursor = self.saved;
        self.clamp();
    }
}

/// A parameter; 0 where there is none.
fn value(params: &Params, at: usize) -> usize {
    params
        .iter()
        .nth(at)
        .and_then(|param| param.first())
        .map_or(0, |value| usize::from(*value))
}

/// A parameter that counts, 1 at the least.
fn count(params: &Params, at: usize) -> usize {
    value(params, at).max(1)
}

/// What the character set of lines shows for a letter.
fn line_of(c: char) -> char {
    const LINES: &str = "◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·";
    let at = (c as u32)
        .checked_sub(0x60)
        .and_then(|at| usize::try_from(at).ok());
    at.and_then(|at| LINES.chars().nth(at)).unwrap_or(c)
}
