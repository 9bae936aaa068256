//! One run on the screen: what its follower says, on the page it has, through the terminal.
//!
//! Invariant: with `--json` nothing is shown here; the events speak for themselves.

use super::heard::piece;
use super::lines;
use super::page::{Page, Print};
use super::tail::Tail;
use crate::failure::Failure;
use crate::render::{Screen, Tone};
use crate::terminal::Terminal;
use hob_core::follow::{Follow, Output, Text};
use hob_wire::rooms::agent::{
    RunCompletedPayload, RunDeltaPayload, RunStepPayload, RunToolPayload, RunView, ToolPhase,
};
use hob_wire::rooms::tool::{OutputStream, ToolOutputPayload};

#[derive(Debug)]
pub(super) struct Shown<'c> {
    terminal: &'c Terminal,
    follow: Follow,
    page: Page,
    tail: Tail,
    /// The follower found a hole and wants to know how the run stands.
    asks: bool,
}

impl<'c> Shown<'c> {
    pub(super) fn new(terminal: &'c Terminal, step: u32) -> Self {
        Shown {
            terminal,
            follow: Follow::from_step(step),
            page: Page::new(terminal.screen()),
            tail: Tail::default(),
            asks: false,
        }
    }

    /// How lines beside the words are drawn.
    pub(super) fn asides(&self) -> &'c Screen {
        self.terminal.asides()
    }

    /// Whether a status is wanted; told once.
    pub(super) fn wants_status(&mut self) -> bool {
        std::mem::take(&mut self.asks)
    }

    pub(super) fn piece(&mut self, delta: &RunDeltaPayload) -> Result<(), Failure> {
        self.speak(|follow, out| follow.piece(piece(delta), out))
    }

    pub(super) fn step(&mut self, step: &RunStepPayload) -> Result<(), Failure> {
        let text = Text {
            step: step.step,
            attempt: step.attempt,
            text: &step.text,
        };
        self.speak(|follow, out| follow.step_ended(text, out))?;
        self.print(Page::step_ended)
    }

    pub(super) fn status(&mut self, view: &RunView) -> Result<(), Failure> {
        let text = Text {
            step: view.step,
            attempt: view.attempt,
            text: &view.text,
        };
        self.speak(|follow, out| follow.status(text, out))
    }

    /// The daemon is away; the next hole asks again.
    pub(super) fn status_failed(&mut self) {
        self.follow.status_failed();
    }

    pub(super) fn tool(&mut self, tool: &RunToolPayload) -> Result<(), Failure> {
        let screen = self.asides();
        match (tool.phase, &tool.denial, &tool.result) {
            (ToolPhase::Start, ..) => self.aside(lines::call(&tool.call, screen)),
            (ToolPhase::End, Some(denial), _) => self.aside(lines::denied_call(denial, screen)),
            (ToolPhase::End, None, Some(result)) if result.is_error => {
                self.aside(lines::failed_call(&tool.call, result, screen))
            }
            (ToolPhase::End, None, Some(result)) => match lines::bad_exit(result) {
                Some(line) => self.aside(screen.paint(Tone::Warning, &format!("  {line}"))),
                None => Ok(()),
            },
            (ToolPhase::End, None, None) => Ok(()),
        }
    }

    /// What a tool prints while it runs, for a person only: a script finds it in the result.
    pub(super) fn output(&mut self, output: &ToolOutputPayload) -> Result<(), Failure> {
        let screen = self.asides();
        if self.terminal.json || screen.rows.is_none() {
            return Ok(());
        }
        if !self.tail.is_drawn() {
            self.make_room()?;
        }
        let call = output.of.call_id.as_deref().unwrap_or_default();
        let is_error = output.stream == OutputStream::Stderr;
        self.tail.take(call, is_error, &output.text);
        Terminal::prompt(self.tail.draw(&Terminal::measured(screen)));
        Ok(())
    }

    pub(super) fn completed(&mut self, completed: &RunCompletedPayload) -> Result<(), Failure> {
        self.speak(|follow, out| follow.ended(&completed.response, out))?;
        self.print(Page::step_ended)?;
        for note in &completed.notes {
            self.aside(format!("note: {}", lines::sentence(note)))?;
        }
        Ok(())
    }

    /// A line beside the words.
    pub(super) fn aside(&mut self, line: String) -> Result<(), Failure> {
        self.print(|page, out| page.aside(line, out))
    }

    /// Makes room for something that is not the model's.
    pub(super) fn make_room(&mut self) -> Result<(), Failure> {
        self.tail.settle();
        self.print(Page::make_room)
    }

    /// Ends the line that the words stand on.
    pub(super) fn break_line(&mut self) -> Result<(), Failure> {
        self.print(Page::break_line)
    }

    fn speak(&mut self, speak: impl FnOnce(&mut Follow, &mut Vec<Output>)) -> Result<(), Failure> {
        let mut outputs = Vec::new();
        speak(&mut self.follow, &mut outputs);
        let mut asks = false;
        self.print(|page, out| asks = page.show(outputs, out))?;
        self.asks |= asks;
        Ok(())
    }

    fn print(&mut self, write: impl FnOnce(&mut Page, &mut Vec<Print>)) -> Result<(), Failure> {
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
                Print::Words(words) => {
                    self.terminal.bytes(words.as_bytes())?;
                    self.terminal.flush()?;
                }
                Print::Aside(line) => Terminal::note(line),
            }
        }
        Ok(())
    }
}
