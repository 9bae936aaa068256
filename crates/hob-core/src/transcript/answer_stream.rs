//! The answer of one run for surfaces that stream it and keep no list of blocks: the events of the
//! run come in, and what is new of its text goes out. Pure.
//!
//! Deltas (`run.delta`) may be lost, repeated or out of order; the end of a step and a status are
//! authoritative. Invariants: the text of each step is shown exactly once and in order by the end of
//! that step; a delta of an older attempt is never shown after one of a newer attempt; only the
//! present step is kept.

use super::answer_text::{AnswerOutput, AnswerText};
use super::block_list::{BlockList, BlockPage};
use super::fold::TranscriptFold;
use super::input::{StepRef, TranscriptInput};
use hob_wire::block::BlockKind;
use hob_wire::id::RunId;

/// The stream of a step that a delta belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKind {
    Text,
    Thinking,
    /// The arguments of a tool call as the model writes them.
    Tool,
}

/// A delta as it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextDelta<'a> {
    pub step: u32,
    pub attempt: u32,
    /// The byte offset of `text` in this attempt's text of this kind.
    pub offset: u64,
    pub kind: StreamKind,
    pub text: &'a str,
}

/// The text of one attempt so far, from a status or from the end of its step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepText<'a> {
    pub step: u32,
    pub attempt: u32,
    pub text: &'a str,
}

/// The known state of one run's answer.
#[derive(Clone, Debug)]
pub struct AnswerStream {
    fold: TranscriptFold,
    list: BlockList,
    answer: AnswerText,
    /// The step, and the attempt as the fold counts it: a text that contradicts the known one is an
    /// attempt too.
    at: StepRef,
    /// The attempt as the run counts it; 0 before the first delta of the step.
    attempt: u32,
    text_bytes: u64,
    thinking_bytes: u64,
    /// The end of the step was applied, so later deltas of it are late.
    is_closed: bool,
    /// A delta was lost; the next status or the end of the step has its text.
    has_gap: bool,
}

impl Default for AnswerStream {
    fn default() -> Self {
        AnswerStream::from_step(1)
    }
}

impl AnswerStream {
    /// Follows from `step` on: 1 for a run watched from its beginning, the present step for a run
    /// joined later (pass its status next).
    pub fn from_step(step: u32) -> Self {
        // Only one run is followed, so its id does not matter.
        let (run, step) = (RunId(Default::default()), step.max(1));
        let mut stream = AnswerStream {
            fold: TranscriptFold::new(0, 0),
            list: BlockList::new(usize::MAX),
            answer: AnswerText::new(run, step),
            at: StepRef {
                run,
                step,
                attempt: 0,
            },
            attempt: 0,
            text_bytes: 0,
            thinking_bytes: 0,
            is_closed: false,
            has_gap: false,
        };
        // Nothing precedes the step, so the list is complete from the beginning.
        stream
            .list
            .apply_page(BlockPage::default(), &mut Vec::new());
        stream.feed(TranscriptInput::RunBegun { run }, &mut Vec::new());
        stream
    }

    /// The present step.
    pub fn step(&self) -> u32 {
        self.at.step
    }

    /// Returns true while a lost delta keeps later text back.
    pub fn has_gap(&self) -> bool {
        self.has_gap
    }

    /// Applies a delta. Returns true if one before it was lost: the run's status is needed, once.
    pub fn apply_delta(&mut self, delta: TextDelta<'_>, out: &mut Vec<AnswerOutput>) -> bool {
        if !self.enter_attempt(delta.step, delta.attempt) {
            return false;
        }
        let (at, text) = (self.at, delta.text);
        match delta.kind {
            StreamKind::Tool => {}
            StreamKind::Text if delta.offset > self.text_bytes => {
                return !std::mem::replace(&mut self.has_gap, true);
            }
            StreamKind::Text => self.push_text(delta.offset, text, out),
            StreamKind::Thinking => {
                // No status has the reasoning, so what was lost of it is left out.
                let offset = delta.offset.min(self.thinking_bytes);
                let end = offset + text.len() as u64;
                self.thinking_bytes = self.thinking_bytes.max(end);
                let text = text.to_owned();
                self.feed(TranscriptInput::Thinking { at, offset, text }, out);
            }
        }
        false
    }

    /// Applies the requested status.
    pub fn apply_status(&mut self, text: StepText<'_>, out: &mut Vec<AnswerOutput>) {
        self.has_gap = false;
        // Deltas may have shown more than a status that was made before them.
        if self.enter_attempt(text.step, text.attempt) && text.text.len() as u64 > self.text_bytes {
            self.replace_text(text.text, out);
        }
    }

