//! Tool calls written as plain text, for models without native ones. Pure.
//!
//! A call is a whole line: `TOOL_CALL: {"name":"read","args":{"path":"a.txt"}}`. Invariants: a line
//! that has not ended, or whose JSON does not have exactly that form, never becomes a call; no part
//! of a call line is ever shown.

use serde::Deserialize;
use serde_json::Value;

const CALL_PREFIX: &str = "TOOL_CALL:";
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

/// Splits a stream of text into visible text and calls.
#[derive(Clone, Debug, Default)]
pub struct TextCallSplitter {
    /// The present line, while it may still become a call.
    held: String,
    /// The present line was shown from its start, so it cannot be a call any more.
    is_visible_line: bool,
    calls: Vec<TextCall>,
    malformed: Vec<String>,
}

/// The content of a finished text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SplitAnswer {
    /// The last visible text.
    pub visible_rest: String,
    pub calls: Vec<TextCall>,
    /// Malformed call lines, shortened, to report to the model.
    pub malformed: Vec<String>,
}

impl TextCallSplitter {
    /// Takes the next piece and returns the part that is visible now.
    pub fn push(&mut self, piece: &str) -> String {
        let mut shown = String::new();
        for part in piece.split_inclusive('\n') {
            if self.is_visible_line {
                shown.push_str(part);
            } else {
                self.held.push_str(part);
                // Held back until the line ends or can no longer be a call.
                if may_be_call(&self.held) {
                    if part.ends_with('\n') {
                        self.end_line();
                    }
                    continue;
                }
                shown.push_str(&std::mem::take(&mut self.held));
                self.is_visible_line = true;
            }
            if part.ends_with('\n') {
                self.is_visible_line = false;
            }
        }
        shown
    }

    /// Ends the text. The last line counts as whole only if the model said it was done.
    pub fn finish(mut self, complete: bool) -> SplitAnswer {
        let mut rest = String::new();
        if self.held.starts_with(CALL_PREFIX) {
            if complete {
                self.end_line();
            } else {
                self.note_malformed();
            }
        } else {
            // The beginning of a prefix that was never completed is ordinary text.
            rest = std::mem::take(&mut self.held);
        }
        SplitAnswer {
            visible_rest: rest,
            calls: self.calls,
            malformed: self.malformed,
        }
    }

    fn end_line(&mut self) {
        match serde_json::from_str(self.held[CALL_PREFIX.len()..].trim()) {
            Ok(call) => {
                self.calls.push(call);
                self.held.clear();
            }
            Err(_) => self.note_malformed(),
        }
    }

    fn note_malformed(&mut self) {
        // A short quote is enough for the model to recognise its mistake.
        let line: String = self.held.chars().take(200).collect();
        self.malformed.push(line);
        self.held.clear();
    }
}

/// Returns true if a line that begins like this may still become a call.
fn may_be_call(line: &str) -> bool {
    line.len() <= LINE_BYTES_MAX && (line.starts_with(CALL_PREFIX) || CALL_PREFIX.starts_with(line))
}

#[cfg(test)]
#[path = "text_calls_tests.rs"]
mod tests;
