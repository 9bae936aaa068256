//! What came back: answers and failures of models, rulings, results of tools. Each becomes
//! entries of the journal; several that came at once become one write.

use super::draft::Draft;
use super::driver::{Done, Driver, OpenCall};
use super::hands::{self, Asked, Ran};
use super::journal::{Entry, With};
use super::schema;
use super::story::told;
use futures_util::{FutureExt, StreamExt};
use hob_core::failover::{ErrorClass, Next};
use hob_core::permission::canonical;
use hob_core::turn::{Answer, CallSpec, CallState, Event, Found};
use hob_kit::failpoint;
use hob_models::{ModelError, Reply, Stop};
use hob_store::{LedgerWrite, NewMessage, StoreError};
use hob_wire::rooms::agent::{RunStep, RunStepPayload};
use hob_wire::rooms::tool::Probed;
use hob_wire::work::Effect as EffectClass;
use hob_wire::{Content, Part, Role, ToolResult, Usage};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

/// Calls of one answer; what is more is left out and the model asks again.
const CALLS_MAX: usize = 64;
/// What a model is told of a call that came with the id of another call of its answer.
pub(super) const REPEATED_CALL: &str = "Not run: repeated call id. Another call of the same answer has this id, so this one may be the same call twice. If it is another call, make it again.";
/// How often a conversation is made shorter because a provider finds it too long.
const SQUEEZES_MAX: u32 = 4;

impl Driver {
    /// Takes the end of a model call.
    pub(super) async fn answered(
        &mut self,
        answer: Result<Reply, ModelError>,
    ) -> Result<(), StoreError> {
        self.answer = None;
        let Some(call) = self.call.take() else {
            return Ok(());
        };
        let draft = match answer {
            Ok(reply) => self.reply(&call, reply),
            // The next start asks again.
            Err(_) if self.is_draining() => return Ok(()),
            Err(error) => self.failure(&call, &error),
        };
        self.advance(draft).await
    }

    fn reply(&self, call: &OpenCall, reply: Reply) -> Draft {
        let (parts, specs, repeated) = self.own_calls(call, reply.parts, &reply.repeated_calls);
        let text = text_of(&parts);
        let usage = reply.usage.unwrap_or_else(|| Usage {
            input_tokens: call.order.input_tokens,
            output_tokens: call.order.candidate.count_tokens(&parts),
            cached_tokens: 0,
        });
        let micro_dollars = reply.micro_dollars.or_else(|| call.order.price_of(&usage));
        let unfit = match &self.params.schema {
            Some(schema) if specs.is_empty() => schema::misfit(schema, &text),
            _ => None,
        };
        let at = self.at();
        let answer = Answer {
            calls: specs,
            tokens: usage.input_tokens.saturating_add(usage.output_tokens),
            micro_dollars,
            misfit: unfit.is_some(),
        };
        let with = With {
            model: Some(reply.model.clone()),
            ..With::default()
        };
        let mut draft = Draft::of(Entry::with(Event::ModelDone { answer, at }, with));
        // Refused like a denied call, in the same write: nobody is asked for it and it never runs.
        draft.entries.extend(repeated.into_iter().map(|call| {
            let with = with_result(told(&call, REPEATED_CALL, true));
            Entry::with(decided(call, false, at), with)
        }));
        draft.messages.push(NewMessage::new(
            Role::Assistant,
            match &parts[..] {
                [Part::Text { text }] => Content::Text(text.clone()),
                _ => Content::Parts(parts),
            },
        ));
        draft.ledger.push(LedgerWrite::Settle {
            call_key: call.key.clone(),
            usage,
            micro_dollars,
            model: reply.model.clone(),
        });
        let cost = self.cost_with(usage, micro_dollars);
        draft.cost = Some(cost);
        let (step, attempt) = self.story.turn.place();
        draft.event::<RunStep>(&RunStepPayload {
            of: self.now.of().clone(),
            step,
            attempt,
            model: reply.model,
            usage,
            cost,
            text: text.clone(),
        });
        draft.text = Some(text);
        draft.notes.extend(stop_note(reply.stop));
        if let Some(reason) = unfit {
            draft.message = Some(format!("The answer does not fit the schema: {reason}"));
            draft.closing_words = Some(schema::ask_again(&reason));
        }
        draft
    }

