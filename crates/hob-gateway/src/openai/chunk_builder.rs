//! Builds the chunks of a streamed answer. Pure: deltas of the run come in, chunks for the client
//! go out.
//!
//! A chunk cannot be taken back. Invariant: the client always has a prefix of the answer. If another
//! attempt of the model differs from what was sent, the stream ends with an error instead of a
//! mixture.

use hob_core::transcript::{AnswerOutput, AnswerStream, StepText, TextDelta};
use hob_wire::block::BlockKind;
use hob_wire::rooms::agent::ChatStep;

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

/// Another attempt of the model differs from what was sent, so the answer cannot be continued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DivergedAnswer;

#[derive(Debug, Default)]
pub struct ChunkBuilder {
    stream: AnswerStream,
    outputs: Vec<AnswerOutput>,
    /// The last step of which text was sent.
    sent_step: Option<u32>,
}

impl ChunkBuilder {
    /// Applies a delta. A chat has no event at the end of a step: the next step ends it.
    pub fn piece(
        &mut self,
        piece: TextDelta<'_>,
        is_chat: bool,
        chunks: &mut Vec<AnswerChunk>,
    ) -> Result<(), DivergedAnswer> {
        // What was lost of a chat is in its reply, and nothing is sent before it.
        if is_chat && !self.stream.has_gap() {
            self.stream.skip_to_step(piece.step, &mut self.outputs);
        }
        let needs_status = self.stream.apply_delta(piece, &mut self.outputs);
        self.drain_outputs(chunks)?;
        chunks.extend(needs_status.then_some(AnswerChunk::AskStatus));
        Ok(())
    }

    /// Applies the requested status.
    pub fn status(
        &mut self,
        text: StepText<'_>,
        chunks: &mut Vec<AnswerChunk>,
    ) -> Result<(), DivergedAnswer> {
        self.stream.apply_status(text, &mut self.outputs);
        self.drain_outputs(chunks)
    }

    /// Notes that the status request failed. The next gap requests it again.
    pub fn status_failed(&mut self) {
        self.stream.status_failed();
    }

    /// Applies the final text of a step.
    pub fn step_ended(
        &mut self,
        text: StepText<'_>,
        chunks: &mut Vec<AnswerChunk>,
    ) -> Result<(), DivergedAnswer> {
        self.stream.apply_step_end(text, &mut self.outputs);
        self.drain_outputs(chunks)
    }

    /// Applies the texts of the steps before the answer of a chat.
    pub fn earlier_steps(
        &mut self,
        steps: &[ChatStep],
        chunks: &mut Vec<AnswerChunk>,
    ) -> Result<(), DivergedAnswer> {
        for earlier in steps {
            let text = StepText {
                step: earlier.step,
                attempt: earlier.attempt,
                text: &earlier.text,
            };
            self.stream.apply_step_end(text, &mut self.outputs);
            let answer = earlier.step.saturating_add(1);
            self.stream.skip_to_step(answer, &mut self.outputs);
        }
        self.drain_outputs(chunks)
    }

    /// Returns true if the whole text of the answer was sent.
    pub fn is_complete(&self, response: &str) -> bool {
        self.stream.shown() == response
    }

    /// Sends what is still missing of the complete answer.
    pub fn finish(
        &mut self,
        response: &str,
        chunks: &mut Vec<AnswerChunk>,
    ) -> Result<(), DivergedAnswer> {
        self.stream.apply_run_end(response, &mut self.outputs);
        self.drain_outputs(chunks)
    }

    fn drain_outputs(&mut self, chunks: &mut Vec<AnswerChunk>) -> Result<(), DivergedAnswer> {
        for output in self.outputs.drain(..) {
            match output {
                AnswerOutput::Show {
                    step,
                    kind: BlockKind::Text,
                    text,
                } => {
                    // Sent only when a step has text, so that silent steps leave no empty lines.
                    if self.sent_step.is_some_and(|sent| sent != step) {
                        chunks.push(AnswerChunk::Text(STEP_BREAK.to_owned()));
                    }
                    self.sent_step = Some(step);
                    chunks.push(AnswerChunk::Text(text));
                }
                AnswerOutput::Show { text, .. } => chunks.push(AnswerChunk::Thinking(text)),
                AnswerOutput::Replaced { .. } => return Err(DivergedAnswer),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "chunk_builder_tests.rs"]
mod tests;
