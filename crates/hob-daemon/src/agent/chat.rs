//! `agent.chat`: a conversation that the caller stores itself. It uses the same turn machine and
//! failover as a run, in memory: only the ledger is stored, so nothing is resumed.
//!
//! Invariants: every model call is in the ledger, reserved before the call (a free one during it)
//! and settled or marked unknown after; a call of a client's tool ends the answer; a stop reaches
//! the provider and the tools at once, and a caller that disconnects stops the chat.

use super::advance::add_cost;
use super::agent_context::AgentContext;
use super::authority;
use super::conversation::ContextMessage;
use super::handlers::AgentHandlers;
use super::live_runs::DeltaEmitter;
use super::model_results::text_of;
use super::run_admission::no_model_error;
use super::settings;
use super::stopping::cause_sentence;
use super::system_prompt::{self, PromptSources};
use super::tool_client::ToolClient;
use crate::tool::masking::mask_content;
use hob_bus::RequestContext;
use hob_core::failover::ModelFailover;
use hob_core::turn::{TurnEffect, TurnEvent, TurnMachine};
use hob_models::ModelCandidate;
use hob_store::LedgerWrite;
use hob_wire::rooms::agent::{
    AgentChatParams, AgentChatResult, ChatMessage, ChatStep, Cost, RunRef,
};
use hob_wire::work::RunEndCause;
use hob_wire::{ContentPart, ErrorCode, MessageContent, Role, RunId, TokenUsage, WireError};
use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

/// Most chats in progress at once.
const CHATS_MAX: usize = 4_096;

impl AgentHandlers {
    pub(crate) async fn chat(
        &self,
        call: RequestContext,
        params: AgentChatParams,
    ) -> Result<AgentChatResult, WireError> {
        let params = authority::narrow_chat(&call, params);
        let models = self.shared.models();
        let candidates = models.resolve_for(params.model.as_deref(), has_images(&params.messages));
        let candidates = candidates.map_err(|error| no_model_error(&error))?;
        let open = OpenChat::new(&self.shared, params.chat_id)?;
        let stop = open.stop.clone();
        let wall_ms = settings::limits(&self.shared.settings())
            .with_budget(&params.budget.unwrap_or_default())
            .wall_ms;
        let mut chat = StatelessChat::new(&self.shared, params, candidates).await;
        let cause = tokio::select! {
            cause = chat.answer() => cause?,
            () = stop.cancelled() => RunEndCause::Aborted,
            // The caller is gone and nothing is stored, so the answer would be lost.
            () = call.abandoned.cancelled() => RunEndCause::Aborted,
            () = self.shared.deps.tasks.stopping() => RunEndCause::Aborted,
            () = tokio::time::sleep(Duration::from_millis(wall_ms)) => RunEndCause::TimeLimit,
        };
        chat.finish(cause).await
    }
}

/// Registers a chat so that it can be stopped by its id; dropping it unregisters the chat.
struct OpenChat {
    shared: Arc<AgentContext>,
    id: RunId,
    stop: CancellationToken,
}

