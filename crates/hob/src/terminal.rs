//! The one place that prints. Results go to stdout, everything said about them to stderr.
//!
//! Invariants: a closed pipe is an ordinary end, never a panic; colours and cut lines appear only
//! on a terminal; what came from outside is printed without control characters.

use crate::render::Screen;
use clap::builder::StyledStr;
use hob_kit::world::{Env, World};
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

/// Columns and rows assumed when the terminal does not say.
const SIZE: (usize, usize) = (80, 24);

/// Stdout and stderr of this process.
pub struct Terminal {
    /// A lock of std: held for one write.
    out: Mutex<Box<dyn Write + Send>>,
    screen: Screen,
    asides: Screen,
    /// Whether a person is looking.
    watched: bool,
    pub json: bool,
}

impl Terminal {
    pub fn new(world: &World, json: bool) -> Self {
        let stdout = io::stdout();
        let is_terminal = stdout.is_terminal();
        let screen = Screen {
            width: is_terminal.then(|| size().0),
            rows: (is_terminal && can_go_back(&world.env)).then(|| size().1),
            colour: is_terminal && wants_colour(&world.env),
            zone: jiff::tz::TimeZone::system(),
            now_ms: world.clock.wall_ms(),
        };
        let asides = Screen {
            width: io::stderr().is_terminal().then(|| size().0),
            rows: (io::stderr().is_terminal() && can_go_back(&world.env)).then(|| size().1),
            colour: io::stderr().is_terminal() && wants_colour(&world.env),
            ..screen.clone()
        };
        Terminal {
            out: Mutex::new(Box::new(io::BufWriter::new(stdout))),
            screen,
            asides,
            watched: is_terminal,
            json,
        }
    }

    /// How results are to be drawn.
    pub fn screen(&self) -> &Screen {
        &self.screen
    }

    /// How what is said beside the results is to be drawn.
    pub fn asides(&self) -> &Screen {
        &self.asides
    }

    /// The same screen at the size its terminal has now.
    pub fn measured(screen: &Screen) -> Screen {
        let (columns, rows) = size();
        Screen {
            width: screen.width.map(|_| columns),
            rows: screen.rows.map(|_| rows),
            ..screen.clone()
        }
    }

    /// Whether a person is looking.
    pub fn is_terminal(&self) -> bool {
        self.watched
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

    /// Prints a result: as a document, or as `draw` draws it.
    pub fn shown<T: serde::Serialize>(
        &self,
        result: &T,
        draw: fn(&T, &Screen) -> Vec<String>,
    ) -> io::Result<()> {
        if self.json {
            return self.document(result);
        }
        self.lines(draw(result, &self.screen))
    }

    /// Prints bytes as they are.
    pub fn bytes(&self, bytes: &[u8]) -> io::Result<()> {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        out.write_all(bytes)
    }

    /// Makes everything printed so far visible.
    pub fn flush(&self) -> io::Result<()> {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        out.flush()
    }

    /// Prints a help page.
    pub fn page(env: &Env, page: &StyledStr) -> io::Result<()> {
        let mut stdout = io::stdout();
        if stdout.is_terminal() && wants_colour(env) {
            write!(stdout, "{}", page.ansi())
        } else {
            write!(stdout, "{page}")
        }
    }

    /// Asks something beside the result; the answer follows on the same line.
    pub fn prompt(text: impl Display) {
        let mut stderr = io::stderr();
        let _ = write!(stderr, "{text}").and_then(|()| stderr.flush());
    }

    /// Says something beside the result.
    pub fn note(text: impl Display) {
        // A closed stderr leaves nobody to tell.
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

fn wants_colour(env: &Env) -> bool {
    env.text("NO_COLOR").is_none() && can_go_back(env)
}

/// Whether a terminal understands more than lines.
fn can_go_back(env: &Env) -> bool {
    env.text("TERM") != Some("dumb")
}

/// Columns and rows, as they are now.
fn size() -> (usize, usize) {
    let size = rustix::termios::tcgetwinsize(io::stdout());
    // When only stderr is a terminal, its size is the one that counts.
    let size = size.or_else(|_| rustix::termios::tcgetwinsize(io::stderr()));
    size.map_or(SIZE, |size| match (size.ws_col, size.ws_row) {
        (0, _) | (_, 0) => SIZE,
        (columns, rows) => (usize::from(columns), usize::from(rows)),
    })
}
