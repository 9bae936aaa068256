//! The answer of one run for surfaces that stream it and keep no list of blocks: the events of the
//! run come in, and what is new of its text goes out. Pure.
//!
//! Deltas (`run.delta`) may be lost, repeated or out of order; the end of a step and a status are
//! authoritative. Invariants: the text of each step is shown exactly once and in order by the end of
//! that step; a delta of an older attempt is never shown after one of a newer attempt; only the
//! present step is kept.

use super::answer_text::{AnswerOutput, AnswerText};
use super::block_list::ListChange;
use hob_wire::block::{Block, BlockDetails, BlockKind, BlockStatus, DeltaKind};
use hob_wire::content::Role;
use hob_wire::id::RunId;

/// A delta as it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextDelta<'a> {
    pub step: u32,
    pub attempt: u32,
    /// The byte offset of `text` in this attempt's text of this kind.
    pub offset: u64,
    pub kind: DeltaKind,
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
    answer: AnswerText,
    step: u32,
    /// 0 before the first delta of the step.
    attempt: u32,
    /// The reasoning and the text of the attempt. They are not split at Markdown blocks, which
    /// would hold back the beginning of a line.
    blocks: [Block; 2],
    /// Bytes of the reasoning up to which deltas were applied, with those that were lost.
    thinking_bytes: u64,
    /// The end of the step was applied, so later deltas of it are late.
    is_closed: bool,
    /// A delta was lost; the next status or the end of the step has its text.
    has_gap: bool,
}

/// Only one run is followed, so its id does not matter.
const ONE_RUN: RunId = RunId::NIL;
/// The places in [`AnswerStream::blocks`].
const THINKING: usize = 0;
const TEXT: usize = 1;

impl Default for AnswerStream {
    fn default() -> Self {
        AnswerStream::from_step(1)
    }
}

impl AnswerStream {
    /// Follows from `step` on: 1 for a run watched from its beginning, the present step for a run
    /// joined later (pass its status next).
    pub fn from_step(step: u32) -> Self {
        let step = step.max(1);
        AnswerStream {
            answer: AnswerText::new(ONE_RUN, step),
            step,
            attempt: 0,
            blocks: new_blocks(step, 0),
            thinking_bytes: 0,
            is_closed: false,
            has_gap: false,
        }
    }

    /// The text shown of the present step.
    pub fn shown(&self) -> &str {
        self.answer.shown()
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
        let (index, known) = match delta.kind {
            DeltaKind::Text => (TEXT, self.blocks[TEXT].text.len() as u64),
            DeltaKind::Thinking => (THINKING, self.thinking_bytes),
            DeltaKind::Tool => return false,
        };
        if delta.kind == DeltaKind::Text && delta.offset > known {
            return !std::mem::replace(&mut self.has_gap, true);
        }
        // No status has the reasoning, so what was lost of it is left out.
        let skip = usize::try_from(known.saturating_sub(delta.offset)).ok();
        // An offset inside a character comes only from a broken peer; such a delta is skipped.
        if let Some(new) = skip.and_then(|skip| delta.text.get(skip..)) {
            let end = delta.offset.saturating_add(delta.text.len() as u64);
            if index == THINKING {
                self.thinking_bytes = end;
            }
            self.append(index, new, out);
        }
        false
    }

    /// Applies the requested status.
    pub fn apply_status(&mut self, text: StepText<'_>, out: &mut Vec<AnswerOutput>) {
        self.has_gap = false;
        if !self.enter_attempt(text.step, text.attempt) {
            return;
        }
        // Deltas may have shown more than a status that was made before them.
        if let Some(new) = text.text.strip_prefix(self.blocks[TEXT].text.as_str()) {
            self.append(TEXT, new, out);
        }
    }

    /// Notes that the requested status will not come; the next gap asks for one again.
    pub fn status_failed(&mut self) {
        self.has_gap = false;
    }

    /// Applies the end of a step with its whole text. A repeated one changes nothing.
    pub fn apply_step_end(&mut self, text: StepText<'_>, out: &mut Vec<AnswerOutput>) {
        if text.step < self.step || (text.step == self.step && self.is_closed) {
            return;
        }
        if text.step > self.step {
            self.begin_step(text.step);
        }
        self.close(text.text, out);
    }

    /// Ends the present step without its end: a later one began. What is known of it is all.
    pub fn skip_to_step(&mut self, step: u32, out: &mut Vec<AnswerOutput>) {
        if step > self.step {
            self.answer.finish(&self.blocks, out);
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
            self.begin_step(self.step.saturating_add(1));
        }
        self.close(response, out);
    }

    /// Returns true if a delta of this attempt of this step can be shown now. Enters the attempt if
    /// it is the next one.
    fn enter_attempt(&mut self, step: u32, attempt: u32) -> bool {
        // Only the next step can begin here; a later one needs the ends in between.
        if self.is_closed && step == self.step.saturating_add(1) {
            self.begin_step(step);
        }
        // A later step waits for the end of this one. A missed delta of it leaves a gap, which the
        // next delta shows.
        if self.is_closed || step != self.step || attempt < self.attempt {
            return false;
        }
        if attempt > self.attempt {
            self.attempt = attempt;
            self.blocks = new_blocks(step, attempt);
            self.thinking_bytes = 0;
        }
        true
    }

    fn begin_step(&mut self, step: u32) {
        // A pending request stays pending, so two are never open at once.
        let has_gap = self.has_gap;
        *self = AnswerStream::from_step(step);
        self.has_gap = has_gap;
    }

    fn append(&mut self, index: usize, new: &str, out: &mut Vec<AnswerOutput>) {
        self.blocks[index].text.push_str(new);
        let text = new.to_owned();
        let change = ListChange::Appended { index, text };
        self.answer.update(&self.blocks, &[change], out);
    }

    /// Makes this the final text of the step.
    fn close(&mut self, text: &str, out: &mut Vec<AnswerOutput>) {
        text.clone_into(&mut self.blocks[TEXT].text);
        self.answer.finish(&self.blocks, out);
        self.is_closed = true;
        self.has_gap = false;
    }
}

fn new_blocks(step: u32, attempt: u32) -> [Block; 2] {
    [BlockKind::Thinking, BlockKind::Text].map(|kind| Block {
        id: format!("{kind:?}/{step}/{attempt}"),
        revision: 1,
        kind,
        run_id: Some(ONE_RUN),
        status: BlockStatus::Open,
        start: 0,
        text: String::new(),
        details: BlockDetails {
            step: Some(step),
            attempt: Some(attempt),
            role: Some(Role::Assistant),
            ..BlockDetails::default()
        },
    })
}

#[cfg(test)]
#[path = "answer_stream_tests.rs"]
mod tests;
