//! The display of one run: prints its text and its calls from its blocks, and the output of running
//! tools.
//!
//! Invariants: with `--json` it prints nothing; the watcher prints the events instead. The lines of a
//! step's calls come after its text and before the next step's.

use super::lines;
use super::output_tail::OutputTail;
use super::transcript::{PrintOp, RunTranscript};
use crate::failure::CommandFailure;
use crate::render::{ScreenStyle, TextTone};
use crate::terminal::Terminal;
use hob_core::transcript::{AnswerOutput, AnswerText, ListChange};
use hob_wire::block::{Block, BlockContent, BlockStatus};
use hob_wire::id::RunId;
use hob_wire::rooms::agent::ToolCallState;
use hob_wire::rooms::tool::{OutputStream, ToolOutputPayload};
use hob_wire::{ContentPart, ToolCall, ToolResult};
use std::collections::BTreeMap;

#[derive(Debug)]
pub(super) struct RunDisplay<'c> {
    terminal: &'c Terminal,
    run: RunId,
    answer: AnswerText,
    page: RunTranscript,
    tail: OutputTail,
    /// The first step that is shown.
    first_step: u32,
    /// The step of the last printed text.
    step: u32,
    /// Calls with a printed line, by the id of their block, and whether their end is printed too.
    calls: BTreeMap<String, bool>,
    /// The denied calls in words, by call id.
    refused: BTreeMap<String, String>,
}

impl<'c> RunDisplay<'c> {
    pub(super) fn new(terminal: &'c Terminal, run: RunId, step: u32) -> Self {
        RunDisplay {
            terminal,
            run,
            answer: AnswerText::new(run, step),
            page: RunTranscript::new(terminal.screen()),
            tail: OutputTail::default(),
            first_step: step,
            step,
            calls: BTreeMap::new(),
            refused: BTreeMap::new(),
        }
    }

