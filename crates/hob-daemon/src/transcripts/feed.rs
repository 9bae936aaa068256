//! The inputs of one run to its session's transcript.

use super::Transcripts;
use super::session_transcript::SessionTranscript;
use hob_core::transcript::{MessageOrigin, StepRef, StoredMessage, TranscriptInput};
use hob_models::ReplyDelta;
use hob_store::{StepOrigin, StoreError};
use hob_wire::block::QuestionKind;
use hob_wire::{Message, RunId};
use std::sync::Arc;

/// Tells a transcript what happens in one run. As long as it exists, the transcript stays in memory.
pub(crate) struct TranscriptFeed {
    transcripts: Transcripts,
    transcript: Arc<SessionTranscript>,
    run: RunId,
}

impl TranscriptFeed {
    pub(super) fn new(
        transcripts: Transcripts,
        transcript: Arc<SessionTranscript>,
        run: RunId,
    ) -> Self {
        TranscriptFeed {
            transcripts,
            transcript,
            run,
        }
    }

    /// Reads what a former daemon stored of the run.
    pub(crate) async fn load_stored(&self) -> Result<(), StoreError> {
        self.transcripts.start(&self.transcript).await
    }

    pub(crate) fn begin_run(&self) {
        self.apply([TranscriptInput::RunBegun { run: self.run }]);
    }

    pub(crate) fn begin_attempt(&self, step: u32, attempt: u32) {
        self.apply([TranscriptInput::Attempt(self.step_ref(step, attempt))]);
    }

    /// Adds a piece of an answer; `offset` is its place in the attempt's text of this kind.
    pub(crate) fn add_piece(&self, (step, attempt): (u32, u32), offset: u64, piece: ReplyDelta) {
        let at = self.step_ref(step, attempt);
        let input = match piece {
            ReplyDelta::Server { .. } => return,
            ReplyDelta::Text(text) => TranscriptInput::Text { at, offset, text },
            ReplyDelta::Thinking(text) => TranscriptInput::Thinking { at, offset, text },
            ReplyDelta::Tool { index, name, delta } => TranscriptInput::CallText {
                at,
                index: u32::try_from(index).unwrap_or(u32::MAX),
                name,
                text: delta,
            },
        };
        self.apply([input]);
    }

    /// Adds what one write of the run stored and what follows from it, in this order.
    pub(crate) fn add_step(&self, inputs: Vec<TranscriptInput>) {
        self.apply(inputs);
    }

    /// A message that the run stored.
    pub(crate) fn message(&self, message: Message, origin: Option<StepOrigin>) -> TranscriptInput {
        let (step, outcome) = match origin {
            Some(origin) => (self.step_ref(origin.step, origin.attempt), origin.outcome),
            None => (self.step_ref(0, 0), None),
        };
        let origin = MessageOrigin { step, outcome };
        TranscriptInput::Message(StoredMessage::new(message, Some(origin)))
    }

    pub(crate) fn call_begun(&self, call_id: &str) -> TranscriptInput {
        TranscriptInput::CallBegun {
            run: self.run,
            call_id: call_id.to_owned(),
        }
    }

    /// A question about the run or one of its calls.
    pub(crate) fn asked(
        &self,
        asks: QuestionKind,
        call_id: Option<&str>,
        sentence: String,
    ) -> TranscriptInput {
        TranscriptInput::Asked {
            run: self.run,
            asks,
            id: self.question_id(call_id),
            call_id: call_id.map(str::to_owned),
            sentence,
        }
    }

    pub(crate) fn answered(&self, call_id: Option<&str>) -> TranscriptInput {
        TranscriptInput::Answered {
            run: self.run,
            id: self.question_id(call_id),
        }
    }

    /// The id for the answer: of the call in doubt, or of the run that needs money.
    fn question_id(&self, call_id: Option<&str>) -> String {
        call_id.map_or_else(|| self.run.to_string(), str::to_owned)
    }

    fn step_ref(&self, step: u32, attempt: u32) -> StepRef {
        StepRef {
            run: self.run,
            step,
            attempt,
        }
    }

    fn apply(&self, inputs: impl IntoIterator<Item = TranscriptInput>) {
        self.transcripts.apply(&self.transcript, inputs);
    }
}

impl Drop for TranscriptFeed {
    fn drop(&mut self) {
        self.transcript.remove_feed();
        self.transcripts.release(&self.transcript);
    }
}

impl std::fmt::Debug for TranscriptFeed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TranscriptFeed")
            .field("run", &self.run)
            .finish_non_exhaustive()
    }
}
