//! One model call of a chat: reserved, made, settled.

use super::advance::add_cost;
use super::chat::StatelessChat;
use super::model_call::{self, ModelCall, PromptInput};
use super::model_results::{REPEATED_CALL, may_have_cost, text_of};
use super::replayed_run::text_result;
use super::schema;
use super::settings::format_dollars;
use hob_core::failover::{FailoverStep, ModelFailover};
use hob_core::permission::canonical_json;
use hob_core::turn::{CallSpec, ModelAnswer, TurnEffect, TurnEvent};
use hob_models::{ModelError, ModelReply, ReplyDelta, StopReason, ToolDefinition};
use hob_store::{CostReservation, LedgerEntry, LedgerWrite, StoreError};
use hob_wire::work::Idempotency as EffectClass;
use hob_wire::{ContentPart, ErrorCode, MessageContent, Role, TokenUsage, ToolCall, WireError};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

impl StatelessChat {
    /// Makes one model call. Returns `None` when a client's tool ends the answer.
    pub(super) async fn call_model(
        &mut self,
        step: u32,
        attempt: u32,
    ) -> Result<Option<Vec<TurnEffect>>, WireError> {
        let model_call = self.prepare_call().await?;
        let key = format!("{}/{step}/{attempt}", self.ledger_prefix);
        // A free call needs no budget check: its ledger row is written while the model works.
        let free = model_call.reserved == Some(0);
        if !free {
            self.reserve(&model_call, &key).await?;
        }
        tokio::time::sleep(Duration::from_millis(std::mem::take(&mut self.wait_ms))).await;
        self.deltas.begin_attempt(step, attempt);
        let deltas = Arc::clone(&self.deltas);
        let mut received = false;
        let mut say = |piece| {
            // Chat clients get only the answer, not the name of the server.
            if !matches!(piece, ReplyDelta::Server { .. }) {
                received = true;
                deltas.emit_piece(piece);
            }
        };
        let request = async { Ok(model_call.ask(&mut say).await) };
        let answer = if free {
            tokio::try_join!(self.reserve(&model_call, &key), request)?.1
        } else {
            request.await?
        };
        match answer {
            Ok(reply) => self.apply_reply(&model_call, reply).await,
            Err(error) => self
                .apply_failure(&model_call, &error, received)
                .await
                .map(Some),
        }
    }

    async fn prepare_call(&mut self) -> Result<ModelCall, WireError> {
        let index = self.failover.candidate();
        let chosen = self.candidates.get(index).or(self.candidates.first());
        let candidate = chosen.cloned().ok_or_else(|| {
            let message = "No model is configured.";
            WireError::new(ErrorCode::Conflict, message)
        })?;
        let client_tools = self.params.client_tools.iter().map(|tool| ToolDefinition {
            name: tool.name.clone(),
            description: tool.description.clone(),
            parameters: tool.parameters.clone(),
        });
        let request = PromptInput {
            system: self.system.clone(),
            callers_system: self.callers_system.clone(),
            messages: self.messages.clone(),
            tools: if model_call::takes_tools(&candidate) {
                self.tool_client.offered_tools().await?
            } else {
                Vec::new()
            },
            client_tools: client_tools.collect(),
            tool_choice: self.params.tool_choice.clone(),
            schema: self.params.schema.clone(),
            options: self.params.options.clone(),
            keep_thoughts: true,
            ..PromptInput::default()
        };
        Ok(ModelCall::new(candidate, request))
    }