    /// The style of notes on stderr.
    pub(super) fn asides(&self) -> &'c ScreenStyle {
        self.terminal.stderr_screen()
    }

    /// Shows what changed in the blocks.
    pub(super) fn blocks(
        &mut self,
        blocks: &[Block],
        changes: &[ListChange],
    ) -> Result<(), CommandFailure> {
        let mut outputs = Vec::new();
        self.answer.update(blocks, changes, &mut outputs);
        self.show(outputs, blocks)?;
        let is_text = |change: &ListChange| matches!(change, ListChange::Appended { .. });
        if !changes.iter().all(is_text) {
            self.calls(blocks, u32::MAX)?;
        }
        Ok(())
    }

    /// Shows everything that the blocks have and that is not shown yet.
    pub(super) fn refresh(&mut self, blocks: &[Block]) -> Result<(), CommandFailure> {
        let mut outputs = Vec::new();
        self.answer.refresh(blocks, &mut outputs);
        self.show(outputs, blocks)?;
        self.calls(blocks, u32::MAX)
    }

    /// Shows the end of the run.
    pub(super) fn finish(
        &mut self,
        blocks: &[Block],
        notes: &[String],
    ) -> Result<(), CommandFailure> {
        let mut outputs = Vec::new();
        self.answer.finish(blocks, &mut outputs);
        self.show(outputs, blocks)?;
        self.calls(blocks, u32::MAX)?;
        for note in notes {
            self.aside(format!("note: {}", lines::sentence(note)))?;
        }
        Ok(())
    }

    /// Returns the denied calls in words, by call id.
    pub(super) fn take_refused(&mut self) -> BTreeMap<String, String> {
        std::mem::take(&mut self.refused)
    }

    fn show(&mut self, outputs: Vec<AnswerOutput>, blocks: &[Block]) -> Result<(), CommandFailure> {
        for output in outputs {
            let step = output.step();
            if step > self.step {
                self.calls(blocks, step - 1)?;
                self.step = step;
            }
            self.print(|page, out| page.show(output, out))?;
        }
        Ok(())
    }

    /// Prints the lines of calls that began or ended, up to this step.
    fn calls(&mut self, blocks: &[Block], last: u32) -> Result<(), CommandFailure> {
        let (run, steps) = (Some(self.run), self.first_step..=last);
        let is_due = |block: &&Block| {
            block.run_id == run && block.details.step.is_some_and(|step| steps.contains(&step))
        };
        for block in blocks.iter().filter(is_due) {
            let Some(BlockContent::Call {
                call: Some(call),
                state,
                denial,
                ..
            }) = &block.details.content
            else {
                continue;
            };
            let screen = self.asides();
            let has_begun = !matches!(
                state,
                ToolCallState::Asked | ToolCallState::Denied | ToolCallState::Cancelled
            );
            let shown = self.calls.get(&block.id).copied();
            if has_begun && shown.is_none() {
                self.aside(lines::call(call, screen))?;
                self.calls.insert(block.id.clone(), false);
            }
            if block.status == BlockStatus::Open || shown == Some(true) {
                continue;
            }
            self.calls.insert(block.id.clone(), true);
            if let Some(denial) = denial {
                let words = lines::describe_call(call);
                self.refused.insert(denial.call_id.clone(), words);
                self.aside(lines::denied_call(denial, screen))?;
            } else if *state != ToolCallState::Cancelled || shown.is_some() {
                self.result(call, blocks)?;
            }
        }
        Ok(())
    }

    /// Prints the line of a call that failed.
    fn result(&mut self, call: &ToolCall, blocks: &[Block]) -> Result<(), CommandFailure> {
        let screen = self.asides();
        match blocks
            .iter()
            .rev()
            .find_map(|block| result_of(block, &call.id))
        {
            Some(result) if result.is_error => {
                self.aside(lines::failed_call(call, &result, screen))
            }
            Some(result) => match lines::failed_exit(&result) {
                Some(line) => self.aside(screen.paint(TextTone::Warning, &format!("  {line}"))),
                None => Ok(()),
            },
            None => Ok(()),
        }
    }

    /// Shows output of a running tool, on a terminal only: a script finds it in the result.
    pub(super) fn output(&mut self, output: &ToolOutputPayload) -> Result<(), CommandFailure> {
        let screen = self.asides();
        if self.terminal.json || screen.rows.is_none() {
            return Ok(());
        }
        if !self.tail.is_drawn() {
            self.make_room()?;
        }
        let call = output.call.call_id.as_deref().unwrap_or_default();
        let is_error = output.stream == OutputStream::Stderr;
        self.tail.push_output(call, is_error, &output.text);
        Terminal::prompt(self.tail.draw(&Terminal::remeasured(screen)));
        Ok(())
    }

    /// Prints a note to stderr.
    pub(super) fn aside(&mut self, line: String) -> Result<(), CommandFailure> {
        self.print(|page, out| page.aside(line, out))
    }

    /// Ends the current line before text that is not the model's.
    pub(super) fn make_room(&mut self) -> Result<(), CommandFailure> {
        self.tail.settle();
        self.print(RunTranscript::make_room)
    }

    /// Ends the current line of the model's text.
    pub(super) fn break_line(&mut self) -> Result<(), CommandFailure> {
        self.print(RunTranscript::break_line)
    }

    fn print(
        &mut self,
        write: impl FnOnce(&mut RunTranscript, &mut Vec<PrintOp>),
    ) -> Result<(), CommandFailure> {
        let mut out = Vec::new();
        write(&mut self.page, &mut out);
        if self.terminal.json {
            return Ok(());
        }
        if !out.is_empty() {
            self.tail.settle();
        }
        for print in out {
            match print {
                PrintOp::Words(words) => {
                    self.terminal.bytes(words.as_bytes())?;
                    self.terminal.flush()?;
                }
                PrintOp::Aside(line) => Terminal::note(line),
            }
        }
        Ok(())
    }
}

/// The result of a call, if this is the block of its output.
fn result_of(block: &Block, call: &str) -> Option<ToolResult> {
    let Some(BlockContent::Output {
        call_id, is_error, ..
    }) = &block.details.content
    else {
        return None;
    };
    let text = block.text.clone();
    (call_id == call).then(|| ToolResult {
        id: call_id.clone(),
        content: vec![ContentPart::Text { text }],
        is_error: *is_error,
    })
}
