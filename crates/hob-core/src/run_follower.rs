//! Following one run's stream of text. Pure: pieces, status texts and logged ends come in, what to
//! show goes out.
//!
//! Pieces (`run.delta`) are volatile: they may be lost, repeated or out of order. What a status
//! says and how a step ended are the truth. Invariants: however the pieces come, the text of each
//! step is shown exactly once and in order by the end of that step; a piece of a former attempt is
//! never shown after one of a later attempt; what is held back is bounded.

use std::collections::BTreeMap;

/// Pieces held back until the text before them is known, in bytes. Beyond it they are forgotten:
/// the status that was asked for holds them too.
pub const HELD_BYTES_MAX: usize = 256 * 1_024;

/// Which text of a step a piece belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    Thinking,
    /// The arguments of a tool call as the model writes them.
    Tool,
}

/// A piece as it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    pub step: u32,
    pub attempt: u32,
    /// Where `text` begins in this attempt's text of this kind, in bytes.
    pub offset: u64,
    pub kind: Kind,
    pub text: &'a str,
}

/// The text of one attempt as far as it goes, from a status or from the end of its step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<'a> {
    pub step: u32,
    pub attempt: u32,
    pub text: &'a str,
}

/// What a face does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Show this after what was shown of its step.
    Show { step: u32, kind: Kind, text: String },
    /// Drop everything shown of this step: the model was asked again.
    Restart { step: u32, attempt: u32 },
    /// Something of this kind, which no status repeats, is lost for good.
    Missing { step: u32, kind: Kind },
    /// Ask for the run's status and hand in what it says.
    AskStatus,
}

/// What is known of one run's stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Follow {
    step: u32,
    /// 0 before the first piece of the step.
    attempt: u32,
    /// The text shown of this attempt.
    shown: String,
    thinking: u64,
    tool: u64,
    /// The end of the step was heard: what still comes of it is late.
    closed: bool,
    /// Text beyond a hole, by its offset.
    held: BTreeMap<u64, String>,
    held_bytes: usize,
    asking: bool,
}

impl Default for Follow {
    fn default() -> Self {
        Follow::from_step(1)
    }
}

impl Follow {
    /// Follows from `step` on: 1 for a run that is watched from its beginning, the present step
    /// for one that is joined on its way (hand in its status next).
    pub fn from_step(step: u32) -> Self {
        Follow {
            step: step.max(1),
            attempt: 0,
            shown: String::new(),
            thinking: 0,
            tool: 0,
            closed: false,
            held: BTreeMap::new(),
            held_bytes: 0,
            asking: false,
        }
    }

    /// A piece arrived.
    pub fn piece(&mut self, piece: Piece<'_>, out: &mut Vec<Output>) {
        if !self.enter(piece.step, piece.attempt, out) {
            return;
        }
        match piece.kind {
            Kind::Text => self.text_piece(piece, out),
            Kind::Thinking | Kind::Tool => self.other_piece(piece, out),
        }
    }

    /// The status that was asked for arrived.
    pub fn status(&mut self, text: Text<'_>, out: &mut Vec<Output>) {
        self.asking = false;
        if self.enter(text.step, text.attempt, out) && text.text.len() > self.shown.len() {
            self.fill(text.text, out);
            self.show_held(out);
        }
    }

    /// The status that was asked for will not come; the next hole asks again.
    pub fn status_failed(&mut self) {
        self.asking = false;
    }

    /// A step ended with this whole text. This is logged, so it comes in order and is never lost.
    pub fn step_ended(&mut self, text: Text<'_>, out: &mut Vec<Output>) {
        if text.step < self.step || (text.step == self.step && self.closed) {
            return;
        }
        if text.step > self.step {
            // The log no longer has how the steps before ended.
            self.begin(text.step, text.attempt);
        } else if text.attempt != self.attempt {
            self.next_attempt(text.attempt, out);
        }
        self.fill(text.text, out);
        self.closed = true;
        self.forget_held();
    }

    /// The run ended with this answer.
    pub fn ended(&mut self, response: &str, out: &mut Vec<Output>) {
        // A run that was stopped within a step may end with less than was shown, or with other
        // words; then what was shown stands.
        if !self.closed && response.starts_with(&self.shown) {
            self.fill(response, out);
        }
        self.closed = true;
        self.forget_held();
    }