    async fn reserve(&mut self, model_call: &ModelCall, key: &str) -> Result<(), WireError> {
        let reserve = CostReservation {
            call_key: key.to_owned(),
            model: model_call.candidate.id(),
            micro_dollars: model_call.reserved,
            ceilings: self.shared.ceilings(),
        };
        let entry = LedgerEntry {
            reserve: Some(reserve),
            ..LedgerEntry::default()
        };
        match self.shared.deps.store.add_ledger(entry).await {
            Ok(()) => {
                self.reserved = Some((key.to_owned(), model_call.reserved));
                Ok(())
            }
            Err(StoreError::OverBudget {
                scope: which,
                limit,
                spent,
            }) => {
                let message = format!(
                    "The {which} budget of {} does not cover this ({} are spent or reserved). Raise it in the settings.",
                    format_dollars(limit),
                    format_dollars(spent)
                );
                let refusal = WireError::new(ErrorCode::Overloaded, message);
                Err(refusal.with_details(serde_json::json!({ "reason": "budget" })))
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(super) async fn settle(
        &mut self,
        write: impl FnOnce(String) -> LedgerWrite,
    ) -> Result<(), WireError> {
        if let Some((key, _)) = self.reserved.take() {
            let entry = LedgerEntry {
                writes: vec![write(key)],
                ..LedgerEntry::default()
            };
            self.shared.deps.store.add_ledger(entry).await?;
        }
        Ok(())
    }

    async fn apply_reply(
        &mut self,
        model_call: &ModelCall,
        reply: ModelReply,
    ) -> Result<Option<Vec<TurnEffect>>, WireError> {
        let usage = reply.usage.unwrap_or_default();
        let price = reply
            .micro_dollars
            .or_else(|| model_call.price_usage(&usage));
        let model = reply.model.clone();
        self.settle(|call_key| LedgerWrite::Settle {
            call_key,
            usage,
            micro_dollars: price,
            model,
        })
        .await?;
        self.cost = add_cost(self.cost, usage, price);
        self.model = Some(reply.model);
        self.cut = reply.stop == StopReason::Length;
        let repeated = reply.stop == StopReason::Repeated;
        let is_client = |call: &ToolCall| {
            let mut tools = self.params.client_tools.iter();
            tools.any(|tool| tool.name == call.name)
        };
        let calls_client =
            |part: &ContentPart| matches!(part, ContentPart::ToolCall(call) if is_client(call));
        if reply.parts.iter().any(calls_client) {
            let ours = |part: &ContentPart| matches!(part, ContentPart::ToolCall(call) if !is_client(call));
            let repeats = |part: &ContentPart| matches!(part, ContentPart::ToolCall(call) if reply.repeated_calls.contains(&call.id));
            let mut content = reply.parts;
            // hob's own tool calls of this answer are dropped: the client continues the
            // conversation from here.
            content.retain(|part| !ours(part) && !repeats(part));
            self.content = content;
            return Ok(None);
        }
        let text = text_of(&reply.parts);
        let (parts, specs, repeated_ids) =
            self.assign_call_ids(model_call, reply.parts, &reply.repeated_calls);
        let unfit = match &self.params.schema {
            Some(schema) if specs.is_empty() => schema::mismatch(schema, &text),
            _ => None,
        };
        let answer = ModelAnswer {
            calls: specs,
            tokens: usage.input_tokens.saturating_add(usage.output_tokens),
            micro_dollars: price,
            misfit: unfit.is_some(),
            repeated,
        };
        self.content.clone_from(&parts);
        self.push_message(Role::Assistant, MessageContent::Parts(parts));
        if let Some(reason) = unfit {
            self.push_message(
                Role::User,
                MessageContent::Text(schema::retry_request(&reason)),
            );
            self.message = Some(format!("The answer does not fit the schema: {reason}"));
        } else {
            self.message = None;
        }
        Ok(Some(self.finish_step(answer, repeated_ids)))
    }

    /// Gives the answer to the turn. Calls with an id that came before are refused.
    fn finish_step(&mut self, answer: ModelAnswer, repeated_ids: Vec<String>) -> Vec<TurnEffect> {
        let at = self.shared.now_ms();
        // A success resets the failover, and the model that answered stays first.
        self.failover = ModelFailover::new(self.shared.retry_policy(), self.candidates.len());
        let last = self.model.clone();
        self.candidates =
            model_call::with_last_first(std::mem::take(&mut self.candidates), last.as_deref());
        let mut effects = self.step_turn(TurnEvent::ModelDone { answer, at });
        for call in repeated_ids {
            let result = text_result(&call, REPEATED_CALL, true);
            self.push_message(
                Role::Tool,
                MessageContent::Parts(vec![ContentPart::ToolResult(result)]),
            );
            effects.retain(
                |effect| !matches!(effect, TurnEffect::Ask { call: open } if *open == call),
            );
            let allowed = false;
            effects.extend(self.step_turn(TurnEvent::Decided { call, allowed, at }));
        }
        effects
    }

    /// Gives every call a new id. Also returns the new ids of calls whose id the model used twice.
    fn assign_call_ids(
        &self,
        model_call: &ModelCall,
        parts: Vec<ContentPart>,
        repeated: &BTreeSet<String>,
    ) -> (Vec<ContentPart>, Vec<CallSpec>, Vec<String>) {
        let mut refused = Vec::new();
        let mut specs = Vec::new();
        let mut new_parts = parts;
        for part in &mut new_parts {
            let ContentPart::ToolCall(call) = part else {
                continue;
            };
            let is_repeated = repeated.contains(&call.id);
            call.id = self.shared.new_call_id();
            refused.extend(is_repeated.then(|| call.id.clone()));
            let effect = model_call.effects.get(&call.name).copied();
            specs.push(CallSpec {
                id: call.id.clone(),
                tool: call.name.clone(),
                args: canonical_json(&call.args),
                // A chat never resumes, so the class of an unknown tool does not matter.
                effect: effect.unwrap_or(EffectClass::Pure),
            });
        }
        (new_parts, specs, refused)
    }

    async fn apply_failure(
        &mut self,
        model_call: &ModelCall,
        error: &ModelError,
        received: bool,
    ) -> Result<Vec<TurnEffect>, WireError> {
        let at = self.shared.now_ms();
        let model = model_call.candidate.id();
        // The provider may have worked and may charge for it.
        if received || may_have_cost(error.class) {
            self.settle(|call_key| LedgerWrite::Unknown { call_key })
                .await?;
            self.cost = add_cost(self.cost, TokenUsage::default(), model_call.reserved);
        } else {
            self.settle(|call_key| LedgerWrite::Settle {
                call_key,
                usage: TokenUsage::default(),
                micro_dollars: Some(0),
                model,
            })
            .await?;
        }
        let jitter = self.shared.deps.randomness.below(1_001);
        let next = self
            .failover
            .on_failure(error.class, error.retry_after_ms, jitter);
        let event = match next {
            FailoverStep::Retry { wait_ms } => {
                self.wait_ms = wait_ms;
                TurnEvent::Retried { at }
            }
            FailoverStep::NextModel { .. } => TurnEvent::Retried { at },
            FailoverStep::GiveUp => {
                self.message = Some(format!("No model could answer. {}", error.message));
                TurnEvent::ModelFailed { at }
            }
        };
        Ok(self.step_turn(event))
    }
}
