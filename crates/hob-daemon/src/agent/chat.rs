//! `agent.chat`: a conversation its caller keeps. The same machine and the same failover as a
//! run's, in memory: nothing is stored but the ledger, so nothing is resumed.
//!
//! Invariants: every model call is in the ledger, reserved before and settled or marked unknown
//! after; a call of a client's tool ends the answer; stopping reaches the provider at once.

use super::advance::add_cost;
use super::answers::{may_have_cost, text_of};
use super::conversation::Spoken;
use super::hands::{Asked, Hands, Ran};
use super::live::Voice;
use super::order::{self, Order, Request};
use super::prompt::{self, Sources};
use super::requests::{Requests, no_model};
use super::schema;
use super::settings::{self, dollars};
use super::shared::{Shared, refused};
use super::stopping::sentence;
use super::story::told;
use futures_util::future::join_all;
use hob_core::failover::{Failover, Next};
use hob_core::permission::canonical;
use hob_core::turn::{Answer, CallSpec, Effect, Event, Turn};
use hob_models::{Candidate, ModelError, Reply, Stop, ToolWord};
use hob_store::{LedgerEntry, LedgerWrite, Reserve, StoreError};
use hob_wire::rooms::agent::{ChatParams, ChatReply, Cost, RunOf};
use hob_wire::work::Cause;
use hob_wire::work::Effect as EffectClass;
use hob_wire::{Content, ErrorCode, Part, Role, RunId, ToolCall, ToolResult, Usage, WireError};
use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Conversations answered or waiting at once.
const CHATS_MAX: usize = 4_096;

impl Requests {
    pub(crate) async fn chat(self, params: ChatParams) -> Result<ChatReply, WireError> {
        let book = self.shared.book();
        let candidates = book.resolve(params.model.as_deref());
        let candidates = candidates.map_err(|error| no_model(&error))?;
        let open = OpenChat::new(&self.shared, params.chat_id)?;
        let stop = open.stop.clone();
        let wall_ms = settings::limits(&self.shared.settings())
            .with(&params.budget.unwrap_or_default())
            .wall_ms;
        let mut chat = Chat::new(&self.shared, params, candidates).await;
        let cause = tokio::select! {
            cause = chat.answer() => cause?,
            () = stop.cancelled() => Cause::Aborted,
            () = tokio::time::sleep(Duration::from_millis(wall_ms)) => Cause::TimeLimit,
        };
        chat.end(cause).await
    }
}

/// A conversation that can be stopped by its id as long as this lives.
struct OpenChat {
    shared: Arc<Shared>,
    id: RunId,
    stop: CancellationToken,
}

impl OpenChat {
    fn new(shared: &Arc<Shared>, id: RunId) -> Result<OpenChat, WireError> {
        let stop = CancellationToken::new();
        let mut chats = shared.chats.lock().unwrap_or_else(PoisonError::into_inner);
        if chats.len() >= CHATS_MAX {
            let message = "Too many conversations are being answered. Try again in a moment.";
            return Err(refused(ErrorCode::Overloaded, message).retry_after(1_000));
        }
        if chats.insert(id, stop.clone()).is_some() {
            let message = "A conversation with this `chatId` is being answered.";
            return Err(refused(ErrorCode::Conflict, message));
        }
        Ok(OpenChat {
            shared: Arc::clone(shared),
            id,
            stop,
        })
    }
}

impl Drop for OpenChat {
    fn drop(&mut self) {
        let chats = self.shared.chats.lock();
        chats
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.id);
    }
}

/// A conversation being answered.
struct Chat {
    shared: Arc<Shared>,
    params: ChatParams,
    candidates: Vec<Candidate>,
    hands: Hands,
    voice: Arc<Voice>,
    turn: Turn,
    system: Vec<String>,
    spoken: Vec<Spoken>,
    failover: Failover,
    wait_ms: u64,
    cost: Cost,
    /// The ledger's key of the call under way, and what it is reserved for.
    reserved: Option<(String, Option<u64>)>,
    content: Vec<Part>,
    cut: bool,
    model: Option<String>,
    message: Option<String>,
}

