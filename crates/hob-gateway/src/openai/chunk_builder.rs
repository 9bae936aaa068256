//! Builds the chunks of a streamed answer. Pure: deltas of the run come in, chunks for the client
//! go out.
//!
//! A chunk cannot be taken back. Invariant: the client always has a prefix of the answer. When
//! another attempt of the model begins, its text is compared with what was sent; if it differs, the
//! stream ends with an error instead of a mixture.

use hob_core::run_follower::{FollowOutput, RunFollower, StepText, StreamKind, TextDelta};

/// The separator between the texts of two steps.
const STEP_BREAK: &str = "\n\n";

/// A chunk for the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerChunk {
    Text(String),
    Thinking(String),
    /// Deltas were lost: the caller must ask for the run's status.
    AskStatus,
}

/// The reason why an answer cannot be continued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokenAnswer {
    /// Another attempt of the model differs from what was sent.
    Diverged,
    /// Deltas were lost and cannot be recovered.
    Lost,
}

#[derive(Debug)]
pub struct ChunkBuilder {
    follow: RunFollower,
    outputs: Vec<FollowOutput>,
    step: u32,
    attempt: u32,
    /// The text of the current step that was sent.
    sent: String,
    /// The length of the current attempt's text. Below the length of `sent` it only repeats.
    attempt_at: usize,
    /// Deltas of this step were lost and not yet recovered.
    has_hole: bool,
    /// Some text of an earlier step was sent.
    sent_earlier_step: bool,
}

impl Default for ChunkBuilder {
    fn default() -> Self {
        ChunkBuilder {
            follow: RunFollower::default(),
            outputs: Vec::new(),
            step: 1,
            attempt: 0,
            sent: String::new(),
            attempt_at: 0,
            has_hole: false,
            sent_earlier_step: false,
        }
    }
}

impl ChunkBuilder {
    /// Applies a delta. A chat has no event at the end of a step: the next step ends it.
    pub fn piece(
        &mut self,
        piece: TextDelta<'_>,
        is_chat: bool,
        chunks: &mut Vec<AnswerChunk>,
    ) -> Result<(), BrokenAnswer> {
        if is_chat && piece.step > self.step {
            // A chat has no status to recover from, so a lost delta cannot be repaired.
            if self.has_hole {
                return Err(BrokenAnswer::Lost);
            }
            self.close_step_of_chat(piece.step);
        }
        self.follow.apply_delta(piece, &mut self.outputs);
        if is_chat {
            self.advance_to(piece.step);
        }
        if piece.step == self.step {
            self.attempt = self.attempt.max(piece.attempt);
        }
        self.drain_outputs(chunks)
    }

    /// Applies the requested status.
    pub fn status(
        &mut self,
        text: StepText<'_>,
        chunks: &mut Vec<AnswerChunk>,
    ) -> Result<(), BrokenAnswer> {
        self.follow.apply_status(text, &mut self.outputs);
        self.has_hole = false;
        self.drain_outputs(chunks)
    }

    /// Notes that the status request failed. The next gap requests it again.
    pub fn status_failed(&mut self) {
        self.follow.status_failed();
    }

    /// Applies the final text of a step.
    pub fn step_ended(
        &mut self,
        text: StepText<'_>,
        chunks: &mut Vec<AnswerChunk>,
    ) -> Result<(), BrokenAnswer> {
        self.advance_to(text.step);
        self.follow.apply_step_end(text, &mut self.outputs);
        self.has_hole = false;
        self.drain_outputs(chunks)
    }

    /// Sends what is still missing of the complete answer.
    pub fn finish(
        &mut self,
        response: &str,
        chunks: &mut Vec<AnswerChunk>,
    ) -> Result<(), BrokenAnswer> {
        self.follow.apply_run_end(response, &mut self.outputs);
        self.drain_outputs(chunks)?;
        // A run that was stopped may end with less text than was sent.
        if self.sent.starts_with(response) {
            return Ok(());
        }
        // The deltas of the last step never arrived.
        match response.strip_prefix(self.sent.as_str()) {
            Some(rest) => self.push_text(rest, chunks),
            // The sent text is no prefix of the response, and a gap or an unfinished repeat
            // explains it.
            None if self.has_hole || self.attempt_at < self.sent.len() => {
                return Err(BrokenAnswer::Lost);
            }
            // The sent text belongs to an earlier step, so the response is a step of its own.
            None => {
                self.next_step(self.step + 1);
                self.push_text(response, chunks);
            }
        }
        Ok(())
    }

    fn drain_outputs(&mut self, chunks: &mut Vec<AnswerChunk>) -> Result<(), BrokenAnswer> {
        let mut outputs = std::mem::take(&mut self.outputs);
        for output in outputs.drain(..) {
            match output {
                FollowOutput::Show { step, kind, text } => {
                    self.advance_to(step);
                    match kind {
                        StreamKind::Text => self.send_new(&text, chunks)?,
                        StreamKind::Thinking => chunks.push(AnswerChunk::Thinking(text)),
                        // Tool calls are sent whole at the end.
                        StreamKind::Tool => {}
                    }
                }
                // The new attempt may repeat the sent text, which is then skipped.
                FollowOutput::Restart { .. } => self.attempt_at = 0,
                // Only thinking and tool deltas can be lost for good; neither is part of the text.
                FollowOutput::Missing { .. } => {}
                FollowOutput::RequestStatus => {
                    self.has_hole = true;
                    chunks.push(AnswerChunk::AskStatus);
                }
            }
        }
        self.outputs = outputs;
        Ok(())
    }

    fn send_new(&mut self, text: &str, chunks: &mut Vec<AnswerChunk>) -> Result<(), BrokenAnswer> {
        let repeated = self.sent.get(self.attempt_at..).unwrap_or_default();
        if repeated.starts_with(text) {
            self.attempt_at += text.len();
            return Ok(());
        }
        let Some(new) = text.strip_prefix(repeated) else {
            return Err(BrokenAnswer::Diverged);
        };
        self.push_text(new, chunks);
        Ok(())
    }

    fn push_text(&mut self, text: &str, chunks: &mut Vec<AnswerChunk>) {
        // Written only when the step has text, so that silent steps leave no empty lines.
        if self.sent_earlier_step && self.sent.is_empty() {
            chunks.push(AnswerChunk::Text(STEP_BREAK.to_owned()));
        }
        self.sent.push_str(text);
        self.attempt_at = self.sent.len();
        chunks.push(AnswerChunk::Text(text.to_owned()));
    }

    fn close_step_of_chat(&mut self, next: u32) {
        let shown = self.follow.shown().to_owned();
        // Steps without text had no delta, so they are closed here too.
        for step in self.step..next {
            let (attempt, text) = if step == self.step {
                (self.attempt, shown.as_str())
            } else {
                (0, "")
            };
            let text = StepText {
                step,
                attempt,
                text,
            };
            self.follow.apply_step_end(text, &mut self.outputs);
        }
    }

    fn advance_to(&mut self, step: u32) {
        if step > self.step {
            self.next_step(step);
        }
    }

    fn next_step(&mut self, step: u32) {
        self.sent_earlier_step |= !self.sent.is_empty();
        self.sent.clear();
        self.attempt_at = 0;
        self.has_hole = false;
        self.step = step;
        self.attempt = 0;
    }
}

#[cfg(test)]
#[path = "chunk_builder_tests.rs"]
mod tests;
