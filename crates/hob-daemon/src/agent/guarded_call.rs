//! One call of a model whose answer is watched for repetitions.
//!
//! Invariants: what is emitted is what [`RepetitionGuard`] releases, piece by piece; once it finds a
//! repetition, the connection is closed and the released text is the answer.

use super::model_call::ModelCall;
use super::model_results::text_of;
use hob_core::turn::repetition::RepetitionGuard;
use hob_models::{ModelError, ModelReply, ReplyDelta, StopReason};
use hob_wire::{ContentPart, TokenUsage};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use tokio::sync::Notify;

/// The characters of a repeated line in a note.
const QUOTED_CHARS: usize = 80;

/// The guard and the text that it released.
struct GuardedText {
    guard: RepetitionGuard,
    text: String,
}

impl ModelCall {
    /// Calls the model and emits each piece of its answer.
    pub(crate) async fn ask(
        &self,
        emit: &mut (dyn FnMut(ReplyDelta) + Send),
    ) -> Result<ModelReply, ModelError> {
        let Some(scope) = self.line_scope else {
            return self.candidate.ask(&self.prompt, emit).await;
        };
        // A std mutex: held for one piece, never across an await.
        let guarded = Mutex::new(GuardedText {
            guard: RepetitionGuard::new(scope),
            text: String::new(),
        });
        let repeats = Notify::new();
        let mut filter = |piece| match piece {
            ReplyDelta::Text(piece) => {
                let mut guarded = guarded.lock().unwrap_or_else(PoisonError::into_inner);
                let released = guarded.guard.push(&piece);
                guarded.text.push_str(&released);
                if !released.is_empty() {
                    emit(ReplyDelta::Text(released));
                }
                if guarded.guard.found().is_some() {
                    repeats.notify_one();
                }
            }
            other => emit(other),
        };
        let reply = tokio::select! {
            biased;
            () = repeats.notified() => None,
            reply = self.candidate.ask(&self.prompt, &mut filter) => Some(reply?),
        };
        let GuardedText { mut guard, text } =
            guarded.into_inner().unwrap_or_else(PoisonError::into_inner);
        // The last line has no end, so it may still be held back.
        let rest = guard.finish();
        if !rest.is_empty() {
            emit(ReplyDelta::Text(rest.clone()));
        }
        let is_call = |part: &ContentPart| matches!(part, ContentPart::ToolCall(_));
        match reply {
            // A call goes on with the work, whatever was said before it.
            Some(reply) if guard.found().is_none() || reply.parts.iter().any(is_call) => Ok(reply),
            _ => Ok(self.repeated_reply(text + &rest)),
        }
    }

    /// The answer that ends before the repetition. The stream was closed, so the usage is estimated.
    fn repeated_reply(&self, text: String) -> ModelReply {
        let parts = vec![ContentPart::Text { text }];
        ModelReply {
            usage: Some(TokenUsage {
                input_tokens: self.input_tokens,
                output_tokens: self.candidate.count_tokens(&parts),
                cached_tokens: 0,
            }),
            parts,
            repeated_calls: BTreeSet::new(),
            usage_estimated: true,
            micro_dollars: None,
            stop: StopReason::Repeated,
            model: self.candidate.id(),
        }
    }

    /// The note for the person about an answer that ended early.
    pub(crate) fn stop_note(&self, reply: &ModelReply) -> Option<String> {
        let profile = self.candidate.facts().profile;
        let note = match reply.stop {
            StopReason::Length => match profile {
                Some(profile) => format!(
                    "The answer was cut: the demo model answers with at most {} tokens.",
                    profile.output_tokens
                ),
                None => "The answer was cut at the model's output limit.".to_owned(),
            },
            StopReason::Content => "The provider withheld a part of the answer.".to_owned(),
            StopReason::Repeated => {
                let words = text_of(&reply.parts);
                let last = words.lines().map(str::trim).rfind(|line| !line.is_empty());
                let last: String = last
                    .unwrap_or_default()
                    .chars()
                    .take(QUOTED_CHARS)
                    .collect();
                format!("The answer ends where the model began to repeat itself: “{last}”.")
            }
            StopReason::End | StopReason::Tools => return None,
        };
        Some(note)
    }
}