impl Chat {
    async fn new(shared: &Arc<Shared>, mut params: ChatParams, candidates: Vec<Candidate>) -> Chat {
        let messages = std::mem::take(&mut params.messages);
        let (system, rest): (Vec<_>, Vec<_>) = messages
            .into_iter()
            .partition(|message| message.role == Role::System);
        let spoken = |message: hob_wire::rooms::agent::ChatMessage| {
            Spoken::new(message.role, message.content, false)
        };
        let mut layers: Vec<String> = system.into_iter().map(|it| words(it.content)).collect();
        if layers.is_empty() {
            let sources = Sources {
                home: shared.parts.home.clone(),
                workspace: None,
                caller: None,
            };
            layers = prompt::layers(sources, None).await;
        }
        let session = format!("chat:{}", params.chat_id);
        let of = RunOf {
            session_key: session.clone(),
            run_id: params.chat_id,
        };
        let limits = settings::limits(&shared.settings());
        let own: BTreeSet<String> = params.tools.iter().cloned().collect();
        Chat {
            hands: Hands {
                caller: shared.parts.bus.caller("agent"),
                run: params.chat_id,
                session_key: session.clone(),
                workspace: None,
                ceiling: params.ceiling,
                only: Some(own),
            },
            voice: Arc::new(Voice::new(shared.emitter.clone(), of, session)),
            turn: Turn::new(limits.with(&params.budget.unwrap_or_default())),
            failover: Failover::new(shared.retry_policy(), candidates.len()),
            shared: Arc::clone(shared),
            candidates,
            system: layers,
            spoken: rest.into_iter().map(spoken).collect(),
            params,
            wait_ms: 0,
            cost: Cost::default(),
            reserved: None,
            content: Vec::new(),
            cut: false,
            model: None,
            message: None,
        }
    }

    /// Answers, and says why it ended.
    async fn answer(&mut self) -> Result<Cause, WireError> {
        // Held for the whole answer, so that no more models are asked at once than runs may.
        let slots = Arc::clone(&self.shared.slots);
        let _slot = slots.acquire_owned().await;
        let at = self.shared.now_ms();
        let mut effects = self.feed(Event::Begin { at });
        loop {
            let mut calls = Vec::new();
            let mut next = None;
            for effect in effects.drain(..) {
                match effect {
                    Effect::CallModel { step, attempt } => next = Some((step, attempt)),
                    Effect::Ask { call } => calls.push(call),
                    Effect::Finish { cause } => return Ok(cause),
                    _ => {}
                }
            }
            effects = match next {
                Some((step, attempt)) => match self.ask(step, attempt).await? {
                    Some(effects) => effects,
                    None => return Ok(Cause::Answered),
                },
                None if calls.is_empty() => return Ok(Cause::ModelFailed),
                None => self.use_tools(&calls).await,
            };
        }
    }

    /// One model call; nothing follows when a client's tool ends the answer.
    async fn ask(&mut self, step: u32, attempt: u32) -> Result<Option<Vec<Effect>>, WireError> {
        let order = self.order().await?;
        let key = format!("{}/{step}/{attempt}", self.params.chat_id);
        self.reserve(&order, &key).await?;
        tokio::time::sleep(Duration::from_millis(std::mem::take(&mut self.wait_ms))).await;
        self.voice.begin(step, attempt);
        let voice = Arc::clone(&self.voice);
        let mut heard = false;
        let mut say = |piece| {
            heard = true;
            voice.say(piece);
        };
        let answer = order.candidate.ask(&order.prompt, &mut say).await;
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
            spoken: self.spoken.clone(),
            tools: self.hands.offered().await?,
            client_tools: client_tools.collect(),
            tool_choice: self.params.tool_choice.clone(),
            schema: self.params.schema.clone(),
            options: self.params.options.clone(),
            keep_thoughts: true,
            room_cap: None,
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
                Err(refused(ErrorCode::Overloaded, message))
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn settle(&mut self, write: impl FnOnce(String) -> LedgerWrite) -> Result<(), WireError> {
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
        let price = order.price_of(&usage);
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
            let mut content = reply.parts;
            // What we would run cannot be run any more: the caller goes on from here.
            content.retain(|part| !ours(part));
            self.content = content;
            return Ok(None);
        }
        let text = text_of(&reply.parts);
        let (parts, specs) = self.own_calls(order, reply.parts);
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
        Ok(Some(self.feed(Event::ModelDone { answer, at })))
    }

