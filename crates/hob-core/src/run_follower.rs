//! Rebuilds the text of one run from its stream. Pure: deltas, status texts and logged step ends
//! come in; the text to show goes out.
//!
//! Deltas (`run.delta`) are volatile: they may be lost, repeated or out of order. A status and the
//! logged end of a step are authoritative. Invariants: the text of each step is shown exactly once
//! and in order by the end of that step, whatever order the deltas arrive in; a delta of an older
//! attempt is never shown after one of a newer attempt; the text held back is bounded.

pub use crate::transcript::{StepText, StreamKind, TextDelta};
use std::collections::BTreeMap;

/// The bytes of deltas held back until the text before them is known. Beyond it they are dropped:
/// the requested status contains them too.
pub const HELD_BYTES_MAX: usize = 256 * 1_024;

/// The next action of a user interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FollowOutput {
    /// Append this to the text of its step.
    Show {
        step: u32,
        kind: StreamKind,
        text: String,
    },
    /// Drop everything shown of this step: the model was asked again.
    Restart { step: u32, attempt: u32 },
    /// Text of this kind is lost for good: no status repeats it.
    Missing { step: u32, kind: StreamKind },
    /// Request the run's status and pass it to [`RunFollower::apply_status`].
    RequestStatus,
}

/// The known state of one run's stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFollower {
    step: u32,
    /// 0 before the first delta of the step.
    attempt: u32,
    /// The text shown of this attempt.
    shown: String,
    thinking: u64,
    tool: u64,
    /// The end of the step was applied, so later deltas of it are late.
    closed: bool,
    /// Text beyond a gap, by its offset.
    held: BTreeMap<u64, String>,
    held_bytes: usize,
    status_requested: bool,
}

impl Default for RunFollower {
    fn default() -> Self {
        RunFollower::from_step(1)
    }
}

impl RunFollower {
    /// Follows from `step` on: 1 for a run watched from its beginning, the present step for a run
    /// joined later (pass its status next).
    pub fn from_step(step: u32) -> Self {
        RunFollower {
            step: step.max(1),
            attempt: 0,
            shown: String::new(),
            thinking: 0,
            tool: 0,
            closed: false,
            held: BTreeMap::new(),
            held_bytes: 0,
            status_requested: false,
        }
    }

    /// Applies a delta.
    pub fn apply_delta(&mut self, piece: TextDelta<'_>, out: &mut Vec<FollowOutput>) {
        if !self.enter_attempt(piece.step, piece.attempt, out) {
            return;
        }
        match piece.kind {
            StreamKind::Text => self.apply_text(piece, out),
            StreamKind::Thinking | StreamKind::Tool => self.apply_other(piece, out),
        }
    }

    /// Applies the requested status.
    pub fn apply_status(&mut self, text: StepText<'_>, out: &mut Vec<FollowOutput>) {
        self.status_requested = false;
        // Deltas may have shown more than a status that was made before them.
        if self.enter_attempt(text.step, text.attempt, out) && text.text.len() > self.shown.len() {
            self.show_whole(text.text, out);
            self.show_held(out);
        }
    }

    /// Notes that the requested status will not come; the next gap requests one again.
    pub fn status_failed(&mut self) {
        self.status_requested = false;
    }

    /// Applies the end of a step with its whole text. It is logged, so it arrives in order and is
    /// never lost.
    pub fn apply_step_end(&mut self, text: StepText<'_>, out: &mut Vec<FollowOutput>) {
        // A replayed log repeats ends that were applied before.
        if text.step < self.step || (text.step == self.step && self.closed) {
            return;
        }
        if text.step > self.step {
            // The log no longer holds the ends of the steps before.
            self.begin_step(text.step, text.attempt);
        } else if text.attempt != self.attempt {
            self.next_attempt(text.attempt, out);
        }
        self.show_whole(text.text, out);
        self.closed = true;
        self.forget_held();
    }

    /// Applies the end of the run with its answer.
    pub fn apply_run_end(&mut self, response: &str, out: &mut Vec<FollowOutput>) {
        // A run stopped within a step may end with less text than was shown, or with other text;
        // then the shown text stays.
        if !self.closed && response.starts_with(&self.shown) {
            self.show_whole(response, out);
        }
        self.closed = true;
        self.forget_held();
    }