    /// Gives every call an id of our own, unique in the session, and says what repeating it does.
    /// Comes with our ids of the calls that the model gave the id of another.
    fn own_calls(
        &self,
        call: &OpenCall,
        parts: Vec<Part>,
        repeated: &BTreeSet<String>,
    ) -> (Vec<Part>, Vec<CallSpec>, Vec<String>) {
        let mut specs = Vec::new();
        let mut refused = Vec::new();
        let mut kept = Vec::with_capacity(parts.len());
        for part in parts {
            let Part::ToolCall(mut asked) = part else {
                kept.push(part);
                continue;
            };
            if specs.len() >= CALLS_MAX {
                continue;
            }
            let is_repeated = repeated.contains(&asked.id);
            asked.id = self.shared.new_call_id();
            refused.extend(is_repeated.then(|| asked.id.clone()));
            let mut effect = call.order.effects.get(&asked.name).copied();
            if failpoint::broken(101) {
                effect = Some(EffectClass::Keyed);
            }
            specs.push(CallSpec {
                id: asked.id.clone(),
                tool: asked.name.clone(),
                args: canonical(&asked.args),
                // A tool that was not on offer may come back with its service before the call
                // is begun, and nobody knows yet what repeating it does.
                effect: effect.unwrap_or(EffectClass::Opaque),
            });
            kept.push(Part::ToolCall(asked));
        }
        (kept, specs, refused)
    }

    fn failure(&mut self, call: &OpenCall, error: &ModelError) -> Draft {
        let at = self.at();
        let mut draft = Draft::default();
        let heard = call.heard.load(Ordering::Relaxed);
        if heard || may_have_cost(error.class) {
            let call_key = call.key.clone();
            draft.ledger.push(LedgerWrite::Unknown { call_key });
            draft.entries.push(Entry::new(Event::Lost {
                tokens: 0,
                micro_dollars: call.order.reserved,
                at,
            }));
            draft.cost = Some(self.cost_with(Usage::default(), call.order.reserved));
        } else {
            draft.ledger.push(unused(call));
        }
        let next = self.after_failure(call, error, &mut draft);
        draft.entries.push(Entry::new(next));
        draft
    }

    /// Whether the same step is tried again, and how.
    fn after_failure(&mut self, call: &OpenCall, error: &ModelError, draft: &mut Draft) -> Event {
        let at = self.at();
        if error.class == ErrorClass::Context && self.squeeze(call) {
            return Event::Retried { at };
        }
        let jitter = self.shared.parts.dice.below(1_001);
        let id = call.order.candidate.id();
        let failover = self.tries.failover.as_mut();
        let hint = error.retry_after_ms.filter(|_| !failpoint::broken(52));
        let next = failover.map(|it| it.failed(error.class, hint, jitter));
        match next {
            Some(Next::Retry { wait_ms }) => {
                self.tries.wait_ms = wait_ms;
                Event::Retried { at }
            }
            Some(Next::NextModel { .. }) => {
                self.tries.room_cap = None;
                let note = format!("{id} could not answer: {}", error.message);
                draft.notes.push(note);
                Event::Retried { at }
            }
            Some(Next::GiveUp) | None => {
                draft.message = Some(format!("No model could answer. {}", error.message));
                Event::ModelFailed { at }
            }
        }
    }

    /// Leaves out older turns, if there are any, after a provider found the conversation too long.
    fn squeeze(&mut self, call: &OpenCall) -> bool {
        let messages = &call.order.prompt.messages;
        let persons = messages.iter().filter(|it| it.role == Role::User).count();
        if persons < 2 || self.tries.squeezes >= SQUEEZES_MAX {
            return false;
        }
        let weigh =
            |message: &hob_models::PromptMessage| call.order.candidate.count_tokens(&message.parts);
        let weight: u64 = messages.iter().map(weigh).sum();
        self.tries.squeezes += 1;
        self.tries.room_cap = Some(weight / 2);
        true
    }

    /// Takes the end of a question or a tool, and of all others that ended meanwhile.
    pub(super) async fn took(&mut self, first: Done) -> Result<(), StoreError> {
        let mut draft = Draft::default();
        let mut next = Some(first);
        while let Some(done) = next {
            if self.may_come_from_stop(&done) {
                self.leave_to_next_start(&done);
            } else {
                self.note(done, &mut draft);
            }
            next = self.work.next().now_or_never().flatten();
        }
        if draft.entries.is_empty() {
            if self.slot.is_some() {
                self.start_todo();
            }
            return Ok(());
        }
        self.charge(&mut draft).await?;
        self.advance(draft).await
    }

    fn note(&mut self, done: Done, draft: &mut Draft) {
        let at = self.at();
        match done {
            Done::Asked { call, asked } => {
                self.asking.remove(&call);
                self.waiting = self.waiting && !self.asking.is_empty();
                self.ruled(call, asked, draft);
            }
            Done::Ran { call, ran } => {
                self.running.remove(&call);
                draft.entries.push(ended(call, ran, at));
            }
            Done::Probed { call, probed } => {
                self.running.remove(&call);
                draft.entries.push(found(call, probed, at));
            }
        }
    }