    fn own_calls(&self, order: &Order, parts: Vec<Part>) -> (Vec<Part>, Vec<CallSpec>) {
        let mut specs = Vec::new();
        let mut kept = parts;
        for part in &mut kept {
            let Part::ToolCall(call) = part else { continue };
            call.id = self.shared.new_call_id();
            let effect = order.effects.get(&call.name).copied();
            specs.push(CallSpec {
                id: call.id.clone(),
                tool: call.name.clone(),
                args: canonical(&call.args),
                effect: effect.unwrap_or(EffectClass::Pure),
            });
        }
        (kept, specs)
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

    /// Asks for and runs the calls of one answer, side by side.
    async fn use_tools(&mut self, ids: &[String]) -> Vec<Effect> {
        let calls = self.content.iter().filter_map(|part| match part {
            Part::ToolCall(call) if ids.contains(&call.id) => Some(call.clone()),
            _ => None,
        });
        let hands = self.hands.clone();
        let results = join_all(calls.map(|call| use_tool(&hands, call))).await;
        let mut effects = Vec::new();
        for (result, allowed) in results {
            let at = self.shared.now_ms();
            let call = result.id.clone();
            let failed = result.is_error;
            self.say(Role::Tool, Content::Parts(vec![Part::ToolResult(result)]));
            let decided = call.clone();
            effects.extend(self.feed(Event::Decided {
                call: decided,
                allowed,
                at,
            }));
            let begun = call.clone();
            effects.extend(self.feed(Event::Begun { call: begun, at }));
            effects.extend(self.feed(Event::ToolDone { call, failed, at }));
        }
        effects
    }

    fn say(&mut self, role: Role, content: Content) {
        self.spoken.push(Spoken::new(role, content, true));
    }

    fn feed(&mut self, event: Event) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.turn.step(event, &mut effects);
        effects
    }

    async fn end(mut self, cause: Cause) -> Result<ChatReply, WireError> {
        if let Some((_, reserved)) = self.reserved {
            self.cost = add_cost(self.cost, Usage::default(), reserved);
            self.settle(|call_key| LedgerWrite::Unknown { call_key })
                .await?;
        }
        if cause == Cause::Aborted || cause == Cause::TimeLimit {
            self.hands.withdraw().await;
            let text = self.voice.text();
            self.content = vec![Part::Text { text }];
        }
        let success = cause == Cause::Answered;
        Ok(ChatReply {
            content: self.content,
            success,
            cause,
            message: self
                .message
                .filter(|_| !success)
                .or_else(|| sentence(cause)),
            cut: self.cut,
            cost: self.cost,
            model: self.model,
        })
    }
}

async fn use_tool(hands: &Hands, call: ToolCall) -> (ToolResult, bool) {
    let id = call.id.clone();
    let ticket = match hands.ask(call.clone(), None, false).await {
        Asked::Allowed { ticket, .. } => ticket,
        Asked::Denied { reason } => return (told(&id, reason, true), false),
        Asked::Impossible { reason } => return (told(&id, reason, true), true),
    };
    match hands.execute(call, ticket).await {
        Ran::Answered(result) => (result, true),
        Ran::Unanswered(why) => (
            told(&id, format!("The tool did not answer: {why}"), true),
            true,
        ),
    }
}

fn words(content: Content) -> String {
    match content {
        Content::Text(text) => text,
        Content::Parts(parts) => text_of(&parts),
    }
}
