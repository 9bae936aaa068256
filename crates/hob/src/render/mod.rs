//! Formats results as lines for people. Pure: a value and a [`ScreenStyle`] go in, lines come out.
//!
//! Any result can be formatted: lists of objects as tables, objects as aligned pairs ([`value`]).
//! Some methods have renderers of their own ([`method_renderers`], [`model`], [`tool`]).

pub mod audit;
pub mod chat;
pub mod costs;
pub mod damaged_rows;
pub mod import_plan;
pub mod jobs;
pub mod loops;
pub mod method_renderers;
pub mod model;
pub mod model_files;
pub mod rules;
pub mod run_timeline;
pub mod runs;
pub mod services;
pub mod table;
pub mod terminals;
pub mod text;
pub mod time;
pub mod tool;
pub mod value;
pub mod work_terms;

use jiff::tz::TimeZone;
use serde_json::Value;

/// The size, colours and time zone that lines are formatted for.
#[derive(Clone, Debug)]
pub struct ScreenStyle {
    /// The columns to fit into; `None` when the output is not a terminal.
    pub width: Option<usize>,
    /// The rows of a terminal with cursor movement.
    pub rows: Option<usize>,
    pub colour: bool,
    pub zone: TimeZone,
    /// The current time, for "3 min ago".
    pub now_ms: u64,
}

/// The role of a piece of text, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextTone {
    Heading,
    /// Less important than its neighbours.
    Quiet,
    Good,
    Warning,
    Bad,
    /// Something to type.
    Command,
}

impl ScreenStyle {
    /// A style for tests: 80 columns, no colour, UTC, a fixed time.
    pub fn plain(now_ms: u64) -> Self {
        ScreenStyle {
            width: Some(80),
            rows: Some(24),
            colour: false,
            zone: TimeZone::UTC,
            now_ms,
        }
    }

    pub fn paint(&self, tone: TextTone, text: &str) -> String {
        if !self.colour || text.is_empty() {
            return text.to_owned();
        }
        let code = match tone {
            TextTone::Heading => "1",
            TextTone::Quiet => "2",
            TextTone::Good => "32",
            TextTone::Warning => "33",
            TextTone::Bad => "31",
            TextTone::Command => "36",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// Formats the result of `method`.
pub fn result(method: &str, result: &Value, screen: &ScreenStyle) -> Vec<String> {
    match method_renderers::renderer(method) {
        Some(render) => render(result, screen),
        None => value::lines(result, screen),
    }
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
