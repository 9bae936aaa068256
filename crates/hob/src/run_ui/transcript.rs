//! The transcript of a run: the model's text for stdout, notes for stderr. Pure: it returns print
//! operations.
//!
//! Printed text cannot be removed. When a step is retried, the new text is compared with the printed
//! one: equal text is not repeated; where it differs, a note comes first and the whole text again.

use super::stream_wrapper::StreamWrapper;
use crate::render::{ScreenStyle, TextTone};
use hob_core::run_follower::{FollowOutput, StreamKind};

/// The note before a text that replaces the one above.
pub const REPLACED: &str = "(the model was asked again; this replaces the text above)";

/// A print operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrintOp {
    /// Text for stdout, unchanged.
    Words(String),
    /// A line for stderr.
    Aside(String),
}

/// The printed state of one run.
#[derive(Clone, Debug)]
pub struct RunTranscript {
    screen: ScreenStyle,
    /// Thinking is shown on a terminal only.
    shows_thinking: bool,
    /// Stdout and stderr go to the same place, so a note must not run into a line of the answer.
    shares_stderr: bool,
    flow: StreamWrapper,
    kind: StreamKind,
    step: u32,
    /// The printed text of the current step.
    printed: String,
    /// The text of a later attempt, as long as it is a prefix of the printed text.
    retried: Option<String>,
}

impl RunTranscript {
    pub fn new(screen: &ScreenStyle) -> Self {
        RunTranscript {
            shows_thinking: screen.width.is_some(),
            shares_stderr: screen.width.is_some(),
            flow: StreamWrapper::new(screen.width),
            screen: screen.clone(),
            kind: StreamKind::Text,
            step: 0,
            printed: String::new(),
            retried: None,
        }
    }

    /// Tells that stderr goes where stdout goes, as after `2>&1`.
    #[must_use]
    pub fn sharing_stderr(mut self, shares: bool) -> Self {
        self.shares_stderr |= shares;
        self
    }

    /// Applies the follower's outputs; returns true when it requests a status.
    pub fn show(&mut self, outputs: Vec<FollowOutput>, out: &mut Vec<PrintOp>) -> bool {
        let mut asks = false;
        for output in outputs {
            match output {
                FollowOutput::Show { step, kind, text } => self.piece(step, kind, &text, out),
                FollowOutput::Restart { .. } => self.retried = Some(String::new()),
                FollowOutput::Missing { step, kind } => self.piece(step, kind, " […] ", out),
                FollowOutput::RequestStatus => asks = true,
            }
        }
        asks
    }

    /// Ends the current step: the printed text must now equal the model's text.
    pub fn step_ended(&mut self, out: &mut Vec<PrintOp>) {
        if let Some(retried) = self.retried.take() {
            self.replace(retried, out);
        }
    }

    /// Ends the current line of the model's text.
    pub fn break_line(&mut self, out: &mut Vec<PrintOp>) {
        let end = self.flow.end_line();
        self.print(&end, out);
    }

    /// Ends the current line before a note, when both appear in the same place.
    pub fn make_room(&mut self, out: &mut Vec<PrintOp>) {
        if self.shares_stderr {
            self.break_line(out);
        }
    }

    /// Adds a line for stderr.
    pub fn aside(&mut self, line: String, out: &mut Vec<PrintOp>) {
        self.make_room(out);
        out.push(PrintOp::Aside(line));
    }

    fn piece(&mut self, step: u32, kind: StreamKind, text: &str, out: &mut Vec<PrintOp>) {
        if step != self.step {
            self.begin_step(step, out);
        }
        match kind {
            // The call is shown when it starts.
            StreamKind::Tool => {}
            // A retry thinks again; only its text is compared with the printed one.
            StreamKind::Thinking if !self.shows_thinking || self.retried.is_some() => {}
            StreamKind::Thinking => self.words(kind, text, out),
            StreamKind::Text => self.text(text, out),
        }
    }

    fn begin_step(&mut self, step: u32, out: &mut Vec<PrintOp>) {
        self.step_ended(out);
        // The texts before and after tool calls are separate paragraphs.
        if !self.printed.is_empty() {
            self.break_line(out);
        }
        self.step = step;
        self.printed.clear();
    }

    fn text(&mut self, text: &str, out: &mut Vec<PrintOp>) {
        let Some(mut retried) = self.retried.take() else {
            self.printed.push_str(text);
            return self.words(StreamKind::Text, text, out);
        };
        retried.push_str(text);
        if self.printed.starts_with(&retried) {
            self.retried = Some(retried);
        } else if let Some(rest) = retried.strip_prefix(&self.printed) {
            let rest = rest.to_owned();
            self.printed = retried;
            self.words(StreamKind::Text, &rest, out);
        } else {
            self.replace(retried, out);
        }
    }

    /// Prints `text` with a note that it replaces the printed text, unless both are equal.
    fn replace(&mut self, text: String, out: &mut Vec<PrintOp>) {
        if text == self.printed {
            return;
        }
        self.break_line(out);
        self.aside(self.screen.paint(TextTone::Quiet, REPLACED), out);
        self.words(StreamKind::Text, &text, out);
        self.printed = text;
    }

    fn words(&mut self, kind: StreamKind, text: &str, out: &mut Vec<PrintOp>) {
        if kind != self.kind {
            let was_thinking = self.kind == StreamKind::Thinking;
            self.break_line(out);
            self.kind = kind;
            if was_thinking {
                self.print("\n", out);
            }
        }
        let flowed = self.flow.push(text);
        self.print(&flowed, out);
    }

    fn print(&mut self, text: &str, out: &mut Vec<PrintOp>) {
        if text.is_empty() {
            return;
        }
        let text = match self.kind {
            StreamKind::Thinking => self.screen.paint(TextTone::Quiet, text),
            StreamKind::Text | StreamKind::Tool => text.to_owned(),
        };
        match out.last_mut() {
            Some(PrintOp::Words(words)) => words.push_str(&text),
            _ => out.push(PrintOp::Words(text)),
        }
    }
}

#[cfg(test)]
#[path = "transcript_tests.rs"]
mod tests;
