//! The display of one run: applies its events to the transcript and prints the result.
//!
//! Invariant: with `--json` it prints nothing; the watcher prints the events instead.

use super::followed_event::text_delta;
use super::lines;
use super::output_tail::OutputTail;
use super::transcript::{PrintOp, RunTranscript};
use crate::failure::CommandFailure;
use crate::render::{ScreenStyle, TextTone};
use crate::terminal::Terminal;
use hob_core::run_follower::{FollowOutput, RunFollower, StepText};
use hob_wire::rooms::agent::{
    RunCompletedPayload, RunDeltaPayload, RunStepPayload, RunToolPayload, RunView, ToolPhase,
};
use hob_wire::rooms::tool::{OutputStream, ToolOutputPayload};

#[derive(Debug)]
pub(super) struct RunDisplay<'c> {
    terminal: &'c Terminal,
    follow: RunFollower,
    page: RunTranscript,
    tail: OutputTail,
    /// The follower found a gap and needs the run's status.
    asks: bool,
}

impl<'c> RunDisplay<'c> {
    pub(super) fn new(terminal: &'c Terminal, step: u32) -> Self {
        RunDisplay {
            terminal,
            follow: RunFollower::from_step(step),
            page: RunTranscript::new(terminal.screen()).sharing_stderr(terminal.shares_stderr()),
            tail: OutputTail::default(),
            asks: false,
        }
    }

    /// The style of notes on stderr.
    pub(super) fn asides(&self) -> &'c ScreenStyle {
        self.terminal.stderr_screen()
    }

    /// Returns true once after the follower requested a status.
    pub(super) fn take_status_request(&mut self) -> bool {
        std::mem::take(&mut self.asks)
    }

    pub(super) fn piece(&mut self, delta: &RunDeltaPayload) -> Result<(), CommandFailure> {
        self.apply(|follow, out| follow.apply_delta(text_delta(delta), out))
    }

    pub(super) fn step(&mut self, step: &RunStepPayload) -> Result<(), CommandFailure> {
        let text = StepText {
            step: step.step,
            attempt: step.attempt,
            text: &step.text,
        };
        self.apply(|follow, out| follow.apply_step_end(text, out))?;
        self.print(RunTranscript::step_ended)
    }

    pub(super) fn status(&mut self, view: &RunView) -> Result<(), CommandFailure> {
        let text = StepText {
            step: view.step,
            attempt: view.attempt,
            text: &view.text,
        };
        self.apply(|follow, out| follow.apply_status(text, out))
    }

    /// Records that the status call failed; the next gap requests it again.
    pub(super) fn status_failed(&mut self) {
        self.follow.status_failed();
    }

    pub(super) fn tool(&mut self, tool: &RunToolPayload) -> Result<(), CommandFailure> {
        let screen = self.asides();
        match (tool.phase, &tool.denial, &tool.result) {
            (ToolPhase::Start, ..) => self.aside(lines::call(&tool.call, screen)),
            (ToolPhase::End, Some(denial), _) => self.aside(lines::denied_call(denial, screen)),
            (ToolPhase::End, None, Some(result)) if result.is_error => {
                self.aside(lines::failed_call(&tool.call, result, screen))
            }
            (ToolPhase::End, None, Some(result)) => match lines::failed_exit(result) {
                Some(line) => self.aside(screen.paint(TextTone::Warning, &format!("  {line}"))),
                None => Ok(()),
            },
            (ToolPhase::End, None, None) => Ok(()),
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

    pub(super) fn completed(
        &mut self,
        completed: &RunCompletedPayload,
    ) -> Result<(), CommandFailure> {
        self.apply(|follow, out| follow.apply_run_end(&completed.response, out))?;
        self.print(RunTranscript::step_ended)?;
        if !completed.notes.is_empty() {
            self.break_line()?;
        }
        for note in &completed.notes {
            self.aside(format!("note: {}", lines::sentence(note)))?;
        }
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

    fn apply(
        &mut self,
        speak: impl FnOnce(&mut RunFollower, &mut Vec<FollowOutput>),
    ) -> Result<(), CommandFailure> {
        let mut outputs = Vec::new();
        speak(&mut self.follow, &mut outputs);
        let mut asks = false;
        self.print(|page, out| asks = page.show(outputs, out))?;
        self.asks |= asks;
        Ok(())
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
