//! `agent.chat`: a conversation its caller keeps. The same machine and the same failover as a
//! run's, in memory: nothing is stored but the ledger, so nothing is resumed.
//!
//! Invariants: every model call is in the ledger, reserved before (one that costs nothing, while it
//! is made) and settled or marked unknown after; a call of a client's tool ends the answer;
//! stopping reaches the provider and the tools at once, and a caller that leaves stops it.

use super::advance::add_cost;
use super::answers::text_of;
use super::authority;
use super::conversation::Spoken;
use super::hands::Hands;
use super::live::Voice;
use super::prompt::{self, Sources};
use super::requests::{Requests, no_model};
use super::settings;
use super::shared::{Shared, refused};
use super::stopping::sentence;
use crate::tool::masking::mask_content;
use hob_bus::Call;
use hob_core::failover::Failover;
use hob_core::turn::{Effect, Event, Turn};
use hob_models::Candidate;
use hob_store::LedgerWrite;
use hob_wire::rooms::agent::{ChatMessage, ChatParams, ChatReply, Cost, RunOf};
use hob_wire::work::Cause;
use hob_wire::{Content, ErrorCode, Part, Role, RunId, Usage, WireError};
use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

/// Conversations answered or waiting at once.
const CHATS_MAX: usize = 4_096;

impl Requests {
    pub(crate) async fn chat(self, call: Call, params: ChatParams) -> Result<ChatReply, WireError> {
        let params = authority::narrow_chat(&call, params);
        let book = self.shared.book();
        let candidates = book.resolve_for(params.model.as_deref(), has_images(&params.messages));
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
            // Nobody hears the answer any more, and nothing of it is kept.
            () = call.abandoned.cancelled() => Cause::Aborted,
            () = self.shared.parts.tasks.stopping() => Cause::Aborted,
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
        // Looked at before anything is put there: the first one stays, and can be stopped.
        if chats.contains_key(&id) {
            let message = "A conversation with this `chatId` is being answered.";
            return Err(refused(ErrorCode::Conflict, message));
        }
        chats.insert(id, stop.clone());
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
pub(super) struct Chat {
    pub(super) shared: Arc<Shared>,
    pub(super) params: ChatParams,
    pub(super) candidates: Vec<Candidate>,
    pub(super) hands: Hands,
    pub(super) voice: Arc<Voice>,
    pub(super) turn: Turn,
    pub(super) system: Vec<String>,
    pub(super) callers_system: Vec<String>,
    pub(super) spoken: Vec<Spoken>,
    pub(super) failover: Failover,
    pub(super) wait_ms: u64,
    pub(super) cost: Cost,
    /// What the ledger's keys of its calls begin with. Fresh for each answer: the caller makes the
    /// chat's id, and may use it again once the answer has ended.
    pub(super) ledger_prefix: String,
    /// The ledger's key of the call under way, and what it is reserved for.
    pub(super) reserved: Option<(String, Option<u64>)>,
    pub(super) content: Vec<Part>,
    pub(super) cut: bool,
    pub(super) model: Option<String>,
    pub(super) message: Option<String>,
    /// The turn at work; given back while only a person is waited for.
    pub(super) slot: Option<OwnedSemaphorePermit>,
    /// Calls that run.
    pub(super) running: BTreeSet<String>,
}

impl Chat {
    async fn new(shared: &Arc<Shared>, mut params: ChatParams, candidates: Vec<Candidate>) -> Chat {
        let messages = std::mem::take(&mut params.messages);
        let (system, rest): (Vec<_>, Vec<_>) = messages
            .into_iter()
            .partition(|message| message.role == Role::System);
        let spoken = |message: ChatMessage| {
            let content = match message.role {
                Role::Tool => mask_content(message.content, &shared.parts.mask),
                _ => message.content,
            };
            Spoken::new(message.role, content, false)
        };
        let mut layers: Vec<String> = system.into_iter().map(|it| words(it.content)).collect();
        let callers_system = layers.clone();
        if layers.is_empty() {
            let sources = Sources {
                home: shared.parts.home.clone(),
                mask: shared.parts.mask.clone(),
                workspace: None,
                caller: None,
            };
            let text = prompt::layers(sources, None).await;
            for reason in &text.refused {
                tracing::warn!(chat = %params.chat_id, "{reason}");
            }
            layers = text.layers;
        }
        let session = format!("chat:{}", params.chat_id);
        let of = RunOf {
            session_key: session.clone(),
            run_id: params.chat_id,
        };
        let limits = settings::limits(&shared.settings());
        let answer = shared.parts.dice.uuid(shared.now_ms());
        let own: BTreeSet<String> = params.tools.iter().cloned().collect();
        Chat {
            ledger_prefix: format!("{session}/{answer}"),
            hands: Hands {
                caller: shared.parts.bus.caller("agent"),
                tools: Arc::clone(&shared.tools),
                run: params.chat_id,
                session_key: session.clone(),
                workspace: None,
                ceiling: params.ceiling,
                channel: None,
                unattended: false,
                is_child: false,
                only: Some(own),
            },
            voice: Arc::new(Voice::new(shared.emitter.clone(), of, session)),
            turn: Turn::new(limits.with(&params.budget.unwrap_or_default())),
            failover: Failover::new(shared.retry_policy(), candidates.len()),
            shared: Arc::clone(shared),
            candidates,
            system: layers,
            callers_system,
            spoken: rest.into_iter().map(spoken).collect(),
            params,
            wait_ms: 0,
            cost: Cost::default(),
            reserved: None,
            content: Vec::new(),
            cut: false,
            model: None,
            message: None,
            slot: None,
            running: BTreeSet::new(),
        }
    }

    /// Answers, and says why it ended.
    async fn answer(&mut self) -> Result<Cause, WireError> {
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
                Some((step, attempt)) => {
                    self.take_slot().await;
                    match self.ask(step, attempt).await? {
                        Some(effects) => effects,
                        None => return Ok(Cause::Answered),
                    }
                }
                None if calls.is_empty() => return Ok(Cause::ModelFailed),
                None => self.use_tools(&calls).await,
            };
        }
    }

    pub(super) fn say(&mut self, role: Role, content: Content) {
        self.spoken.push(Spoken::new(role, content, true));
    }

    pub(super) fn feed(&mut self, event: Event) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.turn.step(event, &mut effects);
        effects
    }

    async fn end(mut self, cause: Cause) -> Result<ChatReply, WireError> {
        let is_cut = cause == Cause::Aborted || cause == Cause::TimeLimit;
        if is_cut {
            self.stop_tools().await;
        }
        if let Some((_, reserved)) = self.reserved {
            self.cost = add_cost(self.cost, Usage::default(), reserved);
            self.settle(|call_key| LedgerWrite::Unknown { call_key })
                .await?;
        }
        if is_cut {
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

fn has_images(messages: &[ChatMessage]) -> bool {
    let mut parts = messages.iter().flat_map(|message| match &message.content {
        Content::Text(_) => &[],
        Content::Parts(parts) => &parts[..],
    });
    parts.any(|part| matches!(part, Part::Image { .. }))
}

fn words(content: Content) -> String {
    match content {
        Content::Text(text) => text,
        Content::Parts(parts) => text_of(&parts),
    }
}
