//! Replies and failures of models, turned into journal entries, messages and ledger rows.

use super::driver::{PendingModelCall, RunDriver};
use super::journal::{EntryData, JournalEntry};
use super::replayed_run::text_result;
use super::schema;
use super::step_draft::StepDraft;
use super::tool_results::{decided_event, result_data};
use hob_core::failover::{ErrorClass, FailoverStep};
use hob_core::permission::canonical_json;
use hob_core::turn::{CallSpec, ModelAnswer, TurnEvent};
use hob_models::{ModelError, ModelReply, StopReason};
use hob_store::{LedgerWrite, NewMessage, StoreError};
use hob_wire::rooms::agent::{RunStep, RunStepPayload};
use hob_wire::work::Idempotency as EffectClass;
use hob_wire::{ContentPart, MessageContent, Role, TokenUsage};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

/// Most tool calls taken from one answer; the rest is dropped and the model asks again.
const CALLS_PER_ANSWER_MAX: usize = 64;
/// Text for a call that has the same id as another call of its answer.
pub(super) const REPEATED_CALL: &str = "Not run: repeated call id. Another call of the same answer has this id, so this one may be the same call twice. If it is another call, make it again.";
/// Most times that a step shortens a conversation that a provider rejects as too long.
const CONTEXT_CUTS_MAX: u32 = 4;

impl RunDriver {
    /// Writes the result of the current model call.
    pub(super) async fn apply_model_result(
        &mut self,
        answer: Result<ModelReply, ModelError>,
    ) -> Result<(), StoreError> {
        self.model_reply = None;
        let Some(call) = self.pending_call.take() else {
            return Ok(());
        };
        let draft = match answer {
            Ok(reply) => self.draft_reply(&call, reply),
            // The stop may have caused the error. The next start marks the open ledger row as
            // unknown and asks again.
            Err(_) if self.is_draining() => return Ok(()),
            Err(error) => self.draft_failure(&call, &error),
        };
        self.advance(draft).await
    }

    fn draft_reply(&self, call: &PendingModelCall, reply: ModelReply) -> StepDraft {
        let repeated = reply.stop == StopReason::Repeated;
        let stop_note = call.model_call.stop_note(&reply);
        let (parts, specs, repeated_ids) =
            self.assign_call_ids(call, reply.parts, &reply.repeated_calls);
        let text = text_of(&parts);
        // Some providers report no usage; the estimate keeps budgets working.
        let usage = reply.usage.unwrap_or_else(|| TokenUsage {
            input_tokens: call.model_call.input_tokens,
            output_tokens: call.model_call.candidate.count_tokens(&parts),
            cached_tokens: 0,
        });
        let micro_dollars = reply
            .micro_dollars
            .or_else(|| call.model_call.price_usage(&usage));
        let unfit = match &self.params.schema {
            // Only a final answer has to fit: one with tool calls is an intermediate step.
            Some(schema) if specs.is_empty() => schema::mismatch(schema, &text),
            _ => None,
        };
        let at = self.now_ms();
        let answer = ModelAnswer {
            calls: specs,
            tokens: usage.input_tokens.saturating_add(usage.output_tokens),
            micro_dollars,
            misfit: unfit.is_some(),
            repeated,
        };
        let data = EntryData {
            model: Some(reply.model.clone()),
            ..EntryData::default()
        };
        let mut draft = StepDraft::of(JournalEntry::with_data(
            TurnEvent::ModelDone { answer, at },
            data,
        ));
        // Refused like a denied call in the same write: nobody is asked and it never runs.
        draft.entries.extend(repeated_ids.into_iter().map(|call| {
            let data = result_data(text_result(&call, REPEATED_CALL, true));
            JournalEntry::with_data(decided_event(call, false, at), data)
        }));
        let content = message_content(parts);
        draft
            .messages
            .push(NewMessage::new(Role::Assistant, content));
        draft.ledger.push(LedgerWrite::Settle {
            call_key: call.key.clone(),
            usage,
            micro_dollars,
            model: reply.model.clone(),
        });
        let cost = self.cost_with(usage, micro_dollars);
        draft.cost = Some(cost);
        let (step, attempt) = self.replayed.turn.step_and_attempt();
        draft.event::<RunStep>(&RunStepPayload {
            run: self.live_view.run_of().clone(),
            step,
            attempt,
            model: reply.model,
            usage,
            cost,
            text: text.clone(),
        });
        draft.text = Some(text);
        draft.notes.extend(stop_note);
        if let Some(reason) = unfit {
            draft.message = Some(format!("The answer does not fit the schema: {reason}"));
            draft.closing_text = Some(schema::retry_request(&reason));
        }
        draft
    }

