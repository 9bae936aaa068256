//! A progress line on stderr: redrawn in place on a terminal, printed every few seconds elsewhere.
//! Invariant: dropping it removes the line from a terminal.

use crate::render::ScreenStyle;
use crate::terminal::Terminal;
use std::time::Duration;
use tokio::time::Instant;

/// The interval between two lines when they cannot be redrawn.
const LINES_EVERY: Duration = Duration::from_secs(3);
/// The interval between two redraws.
const REDRAWN_EVERY: Duration = Duration::from_millis(80);
/// Moves the cursor to the start of the line and clears it.
const CLEAR_LINE: &str = "\r\u{1b}[K";

#[derive(Debug)]
pub struct ProgressLine {
    redraws: bool,
    silent: bool,
    shown_at: Option<Instant>,
    is_drawn: bool,
}

impl ProgressLine {
    /// Creates a line on this screen; a `silent` one prints nothing.
    pub fn new(screen: &ScreenStyle, silent: bool) -> ProgressLine {
        ProgressLine {
            redraws: screen.rows.is_some(),
            silent,
            shown_at: None,
            is_drawn: false,
        }
    }

    /// Shows `line`, unless another one was shown just before.
    pub fn show(&mut self, line: &str) {
        let every = if self.redraws {
            REDRAWN_EVERY
        } else {
            LINES_EVERY
        };
        let too_soon = self.shown_at.is_some_and(|at| at.elapsed() < every);
        if self.silent || too_soon {
            return;
        }
        self.shown_at = Some(Instant::now());
        if self.redraws {
            Terminal::prompt(format!("{CLEAR_LINE}{line}"));
            self.is_drawn = true;
        } else {
            Terminal::note(line);
        }
    }

    /// Removes the line, before something else is printed.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.is_drawn) {
            Terminal::prompt(CLEAR_LINE);
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.clear();
    }
}
