//! What of a run appears where: its words on stdout, everything about them beside it. Pure: it
//! says what to print and prints nothing.
//!
//! A stream cannot be taken back. When the model is asked again, the new text is compared with
//! what stands already: as long as it says the same nothing is repeated, and where it differs
//! that is said before it is printed whole.

use super::flow::Flow;
use crate::render::{Screen, Tone};
use hob_core::follow::{Kind, Output};

/// What a person is told before a text that replaces the one above.
pub const REPLACED: &str = "(the model was asked again; this replaces the text above)";

/// Something to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Print {
    /// On stdout, as it is.
    Words(String),
    /// A line of its own, beside the result.
    Aside(String),
}

/// The part of the screen that one run fills.
#[derive(Clone, Debug)]
pub struct Page {
    screen: Screen,
    /// Whether thinking is shown: only to a person who looks.
    shows_thinking: bool,
    flow: Flow,
    kind: Kind,
    step: u32,
    /// The text of the present step that stands on the page.
    standing: String,
    /// The text of a later attempt, as long as it says what stands already.
    again: Option<String>,
}

impl Page {
    pub fn new(screen: &Screen) -> Self {
        Page {
            shows_thinking: screen.width.is_some(),
            flow: Flow::new(screen.width),
            screen: screen.clone(),
            kind: Kind::Text,
            step: 0,
            standing: String::new(),
            again: None,
        }
    }

    /// Prints what a follower says; returns whether it asks for a status.
    pub fn show(&mut self, outputs: Vec<Output>, out: &mut Vec<Print>) -> bool {
        let mut asks = false;
        for output in outputs {
            match output {
                Output::Show { step, kind, text } => self.piece(step, kind, &text, out),
                Output::Restart { .. } => self.again = Some(String::new()),
                Output::Missing { step, kind } => self.piece(step, kind, " […] ", out),
                Output::AskStatus => asks = true,
            }
        }
        asks
    }

    /// The present step ended: what stands must be what the model said.
    pub fn step_ended(&mut self, out: &mut Vec<Print>) {
        if let Some(again) = self.again.take() {
            self.replace(again, out);
        }
    }

    /// Ends the line that the words stand on.
    pub fn break_line(&mut self, out: &mut Vec<Print>) {
        let end = self.flow.end_line();
        self.print(&end, out);
    }

    /// Makes room for a line that is not the model's, where both appear on the same screen.
    pub fn make_room(&mut self, out: &mut Vec<Print>) {
        if self.screen.width.is_some() {
            self.break_line(out);
        }
    }

    /// A line beside the words.
    pub fn aside(&mut self, line: String, out: &mut Vec<Print>) {
        self.make_room(out);
        out.push(Print::Aside(line));
    }

    fn piece(&mut self, step: u32, kind: Kind, text: &str, out: &mut Vec<Print>) {
        if step != self.step {
            self.begin_step(step, out);
        }
        match kind {
            // The call itself is shown when it begins.
            Kind::Tool => {}
            Kind::Thinking if !self.shows_thinking || self.again.is_some() => {}
            Kind::Thinking => self.words(kind, text, out),
            Kind::Text => self.text(text, out),
        }
    }

    fn begin_step(&mut self, step: u32, out: &mut Vec<Print>) {
        self.step_ended(out);
        // What the model said before its calls and what it says after them are paragraphs.
        if !self.standing.is_empty() {
            self.break_line(out);
        }
        self.step = step;
        self.standing.clear();
    }

    fn text(&mut self, text: &str, out: &mut Vec<Print>) {
        let Some(mut again) = self.again.take() else {
            self.standing.push_str(text);
            return self.words(Kind::Text, text, out);
        };
        again.push_str(text);
        if self.standing.starts_with(&again) {
            self.again = Some(again);
        } else if let Some(rest) = again.strip_prefix(&self.standing) {
            let rest = rest.to_owned();
            self.standing = again;
            self.words(Kind::Text, &rest, out);
        } else {
            self.replace(again, out);
        }
    }

    /// Prints `text` in place of what stands, unless that is the same.
    fn replace(&mut self, text: String, out: &mut Vec<Print>) {
        if text == self.standing {
            return;
        }
        self.break_line(out);
        self.aside(self.screen.paint(Tone::Quiet, REPLACED), out);
        self.words(Kind::Text, &text, out);
        self.standing = text;
    }

    fn words(&mut self, kind: Kind, text: &str, out: &mut Vec<Print>) {
        if kind != self.kind {
            let was_thinking = self.kind == Kind::Thinking;
            self.break_line(out);
            self.kind = kind;
            if was_thinking {
                self.print("\n", out);
            }
        }
        let flowed = self.flow.push(text);
        self.print(&flowed, out);
    }

    fn print(&mut self, text: &str, out: &mut Vec<Print>) {
        if text.is_empty() {
            return;
        }
        let text = match self.kind {
            Kind::Thinking => self.screen.paint(Tone::Quiet, text),
            Kind::Text | Kind::Tool => text.to_owned(),
        };
        match out.last_mut() {
            Some(Print::Words(words)) => words.push_str(&text),
            _ => out.push(Print::Words(text)),
        }
    }
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
