//! The text of one run for printers that cannot take anything back: a terminal line, a pipe, a
//! stream of chunks. It reads a [`super::BlockList`] after each change.
//!
//! Invariants: the text of each step is shown once, in order and whole by the end of the step; if
//! the model is asked again and answers the same, nothing is repeated; if it answers otherwise,
//! [`AnswerOutput::Replaced`] comes before the new text.

use super::block_list::ListChange;
use hob_wire::block::{Block, BlockKind};
use hob_wire::content::Role;
use hob_wire::id::RunId;

/// The next action of a printer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerOutput {
    /// Append this. `kind` is a text or thinking.
    Show {
        step: u32,
        kind: BlockKind,
        text: String,
    },
    /// The text that follows replaces everything shown of this step.
    Replaced { step: u32 },
}

impl AnswerOutput {
    /// The step that it belongs to.
    pub fn step(&self) -> u32 {
        match self {
            AnswerOutput::Show { step, .. } | AnswerOutput::Replaced { step } => *step,
        }
    }
}

/// What was shown of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerText {
    run: RunId,
    step: u32,
    /// The text shown of this step.
    shown: String,
    /// The block that a piece may be appended to without a comparison.
    last: Option<String>,
    /// The shown reasoning of this step: its block and its length.
    thinking: Option<(String, usize)>,
}

impl AnswerText {
    /// Shows a run from `step` on: 1 for the whole run.
    pub fn new(run: RunId, step: u32) -> Self {
        AnswerText {
            run,
            step,
            shown: String::new(),
            last: None,
            thinking: None,
        }
    }

    /// The text shown of the present step.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Shows what is new after `changes` of the list.
    pub fn update(
        &mut self,
        blocks: &[Block],
        changes: &[ListChange],
        out: &mut Vec<AnswerOutput>,
    ) {
        if let [ListChange::Appended { index, text }] = changes
            && let Some(block) = blocks.get(*index)
            && self.last.as_deref() == Some(&block.id)
        {
            return self.show_text(text.clone(), out);
        }
        if !changes.is_empty() {
            self.refresh(blocks, out);
        }
    }

    /// Shows what is new after any number of changes.
    pub fn refresh(&mut self, blocks: &[Block], out: &mut Vec<AnswerOutput>) {
        self.compare(blocks, false, out);
    }

    /// Shows what is missing at the end of the run.
    pub fn finish(&mut self, blocks: &[Block], out: &mut Vec<AnswerOutput>) {
        self.compare(blocks, true, out);
    }

    fn compare(&mut self, blocks: &[Block], is_end: bool, out: &mut Vec<AnswerOutput>) {
        let run = Some(self.run);
        let first = self.step;
        let step_of = |block: &Block| block.details.step.filter(|step| *step >= first);
        let mut own = blocks.iter().filter(|block| block.run_id == run).peekable();
        while let Some(block) = own.next() {
            let Some(step) = step_of(block) else {
                continue;
            };
            let mut of_step = vec![block];
            while let Some(next) = own.next_if(|next| step_of(next) == Some(step)) {
                of_step.push(next);
            }
            let is_stored = of_step.iter().any(|block| block.details.seq.is_some());
            self.compare_step(step, &of_step, is_stored || is_end, out);
        }
    }

    /// Shows what is new of a step. `is_final`: its text does not change any more.
    fn compare_step(
        &mut self,
        step: u32,
        blocks: &[&Block],
        is_final: bool,
        out: &mut Vec<AnswerOutput>,
    ) {
        if step != self.step {
            *self = AnswerText::new(self.run, step);
        }
        self.last = None;
        for block in blocks.iter().filter(|it| it.kind == BlockKind::Thinking) {
            self.show_thinking(block, out);
        }
        let is_text = |block: &&&Block| {
            block.kind == BlockKind::Text && block.details.role == Some(Role::Assistant)
        };
        let texts = || blocks.iter().filter(is_text);
        let text: String = texts().map(|block| block.text.as_str()).collect();
        if let Some(rest) = text.strip_prefix(self.shown.as_str()) {
            self.show_text(rest.to_owned(), out);
            self.last = texts().next_back().map(|block| block.id.clone());
        } else if is_final || !self.shown.starts_with(&text) {
            out.push(AnswerOutput::Replaced { step });
            self.shown.clear();
            self.show_text(text, out);
        }
    }

    fn show_text(&mut self, text: String, out: &mut Vec<AnswerOutput>) {
        if text.is_empty() {
            return;
        }
        self.shown.push_str(&text);
        let step = self.step;
        let kind = BlockKind::Text;
        out.push(AnswerOutput::Show { step, kind, text });
    }

    /// Shows new reasoning. That of a later attempt is left out: the text decides what is repeated.
    fn show_thinking(&mut self, block: &Block, out: &mut Vec<AnswerOutput>) {
        let first = || (block.id.clone(), 0);
        let (id, known) = self.thinking.get_or_insert_with(first);
        if *id != block.id {
            return;
        }
        let Some(rest) = block.text.get(*known..).filter(|rest| !rest.is_empty()) else {
            return;
        };
        *known = block.text.len();
        out.push(AnswerOutput::Show {
            step: self.step,
            kind: BlockKind::Thinking,
            text: rest.to_owned(),
        });
    }
}

#[cfg(test)]
#[path = "answer_text_tests.rs"]
mod tests;
