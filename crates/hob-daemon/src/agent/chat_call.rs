//! One model call of a conversation that its caller keeps: reserved, made, settled.

use super::advance::add_cost;
use super::answers::{REPEATED_CALL, may_have_cost, text_of};
use super::chat::Chat;
use super::order::{self, Order, Request};
use super::schema;
use super::settings::dollars;
use super::shared::refused;
use super::story::told;
use hob_core::failover::{Failover, Next};
use hob_core::permission::canonical;
use hob_core::turn::{Answer, CallSpec, Effect, Event};
use hob_models::{ModelError, Piece, Reply, Stop, ToolWord};
use hob_store::{LedgerEntry, LedgerWrite, Reserve, StoreError};
use hob_wire::work::Effect as EffectClass;
use hob_wire::{Content, ErrorCode, Part, Role, ToolCall, Usage, WireError};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

impl Chat {
    /// One model call; nothing follows when a client's tool ends the answer.
    pub(super) async fn ask(
        &mut self,
        step: u32,
        attempt: u32,
    ) -> Result<Option<Vec<Effect>>, WireError> {
        let order = self.order().await?;
        let key = format!("{}/{step}/{attempt}", self.ledger_prefix);
        // What costs nothing needs no budget's yes: its row is written while the model thinks.
        let free = order.reserved == Some(0);
        if !free {
            self.reserve(&order, &key).await?;
        }
        tokio::time::sleep(Duration::from_millis(std::mem::take(&mut self.wait_ms))).await;
        self.voice.begin(step, attempt);
        let voice = Arc::clone(&self.voice);
        let mut heard = false;
        let mut say = |piece| {
            // Who keeps a conversation of its own hears answers only.
            if !matches!(piece, Piece::Server { .. }) {
                heard = true;
                voice.say(piece);
            }
        };
        let asked = async { Ok(order.candidate.ask(&order.prompt, &mut say).await) };
        let answer = if free {
            tokio::try_join!(self.reserve(&order, &key), asked)?.1
        } else {
            asked.await?
        };
        match answer {
            Ok(reply) => self.reply(&order, reply).await,
            Err(error) => self.failure(&order, &error, heard).await.map(Some),
        }
    }

    async fn order(&mut self) -> Result<Order, WireError> {
        let index = self.failover.candidate();
        let chosen = self.candidates.get(index).or(self.candidates.first());
        let candidate = chosen.cloned().ok_or_else(|| {
            let message = "No model is configured.";
            refused(ErrorCode::Conflict, message)
        })?;
        let client_tools = self.params.client_tools.iter().map(|tool| ToolWord {
            name: tool.name.clone(),
            description: tool.description.clone(),
            parameters: tool.parameters.clone(),
        });
        let request = Request {
            system: self.system.clone(),
            callers_system: self.callers_system.clone(),
            spoken: self.spoken.clone(),
            tools: if order::takes_tools(&candidate) {
                self.hands.offered().await?
            } else {
                Vec::new()
            },
            client_tools: client_tools.collect(),
            tool_choice: self.params.tool_choice.clone(),
            schema: self.params.schema.clone(),
            options: self.params.options.clone(),
            keep_thoughts: true,
            ..Request::default()
        };
        Ok(Order::new(candidate, request))
    }

