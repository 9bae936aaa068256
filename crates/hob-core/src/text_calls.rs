//! Tool calls in plain text, for models without native ones. Pure.
//!
//! A call is a whole line: `TOOL_CALL: {"name":"read","args":{"path":"a.txt"}}`. Invariants: a line
//! that has not ended, or whose JSON is not exactly of that form, never becomes a call; no part of
//! a call line is ever shown.

use serde::Deserialize;
use serde_json::Value;

const MARK: &str = "TOOL_CALL:";
/// A call line longer than this is not a call.
const LINE_BYTES_MAX: usize = 256 * 1024;

/// A call as the text names it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextCall {
    pub name: String,
    #[serde(default)]
    pub args: serde_json::Map<String, Value>,
}

/// Splits a stream of text into what is shown and what is called.
#[derive(Clone, Debug, Default)]
pub struct Splitter {
    /// The present line, as long as it may still become a call.
    held: String,
    /// The present line was shown from its start: it cannot be a call any more.
    passing: bool,
    calls: Vec<TextCall>,
    broken: Vec<String>,
}

/// What a finished text held.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// The last visible text.
    pub rest: String,
    pub calls: Vec<TextCall>,
    /// Call lines that were not well formed, cut short, for telling the model.
    pub broken: Vec<String>,
}

impl Splitter {
    /// Takes the next piece and returns what of it is shown now.
    pub fn push(&mut self, piece: &str) -> String {
        let mut shown = String::new();
        for part in piece.split_inclusive('\n') {
            if self.passing {
                shown.push_str(part);
            } else {
                self.held.push_str(part);
                if may_be_call(&self.held) {
                    if part.ends_with('\n') {
                        self.end_line();
                    }
                    continue;
                }
                shown.push_str(&std::mem::take(&mut self.held));
                self.passing = true;
            }
            if part.ends_with('\n') {
                self.passing = false;
            }
        }
        shown
    }

    /// Ends the text: a last line is whole only if the model said it was done.
    pub fn finish(mut self, complete: bool) -> Found {
        let mut rest = String::new();
        if self.held.starts_with(MARK) {
            if complete {
                self.end_line();
            } else {
                self.note_broken();
            }
        } else {
            rest = std::mem::take(&mut self.held);
        }
        Found {
            rest,
            calls: self.calls,
            broken: self.broken,
        }
    }

    fn end_line(&mut self) {
        match serde_json::from_str(self.held[MARK.len()..].trim()) {
            Ok(call) => {
                self.calls.push(call);
                self.held.clear();
            }
            Err(_) => self.note_broken(),
        }
    }

    fn note_broken(&mut self) {
        let line: String = self.held.chars().take(200).collect();
        self.broken.push(line);
        self.held.clear();
    }
}

/// Whether a line that begins so may still turn out to be a call.
fn may_be_call(line: &str) -> bool {
    line.len() <= LINE_BYTES_MAX && (line.starts_with(MARK) || MARK.starts_with(line))
}

#[cfg(test)]
#[path = "fallback_tests.rs"]
mod tests;