    /// The text shown of the present step.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Returns true if a delta of this attempt of this step can be shown now. Enters the attempt if
    /// it is the next one.
    fn enter_attempt(&mut self, step: u32, attempt: u32, out: &mut Vec<FollowOutput>) -> bool {
        // Only the next step can begin here; a later one needs the logged ends in between.
        if self.closed && step == self.step.saturating_add(1) {
            self.begin_step(step, attempt);
            return true;
        }
        // A later step waits for the end of this one. A missed delta of it leaves a gap, which the
        // next delta detects.
        if self.closed || step != self.step || attempt < self.attempt {
            return false;
        }
        if attempt > self.attempt {
            self.next_attempt(attempt, out);
        }
        true
    }

    fn begin_step(&mut self, step: u32, attempt: u32) {
        *self = RunFollower {
            attempt,
            // A pending request stays pending, so two are never open at once.
            status_requested: self.status_requested,
            ..RunFollower::from_step(step)
        };
    }

    fn next_attempt(&mut self, attempt: u32, out: &mut Vec<FollowOutput>) {
        let step = self.step;
        if !self.shown.is_empty() || self.thinking > 0 || self.tool > 0 {
            out.push(FollowOutput::Restart { step, attempt });
        }
        self.begin_step(step, attempt);
    }

    fn apply_text(&mut self, piece: TextDelta<'_>, out: &mut Vec<FollowOutput>) {
        let known = self.shown.len() as u64;
        if piece.offset > known {
            self.hold_back(piece);
            if !self.status_requested {
                self.status_requested = true;
                out.push(FollowOutput::RequestStatus);
            }
            return;
        }
        self.append(piece.offset, piece.text, out);
        self.show_held(out);
    }

    /// Shows the part of `text` beyond the shown text.
    fn append(&mut self, offset: u64, text: &str, out: &mut Vec<FollowOutput>) {
        let known = (self.shown.len() as u64).saturating_sub(offset);
        // An offset inside a character comes only from a broken peer; such a delta is skipped.
        let rest = usize::try_from(known).ok().and_then(|at| text.get(at..));
        if let Some(rest) = rest.filter(|rest| !rest.is_empty()) {
            self.shown.push_str(rest);
            out.push(FollowOutput::Show {
                step: self.step,
                kind: StreamKind::Text,
                text: rest.to_owned(),
            });
        }
    }

    /// Replaces the shown text by `whole`.
    fn show_whole(&mut self, whole: &str, out: &mut Vec<FollowOutput>) {
        if !whole.starts_with(&self.shown) {
            // The shown text is not a prefix of `whole`: only a fault upstream does that. The
            // authoritative text wins.
            let (step, attempt) = (self.step, self.attempt);
            out.push(FollowOutput::Restart { step, attempt });
            self.shown.clear();
        }
        self.append(0, whole, out);
    }

    fn apply_other(&mut self, piece: TextDelta<'_>, out: &mut Vec<FollowOutput>) {
        let (step, kind) = (self.step, piece.kind);
        let known = match kind {
            StreamKind::Tool => &mut self.tool,
            StreamKind::Thinking | StreamKind::Text => &mut self.thinking,
        };
        // No status contains thinking or tool arguments, so this gap is never filled.
        if piece.offset > *known {
            out.push(FollowOutput::Missing { step, kind });
        }
        let skip = known.saturating_sub(piece.offset);
        let rest = usize::try_from(skip)
            .ok()
            .and_then(|at| piece.text.get(at..));
        if let Some(rest) = rest.filter(|rest| !rest.is_empty()) {
            *known = piece.offset.saturating_add(piece.text.len() as u64);
            let text = rest.to_owned();
            out.push(FollowOutput::Show { step, kind, text });
        }
    }

    fn hold_back(&mut self, piece: TextDelta<'_>) {
        // Dropping everything keeps the bound simple; the pending status fills the gap.
        if self.held_bytes.saturating_add(piece.text.len()) > HELD_BYTES_MAX {
            self.forget_held();
            return;
        }
        let former = self.held.insert(piece.offset, piece.text.to_owned());
        let freed = former.map_or(0, |text| text.len());
        self.held_bytes = (self.held_bytes + piece.text.len()).saturating_sub(freed);
    }

    fn show_held(&mut self, out: &mut Vec<FollowOutput>) {
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
#[path = "run_follower_tests.rs"]
mod tests;