impl OpenChat {
    fn new(shared: &Arc<AgentContext>, id: RunId) -> Result<OpenChat, WireError> {
        let stop = CancellationToken::new();
        let mut chats = shared.chats.lock().unwrap_or_else(PoisonError::into_inner);
        if chats.len() >= CHATS_MAX {
            let message = "Too many conversations are being answered. Try again in a moment.";
            return Err(WireError::new(ErrorCode::Overloaded, message).retry_after(1_000));
        }
        // Checked before the insert: the first chat keeps its entry and can still be stopped.
        if chats.contains_key(&id) {
            let message = "A conversation with this `chatId` is being answered.";
            return Err(WireError::new(ErrorCode::Conflict, message));
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

/// A chat in progress.
pub(super) struct StatelessChat {
    pub(super) shared: Arc<AgentContext>,
    pub(super) params: AgentChatParams,
    pub(super) candidates: Vec<ModelCandidate>,
    pub(super) tool_client: ToolClient,
    pub(super) deltas: Arc<DeltaEmitter>,
    pub(super) turn: TurnMachine,
    pub(super) system: Vec<String>,
    pub(super) callers_system: Vec<String>,
    pub(super) messages: Vec<ContextMessage>,
    pub(super) failover: ModelFailover,
    pub(super) wait_ms: u64,
    pub(super) cost: Cost,
    /// Prefix of the ledger keys of its calls. New for each answer: the caller chooses the chat id
    /// and may reuse it once the answer has ended.
    pub(super) ledger_prefix: String,
    /// Ledger key and reserved amount of the call in progress.
    pub(super) reserved: Option<(String, Option<u64>)>,
    pub(super) content: Vec<ContentPart>,
    /// The texts of the answered steps, the last one included.
    pub(super) steps: Vec<ChatStep>,
    /// The step and attempt of the last model call.
    pub(super) attempt: (u32, u32),
    pub(super) cut: bool,
    pub(super) model: Option<String>,
    pub(super) message: Option<String>,
    /// The slot; released while the chat waits only for a person.
    pub(super) slot: Option<OwnedSemaphorePermit>,
    /// Calls in execution.
    pub(super) running: BTreeSet<String>,
}

impl StatelessChat {
    async fn new(
        shared: &Arc<AgentContext>,
        mut params: AgentChatParams,
        candidates: Vec<ModelCandidate>,
    ) -> StatelessChat {
        let messages = std::mem::take(&mut params.messages);
        let (system, rest): (Vec<_>, Vec<_>) = messages
            .into_iter()
            .partition(|message| message.role == Role::System);
        let to_context = |message: ChatMessage| {
            let content = match message.role {
                // Results of the client's own tools come from outside and may contain secrets that
                // hob knows.
                Role::Tool => mask_content(message.content, &shared.deps.mask),
                _ => message.content,
            };
            ContextMessage::new(message.role, content, false)
        };
        let callers_system: Vec<String> = system
            .into_iter()
            .map(|it| content_text(it.content))
            .collect();
        let layers = system_layers(shared, &params, &callers_system).await;
        let session = format!("chat:{}", params.chat_id);
        let of = RunRef {
            session_key: session.clone(),
            run_id: params.chat_id,
        };
        let limits = settings::limits(&shared.settings());
        let answer = shared.deps.randomness.uuid(shared.now_ms());
        let own: BTreeSet<String> = params.tools.iter().cloned().collect();
        StatelessChat {
            ledger_prefix: format!("{session}/{answer}"),
            tool_client: ToolClient {
                caller: shared.deps.bus.caller("agent"),
                tool_list: Arc::clone(&shared.tools),
                run_id: params.chat_id,
                session_key: session.clone(),
                workspace: None,
                ceiling: params.ceiling,
                channel: None,
                unattended: false,
                is_child: false,
                only: Some(own),
            },
            deltas: Arc::new(DeltaEmitter::new(shared.emitter.clone(), of, session)),
            turn: TurnMachine::new(limits.with_budget(&params.budget.unwrap_or_default())),
            failover: ModelFailover::new(shared.retry_policy(), candidates.len()),
            shared: Arc::clone(shared),
            candidates,
            system: layers,
            callers_system,
            messages: rest.into_iter().map(to_context).collect(),
            params,
            wait_ms: 0,
            cost: Cost::default(),
            reserved: None,
            content: Vec::new(),
            steps: Vec::new(),
            attempt: (0, 0),
            cut: false,
            model: None,
            message: None,
            slot: None,
            running: BTreeSet::new(),
        }
    }

    /// Answers the last message and returns the cause of the end.
    async fn answer(&mut self) -> Result<RunEndCause, WireError> {
        let at = self.shared.now_ms();
        let mut effects = self.step_turn(TurnEvent::Begin { at });
        loop {
            let mut calls = Vec::new();
            let mut next = None;
            for effect in effects.drain(..) {
                match effect {
                    TurnEffect::CallModel { step, attempt } => next = Some((step, attempt)),
                    TurnEffect::Ask { call } => calls.push(call),
                    TurnEffect::Finish { cause } => return Ok(cause),
                    _ => {}
                }
            }
            effects = match next {
                Some((step, attempt)) => {
                    self.acquire_slot().await;
                    match self.call_model(step, attempt).await? {
                        Some(effects) => effects,
                        None => return Ok(RunEndCause::Answered),
                    }
                }
                None if calls.is_empty() => return Ok(RunEndCause::ModelFailed),
                None => self.run_tool_calls(&calls).await,
            };
        }
    }

    pub(super) fn push_message(&mut self, role: Role, content: MessageContent) {
        self.messages.push(ContextMessage::new(role, content, true));
    }

    pub(super) fn step_turn(&mut self, event: TurnEvent) -> Vec<TurnEffect> {
        let mut effects = Vec::new();
        self.turn.step(event, &mut effects);
        effects
    }

    async fn finish(mut self, cause: RunEndCause) -> Result<AgentChatResult, WireError> {
        let is_cut = cause == RunEndCause::Aborted || cause == RunEndCause::TimeLimit;
        if is_cut {
            self.stop_tools().await;
        }
        // A call that was cut off may have cost its reservation.
        if let Some((_, reserved)) = self.reserved {
            self.cost = add_cost(self.cost, TokenUsage::default(), reserved);
            self.settle(|call_key| LedgerWrite::Unknown { call_key })
                .await?;
        }
        if is_cut {
            let text = self.deltas.text();
            self.content = vec![ContentPart::Text { text }];
        }
        let success = cause == RunEndCause::Answered;
        let (last, _) = self.attempt;
        self.steps.retain(|earlier| earlier.step < last);
        Ok(AgentChatResult {
            content: self.content,
            earlier: self.steps,
            success,
            cause,
            message: self
                .message
                .filter(|_| !success)
                .or_else(|| cause_sentence(cause)),
            cut: self.cut,
            cost: self.cost,
            model: self.model,
        })
    }
}

fn has_images(messages: &[ChatMessage]) -> bool {
    let mut parts = messages.iter().flat_map(|message| match &message.content {
        MessageContent::Text(_) => &[],
        MessageContent::Parts(parts) => &parts[..],
    });
    parts.any(|part| matches!(part, ContentPart::Image { .. }))
}

fn content_text(content: MessageContent) -> String {
    match content {
        MessageContent::Text(text) => text,
        MessageContent::Parts(parts) => text_of(&parts),
    }
}

/// The layers of a chat's system prompt. A caller with a system prompt of its own gets no prompt of
/// hob's on top.
async fn system_layers(
    shared: &AgentContext,
    params: &AgentChatParams,
    callers: &[String],
) -> Vec<String> {
    if !callers.is_empty() {
        return callers.to_vec();
    }
    let sources = PromptSources {
        home: shared.deps.home.clone(),
        mask: shared.deps.mask.clone(),
        workspace: None,
        caller: None,
    };
    let text = system_prompt::build_layers(sources, None).await;
    for reason in &text.refused {
        tracing::warn!(chat = %params.chat_id, "{reason}");
    }
    text.layers
}