    fn ruled(&mut self, call: String, asked: Asked, draft: &mut Draft) {
        let at = self.at();
        let state = self.story.state_of(&call);
        let entries = &mut draft.entries;
        match (asked, state) {
            (Asked::Allowed { ticket, digest }, Some(CallState::Asked)) => {
                self.tickets.insert(call.clone(), ticket);
                let with = With {
                    approved: digest,
                    ..With::default()
                };
                entries.push(Entry::with(decided(call, true, at), with));
            }
            // Nothing begins any more; the next start asks again, and has this yes.
            (Asked::Allowed { .. }, Some(CallState::Allowed)) if self.is_draining() => {}
            (Asked::Allowed { ticket, .. }, Some(CallState::Allowed)) => {
                self.tickets.insert(call.clone(), ticket);
                entries.push(Entry::new(Event::Begun { call, at }));
            }
            (Asked::Allowed { ticket, .. }, Some(CallState::Begun)) => {
                self.tickets.insert(call.clone(), ticket);
                self.run_or_ask(call);
            }
            (
                Asked::Denied(denial) | Asked::Unreachable(denial),
                Some(CallState::Asked | CallState::Allowed),
            ) => {
                let mut with = with_result(told(&call, denial.reason.as_str(), true));
                with.denial = Some(*denial);
                entries.push(Entry::with(decided(call, false, at), with));
            }
            (Asked::Impossible { reason }, Some(CallState::Allowed)) => {
                let with = with_result(told(&call, reason, true));
                entries.push(Entry::with(decided(call, false, at), with));
            }
            (Asked::Denied(denial) | Asked::Unreachable(denial), Some(CallState::Begun)) => {
                let reason = denial.reason;
                let text = format!("It was begun before a restart and not repeated: {reason}");
                entries.push(done(told(&call, text, true), at));
            }
            (Asked::Impossible { reason }, Some(CallState::Asked)) => {
                let begun = Event::Begun {
                    call: call.clone(),
                    at,
                };
                entries.push(Entry::new(decided(call.clone(), true, at)));
                entries.push(Entry::new(begun));
                entries.push(done(told(&call, reason, true), at));
            }
            (Asked::Impossible { reason }, Some(CallState::Begun)) => {
                entries.push(ended(call, Ran::Unanswered(reason), at));
            }
            // Settled meanwhile: the answer comes too late to mean anything.
            _ => {}
        }
    }
}

/// The entry of a tool that ended.
pub(super) fn ended(call: String, ran: Ran, at: u64) -> Entry {
    match ran {
        Ran::Answered(result) => done(result, at),
        Ran::Unanswered(why) => {
            let text = format!("The tool did not answer: {why}");
            let mut with = with_result(told(&call, text, true));
            with.known = Some(format!("It was begun, and then: {why}"));
            Entry::with(Event::Unanswered { call, at }, with)
        }
    }
}

fn done(result: ToolResult, at: u64) -> Entry {
    let event = Event::ToolDone {
        call: result.id.clone(),
        failed: result.is_error,
        at,
    };
    Entry::with(event, with_result(result))
}

fn found(call: String, probed: Probed, at: u64) -> Entry {
    let (found, with) = match probed {
        Probed::Yes { outcome } => {
            let failed = outcome.is_error;
            let result = hands::result(call.clone(), outcome);
            (Found::Happened { failed }, with_result(result))
        }
        Probed::No => (Found::DidNot, With::default()),
        Probed::Unknown { known } => {
            let known = Some(known);
            let with = With {
                known,
                ..With::default()
            };
            (Found::Unknown, with)
        }
    };
    Entry::with(Event::Probed { call, found, at }, with)
}

fn decided(call: String, allowed: bool, at: u64) -> Event {
    Event::Decided { call, allowed, at }
}

fn with_result(result: ToolResult) -> With {
    With {
        result: Some(result),
        ..With::default()
    }
}

/// The ledger's word for a call that was refused before it could cost anything.
pub(super) fn unused(call: &OpenCall) -> LedgerWrite {
    LedgerWrite::Settle {
        call_key: call.key.clone(),
        usage: Usage::default(),
        micro_dollars: Some(0),
        model: call.order.candidate.id(),
    }
}

/// Whether a provider may have worked, and charge for it, though it did not answer.
pub(crate) fn may_have_cost(class: ErrorClass) -> bool {
    matches!(
        class,
        ErrorClass::Timeout | ErrorClass::Network | ErrorClass::Protocol
    )
}

/// The words of an answer.
pub(crate) fn text_of(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

fn stop_note(stop: Stop) -> Option<String> {
    match stop {
        Stop::Length => Some("The answer was cut at the model's output limit.".to_owned()),
        Stop::Content => Some("The provider withheld a part of the answer.".to_owned()),
        Stop::End | Stop::Tools => None,
    }
}
