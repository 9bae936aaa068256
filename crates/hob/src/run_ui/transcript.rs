//! The transcript of a run: the model's text for stdout, notes for stderr. Pure: it returns print
//! operations.
//!
//! Printed text cannot be removed: a text that replaces it comes after a note, whole.

use super::stream_wrapper::StreamWrapper;
use crate::render::{ScreenStyle, TextTone};
use hob_core::transcript::AnswerOutput;
use hob_wire::block::BlockKind;

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
    flow: StreamWrapper,
    kind: BlockKind,
    /// The step of the printed text.
    step: Option<u32>,
}

impl RunTranscript {
    pub fn new(screen: &ScreenStyle) -> Self {
        RunTranscript {
            shows_thinking: screen.width.is_some(),
            flow: StreamWrapper::new(screen.width),
            screen: screen.clone(),
            kind: BlockKind::Text,
            step: None,
        }
    }

    /// Prints what there is to show.
    pub fn show(&mut self, output: AnswerOutput, out: &mut Vec<PrintOp>) {
        match output {
            AnswerOutput::Show { kind, .. }
                if kind == BlockKind::Thinking && !self.shows_thinking => {}
            AnswerOutput::Show { step, kind, text } => {
                // The texts before and after tool calls are separate paragraphs.
                if self.step.replace(step).is_some_and(|former| former != step) {
                    self.break_line(out);
                }
                self.words(kind, &text, out);
            }
            AnswerOutput::Replaced { .. } => {
                self.break_line(out);
                self.aside(self.screen.paint(TextTone::Quiet, REPLACED), out);
            }
        }
    }

    /// Ends the current line of the model's text.
    pub fn break_line(&mut self, out: &mut Vec<PrintOp>) {
        let end = self.flow.end_line();
        self.print(&end, out);
    }

    /// Ends the current line before a note, when both appear on the same screen.
    pub fn make_room(&mut self, out: &mut Vec<PrintOp>) {
        if self.screen.width.is_some() {
            self.break_line(out);
        }
    }

    /// Adds a line for stderr.
    pub fn aside(&mut self, line: String, out: &mut Vec<PrintOp>) {
        self.make_room(out);
        out.push(PrintOp::Aside(line));
    }

    fn words(&mut self, kind: BlockKind, text: &str, out: &mut Vec<PrintOp>) {
        if kind != self.kind {
            let was_thinking = self.kind == BlockKind::Thinking;
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
            BlockKind::Thinking => self.screen.paint(TextTone::Quiet, text),
            _ => text.to_owned(),
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