    /// Notes that the requested status will not come; the next gap asks for one again.
    pub fn status_failed(&mut self) {
        self.has_gap = false;
    }

    /// Applies the end of a step with its whole text. A repeated one changes nothing.
    pub fn apply_step_end(&mut self, text: StepText<'_>, out: &mut Vec<AnswerOutput>) {
        if text.step < self.at.step || (text.step == self.at.step && self.is_closed) {
            return;
        }
        if text.step > self.at.step {
            self.begin_step(text.step);
        }
        if text.attempt != self.attempt {
            self.next_attempt(text.attempt);
        }
        self.close(text.text, out);
    }

    /// Ends the present step without its end: a later one began. What is known of it is all.
    pub fn skip_to_step(&mut self, step: u32, out: &mut Vec<AnswerOutput>) {
        if step > self.at.step {
            self.answer.finish(self.list.blocks(), out);
            self.begin_step(step);
        }
    }

    /// Applies the end of the run with the answer of its last step.
    pub fn apply_run_end(&mut self, response: &str, out: &mut Vec<AnswerOutput>) {
        // A run that was stopped within a step may end with less text than was shown.
        if self.answer.shown().starts_with(response) {
            return;
        }
        // The step that gave the answer is not known yet.
        if self.is_closed {
            self.begin_step(self.at.step.saturating_add(1));
        }
        self.close(response, out);
    }

    /// Returns true if a delta of this attempt of this step can be shown now. Enters the attempt if
    /// it is the next one.
    fn enter_attempt(&mut self, step: u32, attempt: u32) -> bool {
        // Only the next step can begin here; a later one needs the ends in between.
        if self.is_closed && step == self.at.step.saturating_add(1) {
            self.begin_step(step);
        }
        // A later step waits for the end of this one. A missed delta of it leaves a gap, which the
        // next delta shows.
        if self.is_closed || step != self.at.step || attempt < self.attempt {
            return false;
        }
        if attempt > self.attempt {
            self.next_attempt(attempt);
        }
        true
    }

    fn begin_step(&mut self, step: u32) {
        // A pending request stays pending, so two are never open at once.
        let has_gap = self.has_gap;
        *self = AnswerStream::from_step(step);
        self.has_gap = has_gap;
    }

    fn next_attempt(&mut self, attempt: u32) {
        self.attempt = attempt;
        self.at.attempt = self.at.attempt.saturating_add(1);
        self.text_bytes = 0;
        self.thinking_bytes = 0;
    }

    fn push_text(&mut self, offset: u64, text: &str, out: &mut Vec<AnswerOutput>) {
        let (at, text) = (self.at, text.to_owned());
        self.text_bytes = self.text_bytes.max(offset + text.len() as u64);
        self.feed(TranscriptInput::Text { at, offset, text }, out);
    }

    /// Makes this the text of the attempt.
    fn replace_text(&mut self, text: &str, out: &mut Vec<AnswerOutput>) {
        let blocks = self.list.blocks().iter();
        let known = blocks.filter(|block| block.kind == BlockKind::Text);
        let known: String = known.map(|block| block.text.as_str()).collect();
        // Only a fault upstream contradicts its own deltas. The authoritative text wins.
        if self.text_bytes > 0 && !text.starts_with(&known) {
            self.next_attempt(self.attempt);
        }
        self.push_text(0, text, out);
    }

    fn close(&mut self, text: &str, out: &mut Vec<AnswerOutput>) {
        self.replace_text(text, out);
        self.answer.finish(self.list.blocks(), out);
        // Without a block there is nothing that the shown text could be compared with.
        if text.is_empty() && !self.answer.shown().is_empty() {
            let step = self.at.step;
            out.push(AnswerOutput::Replaced { step });
        }
        self.is_closed = true;
        self.has_gap = false;
    }

    fn feed(&mut self, input: TranscriptInput, out: &mut Vec<AnswerOutput>) {
        let (mut changes, mut list_changes) = (Vec::new(), Vec::new());
        self.fold.apply(input, &mut changes);
        for change in changes {
            self.list.apply_change(change, &mut list_changes);
        }
        self.answer.update(self.list.blocks(), &list_changes, out);
    }
}

#[cfg(test)]
#[path = "answer_stream_tests.rs"]
mod tests;
