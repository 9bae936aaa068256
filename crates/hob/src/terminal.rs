//! The only place that prints. Results go to stdout, everything else to stderr.
//!
//! Invariants: a closed pipe is a normal end, never a panic; colours and truncated lines appear only
//! on a terminal; text from outside is printed without control characters.

use crate::render::ScreenStyle;
use clap::builder::StyledStr;
use hob_kit::host_environment::{EnvVars, HostEnvironment};
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

/// The default columns and rows when the terminal does not report its size.
const SIZE: (usize, usize) = (80, 24);

/// Stdout and stderr of this process.
pub struct Terminal {
    /// A std mutex: it is held for one write, never across an await.
    out: Mutex<Box<dyn Write + Send>>,
    screen: ScreenStyle,
    asides: ScreenStyle,
    /// Stdout is a terminal.
    watched: bool,
    shares_stderr: bool,
    pub json: bool,
}

impl Terminal {
    pub fn new(host: &HostEnvironment, json: bool) -> Self {
        let stdout = io::stdout();
        let is_terminal = stdout.is_terminal();
        let screen = ScreenStyle {
            width: is_terminal.then(|| size().0),
            rows: (is_terminal && is_cursor_addressable(&host.env)).then(|| size().1),
            colour: is_terminal && wants_colour(&host.env),
            zone: jiff::tz::TimeZone::system(),
            now_ms: host.clock.wall_ms(),
        };
        let asides = ScreenStyle {
            width: io::stderr().is_terminal().then(|| size().0),
            rows: (io::stderr().is_terminal() && is_cursor_addressable(&host.env))
                .then(|| size().1),
            colour: io::stderr().is_terminal() && wants_colour(&host.env),
            ..screen.clone()
        };
        Terminal {
            out: Mutex::new(Box::new(io::BufWriter::new(stdout))),
            screen,
            asides,
            watched: is_terminal,
            shares_stderr: is_same_file(),
            json,
        }
    }

    /// The style of results on stdout.
    pub fn screen(&self) -> &ScreenStyle {
        &self.screen
    }

    /// The style of notes on stderr.
    pub fn stderr_screen(&self) -> &ScreenStyle {
        &self.asides
    }

    /// Returns the style with the current size of the terminal.
    pub fn remeasured(screen: &ScreenStyle) -> ScreenStyle {
        let (columns, rows) = size();
        ScreenStyle {
            width: screen.width.map(|_| columns),
            rows: screen.rows.map(|_| rows),
            ..screen.clone()
        }
    }

    /// Returns true when stdout is a terminal.
    pub fn is_terminal(&self) -> bool {
        self.watched
    }

    /// Returns true when stdout and stderr are the same file, pipe or terminal.
    pub fn shares_stderr(&self) -> bool {
        self.shares_stderr
    }

    /// Prints a line of the result.
    pub fn line(&self, text: impl Display) -> io::Result<()> {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(out, "{text}")
    }

    pub fn lines(&self, lines: impl IntoIterator<Item = String>) -> io::Result<()> {
        lines.into_iter().try_for_each(|line| self.line(line))
    }

    /// Prints one JSON document on one line.
    pub fn document(&self, value: &impl serde::Serialize) -> io::Result<()> {
        let text = serde_json::to_string(value)?;
        self.line(text)
    }

    /// Prints a result as JSON, or as the lines of `draw`.
    pub fn print_result<T: serde::Serialize>(
        &self,
        result: &T,
        draw: fn(&T, &ScreenStyle) -> Vec<String>,
    ) -> io::Result<()> {
        if self.json {
            return self.document(result);
        }
        self.lines(draw(result, &self.screen))
    }

    /// Prints raw bytes.
    pub fn bytes(&self, bytes: &[u8]) -> io::Result<()> {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        out.write_all(bytes)
    }

    /// Flushes stdout.
    pub fn flush(&self) -> io::Result<()> {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        out.flush()
    }

    /// Prints a help page.
    pub fn page(env: &EnvVars, page: &StyledStr) -> io::Result<()> {
        let mut stdout = io::stdout();
        if stdout.is_terminal() && wants_colour(env) {
            write!(stdout, "{}", page.ansi())
        } else {
            write!(stdout, "{page}")
        }
    }

    /// Prints a prompt to stderr without a line break; the answer follows on the same line.
    pub fn prompt(text: impl Display) {
        let mut stderr = io::stderr();
        let _ = write!(stderr, "{text}").and_then(|()| stderr.flush());
    }

    /// Prints a line to stderr.
    pub fn note(text: impl Display) {
        // With stderr closed there is no place left to report the error.
        let _ = writeln!(io::stderr(), "{text}");
    }
}

impl std::fmt::Debug for Terminal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terminal")
            .field("screen", &self.screen)
            .finish_non_exhaustive()
    }
}

fn is_same_file() -> bool {
    let identity = |found: rustix::fs::Stat| (found.st_dev, found.st_ino);
    let out = rustix::fs::fstat(io::stdout()).map(identity);
    let err = rustix::fs::fstat(io::stderr()).map(identity);
    out.is_ok() && out == err
}

fn wants_colour(env: &EnvVars) -> bool {
    env.text("NO_COLOR").is_none() && is_cursor_addressable(env)
}

/// Returns true when the terminal understands cursor movement.
fn is_cursor_addressable(env: &EnvVars) -> bool {
    env.text("TERM") != Some("dumb")
}

/// The current columns and rows.
fn size() -> (usize, usize) {
    let size = rustix::termios::tcgetwinsize(io::stdout());
    // With stdout piped, notes still go to the terminal of stderr.
    let size = size.or_else(|_| rustix::termios::tcgetwinsize(io::stderr()));
    size.map_or(SIZE, |size| match (size.ws_col, size.ws_row) {
        // Some terminals report zero instead of an error.
        (0, _) | (_, 0) => SIZE,
        (columns, rows) => (usize::from(columns), usize::from(rows)),
    })
}
