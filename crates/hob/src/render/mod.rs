//! From a result to the lines a person reads. Everything here is pure: a value and a [`Screen`]
//! go in, lines come out.
//!
//! Any result can be drawn: lists of objects as tables, objects as aligned pairs ([`value`]).
//! A few methods are drawn with more care ([`special`], [`model`], [`tool`]).

pub mod audit;
pub mod chat;
pub mod costs;
pub mod damaged;
pub mod jobs;
pub mod loops;
pub mod model;
pub mod moment;
pub mod rules;
pub mod runs;
pub mod services;
pub mod special;
pub mod table;
pub mod terminals;
pub mod terms;
pub mod tool;
pub mod value;
pub mod words;

use jiff::tz::TimeZone;
use serde_json::Value;

/// What lines are drawn on.
#[derive(Clone, Debug)]
pub struct Screen {
    /// Columns to fit into; none when the reader is a program or a file.
    pub width: Option<usize>,
    /// Rows of a terminal that can go back over them.
    pub rows: Option<usize>,
    pub colour: bool,
    pub zone: TimeZone,
    /// The present, for "3 min ago".
    pub now_ms: u64,
}

/// What a piece of text is, which decides how it looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Heading,
    /// Less important than its neighbours.
    Quiet,
    Good,
    Warning,
    Bad,
    /// Something to type.
    Command,
}

impl Screen {
    /// A screen for tests: 80 columns, no colour, UTC, a fixed present.
    pub fn plain(now_ms: u64) -> Self {
        Screen {
            width: Some(80),
            rows: Some(24),
            colour: false,
            zone: TimeZone::UTC,
            now_ms,
        }
    }

    pub fn paint(&self, tone: Tone, text: &str) -> String {
        if !self.colour || text.is_empty() {
            return text.to_owned();
        }
        let code = match tone {
            Tone::Heading => "1",
            Tone::Quiet => "2",
            Tone::Good => "32",
            Tone::Warning => "33",
            Tone::Bad => "31",
            Tone::Command => "36",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// The result of `method` as lines.
pub fn result(method: &str, result: &Value, screen: &Screen) -> Vec<String> {
    match special::renderer(method) {
        Some(render) => render(result, screen),
        None => value::lines(result, screen),
    }
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