    async fn reserve(&mut self, order: &Order, key: &str) -> Result<(), WireError> {
        let reserve = Reserve {
            call_key: key.to_owned(),
            model: order.candidate.id(),
            micro_dollars: order.reserved,
            ceilings: self.shared.ceilings(),
        };
        let entry = LedgerEntry {
            reserve: Some(reserve),
            ..LedgerEntry::default()
        };
        match self.shared.parts.store.add_ledger(entry).await {
            Ok(()) => {
                self.reserved = Some((key.to_owned(), order.reserved));
                Ok(())
            }
            Err(StoreError::OverBudget {
                which,
                limit,
                spent,
            }) => {
                let message = format!(
                    "The {which} budget of {} does not cover this ({} are spent or reserved). Raise it in the settings.",
                    dollars(limit),
                    dollars(spent)
                );
                let refusal = refused(ErrorCode::Overloaded, message);
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
            self.shared.parts.store.add_ledger(entry).await?;
        }
        Ok(())
    }

    async fn reply(
        &mut self,
        order: &Order,
        reply: Reply,
    ) -> Result<Option<Vec<Effect>>, WireError> {
        let usage = reply.usage.unwrap_or_default();
        let price = reply.micro_dollars.or_else(|| order.price_of(&usage));
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
        self.cut = reply.stop == Stop::Length;
        let is_client = |call: &ToolCall| {
            let mut tools = self.params.client_tools.iter();
            tools.any(|tool| tool.name == call.name)
        };
        let calls_client = |part: &Part| matches!(part, Part::ToolCall(call) if is_client(call));
        if reply.parts.iter().any(calls_client) {
            let ours = |part: &Part| matches!(part, Part::ToolCall(call) if !is_client(call));
            let repeats = |part: &Part| matches!(part, Part::ToolCall(call) if reply.repeated_calls.contains(&call.id));
            let mut content = reply.parts;
            // What we would run cannot be run any more: the caller goes on from here.
            content.retain(|part| !ours(part) && !repeats(part));
            self.content = content;
            return Ok(None);
        }
        let text = text_of(&reply.parts);
        let (parts, specs, repeated) = self.own_calls(order, reply.parts, &reply.repeated_calls);
        let unfit = match &self.params.schema {
            Some(schema) if specs.is_empty() => schema::misfit(schema, &text),
            _ => None,
        };
        let answer = Answer {
            calls: specs,
            tokens: usage.input_tokens.saturating_add(usage.output_tokens),
            micro_dollars: price,
            misfit: unfit.is_some(),
        };
        self.content.clone_from(&parts);
        self.say(Role::Assistant, Content::Parts(parts));
        if let Some(reason) = unfit {
            self.say(Role::User, Content::Text(schema::ask_again(&reason)));
            self.message = Some(format!("The answer does not fit the schema: {reason}"));
        } else {
            self.message = None;
        }
        let at = self.shared.now_ms();
        self.failover = Failover::new(self.shared.retry_policy(), self.candidates.len());
        let last = self.model.clone();
        self.candidates = order::from_last(std::mem::take(&mut self.candidates), last.as_deref());
        let mut effects = self.feed(Event::ModelDone { answer, at });
        for call in repeated {
            let result = told(&call, REPEATED_CALL, true);
            self.say(Role::Tool, Content::Parts(vec![Part::ToolResult(result)]));
            effects
                .retain(|effect| !matches!(effect, Effect::Ask { call: asked } if *asked == call));
            let allowed = false;
            effects.extend(self.feed(Event::Decided { call, allowed, at }));
        }
        Ok(Some(effects))
    }

    /// Gives every call an id of our own. Comes with our ids of the calls that the model gave the
    /// id of another.
    fn own_calls(
        &self,
        order: &Order,
        parts: Vec<Part>,
        repeated: &BTreeSet<String>,
    ) -> (Vec<Part>, Vec<CallSpec>, Vec<String>) {
        let mut refused = Vec::new();
        let mut specs = Vec::new();
        let mut kept = parts;
        for part in &mut kept {
            let Part::ToolCall(call) = part else { continue };
            let is_repeated = repeated.contains(&call.id);
            call.id = self.shared.new_call_id();
            refused.extend(is_repeated.then(|| call.id.clone()));
            let effect = order.effects.get(&call.name).copied();
            specs.push(CallSpec {
                id: call.id.clone(),
                tool: call.name.clone(),
                args: canonical(&call.args),
                effect: effect.unwrap_or(EffectClass::Pure),
            });
        }
        (kept, specs, refused)
    }

    async fn failure(
        &mut self,
        order: &Order,
        error: &ModelError,
        heard: bool,
    ) -> Result<Vec<Effect>, WireError> {
        let at = self.shared.now_ms();
        let model = order.candidate.id();
        if heard || may_have_cost(error.class) {
            self.settle(|call_key| LedgerWrite::Unknown { call_key })
                .await?;
            self.cost = add_cost(self.cost, Usage::default(), order.reserved);
        } else {
            self.settle(|call_key| LedgerWrite::Settle {
                call_key,
                usage: Usage::default(),
                micro_dollars: Some(0),
                model,
            })
            .await?;
        }
        let jitter = self.shared.parts.dice.below(1_001);
        let next = self
            .failover
            .failed(error.class, error.retry_after_ms, jitter);
        let event = match next {
            Next::Retry { wait_ms } => {
                self.wait_ms = wait_ms;
                Event::Retried { at }
            }
            Next::NextModel { .. } => Event::Retried { at },
            Next::GiveUp => {
                self.message = Some(format!("No model could answer. {}", error.message));
                Event::ModelFailed { at }
            }
        };
        Ok(self.feed(event))
    }
}