    /// Gives every call a new id that is unique in the session, and its idempotency class. Also
    /// returns the new ids of calls whose id the model used twice.
    fn assign_call_ids(
        &self,
        call: &PendingModelCall,
        parts: Vec<ContentPart>,
        repeated: &BTreeSet<String>,
    ) -> (Vec<ContentPart>, Vec<CallSpec>, Vec<String>) {
        let mut specs = Vec::new();
        let mut refused = Vec::new();
        let mut new_parts = Vec::with_capacity(parts.len());
        for part in parts {
            let ContentPart::ToolCall(mut tool_call) = part else {
                new_parts.push(part);
                continue;
            };
            if specs.len() >= CALLS_PER_ANSWER_MAX {
                continue;
            }
            let is_repeated = repeated.contains(&tool_call.id);
            tool_call.id = self.shared.new_call_id();
            refused.extend(is_repeated.then(|| tool_call.id.clone()));
            let effect = call.model_call.effects.get(&tool_call.name).copied();
            specs.push(CallSpec {
                id: tool_call.id.clone(),
                tool: tool_call.name.clone(),
                args: canonical_json(&tool_call.args),
                // The tool was not offered, but its service may reconnect before the call begins.
                // Until then the strictest class holds.
                effect: effect.unwrap_or(EffectClass::Opaque),
            });
            new_parts.push(ContentPart::ToolCall(tool_call));
        }
        (new_parts, specs, refused)
    }

    fn draft_failure(&mut self, call: &PendingModelCall, error: &ModelError) -> StepDraft {
        let at = self.now_ms();
        let mut draft = StepDraft::default();
        // Once any byte of an answer arrived, the provider has worked and may charge.
        let received = call.received.load(Ordering::Relaxed);
        if received || may_have_cost(error.class) {
            let call_key = call.key.clone();
            draft.ledger.push(LedgerWrite::Unknown { call_key });
            draft.entries.push(JournalEntry::new(TurnEvent::Lost {
                tokens: 0,
                micro_dollars: call.model_call.reserved,
                at,
            }));
            draft.cost = Some(self.cost_with(TokenUsage::default(), call.model_call.reserved));
        } else {
            draft.ledger.push(zero_cost_settlement(call));
        }
        let next = self.event_after_failure(call, error, &mut draft);
        draft.entries.push(JournalEntry::new(next));
        draft
    }

    /// Decides how the run continues after a failed model call.
    fn event_after_failure(
        &mut self,
        call: &PendingModelCall,
        error: &ModelError,
        draft: &mut StepDraft,
    ) -> TurnEvent {
        let at = self.now_ms();
        if error.class == ErrorClass::Context && self.shrink_context(call) {
            return TurnEvent::Retried { at };
        }
        let jitter = self.shared.deps.randomness.below(1_001);
        let id = call.model_call.candidate.id();
        let failover = self.attempts.failover.as_mut();
        let next = failover.map(|it| it.on_failure(error.class, error.retry_after_ms, jitter));
        match next {
            Some(FailoverStep::Retry { wait_ms }) => {
                self.attempts.wait_ms = wait_ms;
                TurnEvent::Retried { at }
            }
            Some(FailoverStep::NextModel { .. }) => {
                // The next model has a window of its own.
                self.attempts.room_cap = None;
                let note = format!("{id} could not answer: {}", error.message);
                draft.notes.push(note);
                TurnEvent::Retried { at }
            }
            Some(FailoverStep::GiveUp) | None => {
                draft.message = Some(format!("No model could answer. {}", error.message));
                TurnEvent::ModelFailed { at }
            }
        }
    }

    /// Drops older turns after a provider rejected the conversation as too long. Returns false if
    /// nothing can be dropped.
    fn shrink_context(&mut self, call: &PendingModelCall) -> bool {
        let messages = &call.model_call.prompt.messages;
        let persons = messages.iter().filter(|it| it.role == Role::User).count();
        // The last turn is never cut, so there must be an older one to drop.
        if persons < 2 || self.attempts.context_cuts >= CONTEXT_CUTS_MAX {
            return false;
        }
        let weigh = |message: &hob_models::PromptMessage| {
            call.model_call.candidate.count_tokens(&message.parts)
        };
        let weight: u64 = messages.iter().map(weigh).sum();
        self.attempts.context_cuts += 1;
        self.attempts.room_cap = Some(weight / 2);
        true
    }
}

/// The content of an answer's message: a lone text as it is.
fn message_content(parts: Vec<ContentPart>) -> MessageContent {
    match &parts[..] {
        [ContentPart::Text { text }] => MessageContent::Text(text.clone()),
        _ => MessageContent::Parts(parts),
    }
}

/// Settles a call that was refused before it could cost anything.
pub(super) fn zero_cost_settlement(call: &PendingModelCall) -> LedgerWrite {
    LedgerWrite::Settle {
        call_key: call.key.clone(),
        usage: TokenUsage::default(),
        micro_dollars: Some(0),
        model: call.model_call.candidate.id(),
    }
}

/// True if the provider may have worked, and may charge, without answering.
pub(crate) fn may_have_cost(class: ErrorClass) -> bool {
    matches!(
        class,
        ErrorClass::Timeout | ErrorClass::Network | ErrorClass::Protocol
    )
}

/// The text parts of an answer.
pub(crate) fn text_of(parts: &[ContentPart]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        ContentPart::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}
