//! One line on stderr about something that takes a while: redrawn in place on a terminal, printed
//! anew every few seconds elsewhere. Invariant: a terminal's line is gone when this is.

use crate::render::Screen;
use crate::terminal::Terminal;
use std::time::Duration;
use tokio::time::Instant;

/// Between two lines where they cannot be redrawn.
const LINES_EVERY: Duration = Duration::from_secs(3);
/// Between two redraws; more often nobody can read.
const REDRAWN_EVERY: Duration = Duration::from_millis(80);
/// Goes back to the beginning of the line and empties it.
const EMPTIED: &str = "\r\u{1b}[K";

/// The line.
#[derive(Debug)]
pub struct Ticker {
    redraws: bool,
    silent: bool,
    shown_at: Option<Instant>,
    is_drawn: bool,
}

impl Ticker {
    /// A line on this screen; `silent` shows nothing at all.
    pub fn new(screen: &Screen, silent: bool) -> Ticker {
        Ticker {
            redraws: screen.rows.is_some(),
            silent,
            shown_at: None,
            is_drawn: false,
        }
    }

    /// Shows where it is, unless it was just shown.
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
            Terminal::prompt(format!("{EMPTIED}{line}"));
            self.is_drawn = true;
        } else {
            Terminal::note(line);
        }
    }

    /// Takes the line away, before something else is said.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.is_drawn) {
            Terminal::prompt(EMPTIED);
        }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.clear();
    }
}