    /// The text shown of the present step.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Whether something of this attempt of this step can be shown now; goes there if it is next.
    fn enter(&mut self, step: u32, attempt: u32, out: &mut Vec<Output>) -> bool {
        if self.closed && step == self.step.saturating_add(1) {
            self.begin(step, attempt);
            return true;
        }
        // A later step waits for the end of this one; what is missed of it leaves a hole, which
        // the next piece finds.
        if self.closed || step != self.step || attempt < self.attempt {
            return false;
        }
        if attempt > self.attempt {
            self.next_attempt(attempt, out);
        }
        true
    }

    fn begin(&mut self, step: u32, attempt: u32) {
        *self = Follow {
            attempt,
            asking: self.asking,
            ..Follow::from_step(step)
        };
    }

    fn next_attempt(&mut self, attempt: u32, out: &mut Vec<Output>) {
        let step = self.step;
        if !self.shown.is_empty() || self.thinking > 0 || self.tool > 0 {
            out.push(Output::Restart { step, attempt });
        }
        self.begin(step, attempt);
    }

    fn text_piece(&mut self, piece: Piece<'_>, out: &mut Vec<Output>) {
        let known = self.shown.len() as u64;
        if piece.offset > known {
            self.hold(piece);
            if !self.asking {
                self.asking = true;
                out.push(Output::AskStatus);
            }
            return;
        }
        self.append(piece.offset, piece.text, out);
        self.show_held(out);
    }

    /// Shows the part of `text` that lies beyond what was shown.
    fn append(&mut self, offset: u64, text: &str, out: &mut Vec<Output>) {
        let known = (self.shown.len() as u64).saturating_sub(offset);
        let rest = usize::try_from(known).ok().and_then(|at| text.get(at..));
        if let Some(rest) = rest.filter(|rest| !rest.is_empty()) {
            self.shown.push_str(rest);
            out.push(Output::Show {
                step: self.step,
                kind: Kind::Text,
                text: rest.to_owned(),
            });
        }
    }

    /// Makes `whole` what is shown.
    fn fill(&mut self, whole: &str, out: &mut Vec<Output>) {
        if !whole.starts_with(&self.shown) {
            // What was shown is not how the text begins: only a fault upstream does that, and the
            // truth must win.
            let (step, attempt) = (self.step, self.attempt);
            out.push(Output::Restart { step, attempt });
            self.shown.clear();
        }
        self.append(0, whole, out);
    }

    fn other_piece(&mut self, piece: Piece<'_>, out: &mut Vec<Output>) {
        let (step, kind) = (self.step, piece.kind);
        let known = match kind {
            Kind::Tool => &mut self.tool,
            Kind::Thinking | Kind::Text => &mut self.thinking,
        };
        if piece.offset > *known {
            out.push(Output::Missing { step, kind });
        }
        let skip = known.saturating_sub(piece.offset);
        let rest = usize::try_from(skip)
            .ok()
            .and_then(|at| piece.text.get(at..));
        if let Some(rest) = rest.filter(|rest| !rest.is_empty()) {
            *known = piece.offset.saturating_add(piece.text.len() as u64);
            let text = rest.to_owned();
            out.push(Output::Show { step, kind, text });
        }
    }

    fn hold(&mut self, piece: Piece<'_>) {
        if self.held_bytes.saturating_add(piece.text.len()) > HELD_BYTES_MAX {
            self.forget_held();
            return;
        }
        let former = self.held.insert(piece.offset, piece.text.to_owned());
        let freed = former.map_or(0, |text| text.len());
        self.held_bytes = (self.held_bytes + piece.text.len()).saturating_sub(freed);
    }

    fn show_held(&mut self, out: &mut Vec<Output>) {
        while let Some(entry) = self.held.first_entry()
            && *entry.key() <= self.shown.len() as u64
        {
            let (offset, text) = entry.remove_entry();
            self.held_bytes = self.held_bytes.saturating_sub(text.len());
            self.append(offset, &text, out);
        }
    }

    fn forget_held(&mut self) {
        self.held.clear();
        self.held_bytes = 0;
    }
}

#[cfg(test)]
#[path = "follow_tests.rs"]
mod tests;
