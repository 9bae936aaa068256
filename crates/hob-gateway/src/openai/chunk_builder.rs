//! What has been told to a client of the answer so far, and what comes next. Pure: pieces of the
//! run come in, words for the client go out.
//!
//! A chunk cannot be taken back. Invariant: the client is told a prefix of the answer at all
//! times, so when another attempt begins its words are compared with those already told; if they
//! differ the stream ends with a failure instead of a mixture.

use crate::openai::fault::Fault;
use hob_core::follow::{Follow, Kind, Output, Piece, Text};

/// Between the words of two steps of one answer.
const STEP_BREAK: &str = "\n\n";

/// Words for the client, in the order they are to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    Text(String),
    Thinking(String),
    /// Something is missing: the run's status tells it.
    AskStatus,
}

#[derive(Debug)]
pub(crate) struct Tale {
    follow: Follow,
    outputs: Vec<Output>,
    step: u32,
    attempt: u32,
    /// What the client was told of the present step.
    told: String,
    /// How far the present attempt has come; below `told` it only repeats.
    at: usize,
    /// Pieces of this step were lost and not yet found.
    has_hole: bool,
    /// The client was told some text of a step before this one.
    told_before: bool,
}

impl Default for Tale {
    fn default() -> Self {
        Tale {
            follow: Follow::default(),
            outputs: Vec::new(),
            step: 1,
            attempt: 0,
            told: String::new(),
            at: 0,
            has_hole: false,
            told_before: false,
        }
    }
}

impl Tale {
    /// A piece of the answer. A chat has no event at the end of a step: the next step ends it.
    pub(crate) fn piece(
        &mut self,
        piece: Piece<'_>,
        is_chat: bool,
        words: &mut Vec<Word>,
    ) -> Result<(), Fault> {
        if is_chat && piece.step > self.step {
            if self.has_hole {
                return Err(lost());
            }
            self.close_step_of_chat(piece.step);
        }
        self.follow.piece(piece, &mut self.outputs);
        if is_chat {
            self.note_step(piece.step);
        }
        if piece.step == self.step {
            self.attempt = self.attempt.max(piece.attempt);
        }
        self.tell(words)
    }

    /// The status that was asked for.
    pub(crate) fn status(&mut self, text: Text<'_>, words: &mut Vec<Word>) -> Result<(), Fault> {
        self.follow.status(text, &mut self.outputs);
        self.has_hole = false;
        self.tell(words)
    }

    /// The status that was asked for will not come; the next hole asks again.
    pub(crate) fn status_failed(&mut self) {
        self.follow.status_failed();
    }

    /// A step of a run ended with this text.
    pub(crate) fn step_ended(
        &mut self,
        text: Text<'_>,
        words: &mut Vec<Word>,
    ) -> Result<(), Fault> {
        self.note_step(text.step);
        self.follow.step_ended(text, &mut self.outputs);
        self.has_hole = false;
        self.tell(words)
    }

    /// The answer is whole: tells what is still missing of it.
    pub(crate) fn ended(&mut self, response: &str, words: &mut Vec<Word>) -> Result<(), Fault> {
        self.follow.ended(response, &mut self.outputs);
        self.tell(words)?;
        if self.told.starts_with(response) {
            return Ok(());
        }
        // The last step's pieces never came.
        match response.strip_prefix(self.told.as_str()) {
            Some(rest) => self.say(rest, words),
            None if self.has_hole || self.at < self.told.len() => return Err(lost()),
            None => {
                self.next_step(self.step + 1);
                self.say(response, words);
            }
        }
        Ok(())
    }

    fn tell(&mut self, words: &mut Vec<Word>) -> Result<(), Fault> {
        let mut outputs = std::mem::take(&mut self.outputs);
        for output in outputs.drain(..) {
            match output {
                Output::Show { step, kind, text } => {
                    self.note_step(step);
                    match kind {
                        Kind::Text => self.show(&text, words)?,
                        Kind::Thinking => words.push(Word::Thinking(text)),
                        // Calls are told whole at the end.
                        Kind::Tool => {}
                    }
                }
                Output::Restart { .. } => self.at = 0,
                // Thoughts are no part of the answer.
                Output::Missing { .. } => {}
                Output::AskStatus => {
                    self.has_hole = true;
                    words.push(Word::AskStatus);
                }
            }
        }
        self.outputs = outputs;
        Ok(())
    }

    fn show(&mut self, text: &str, words: &mut Vec<Word>) -> Result<(), Fault> {
        let repeated = self.told.get(self.at..).unwrap_or_default();
        if repeated.starts_with(text) {
            self.at += text.len();
            return Ok(());
        }
        let Some(new) = text.strip_prefix(repeated) else {
            return Err(Fault::model_failed(
                "The model's answer broke off and another one began differently; ask again.",
            ));
        };
        self.say(new, words);
        Ok(())
    }

    fn say(&mut self, text: &str, words: &mut Vec<Word>) {
        if self.told_before && self.told.is_empty() {
            words.push(Word::Text(STEP_BREAK.to_owned()));
        }
        self.told.push_str(text);
        self.at = self.told.len();
        words.push(Word::Text(text.to_owned()));
    }

    fn close_step_of_chat(&mut self, next: u32) {
        let shown = self.follow.shown().to_owned();
        // Steps that said nothing left no piece.
        for step in self.step..next {
            let (attempt, text) = if step == self.step {
                (self.attempt, shown.as_str())
            } else {
                (0, "")
            };
            let text = Text {
                step,
                attempt,
                text,
            };
            self.follow.step_ended(text, &mut self.outputs);
        }
    }

    fn note_step(&mut self, step: u32) {
        if step > self.step {
            self.next_step(step);
        }
    }

    fn next_step(&mut self, step: u32) {
        self.told_before |= !self.told.is_empty();
        self.told.clear();
        self.at = 0;
        self.has_hole = false;
        self.step = step;
        self.attempt = 0;
    }
}

fn lost() -> Fault {
    Fault::internal("The client read too slowly and a part of the answer is lost to it; ask again.")
}

#[cfg(test)]
#[path = "tale_tests.rs"]
mod tests;
