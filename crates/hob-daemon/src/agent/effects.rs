//! Carries out the effects of the turn machine: model calls, permission questions, tool calls. All
//! work started here belongs to the driver and ends with it.

use super::driver::{FinishedWork, PendingModelCall, RunDriver, SlotWork};
use super::live_runs::DeltaEmitter;
use futures_util::FutureExt;
use hob_core::turn::{TurnCallState, TurnEffect, TurnPhase};
use hob_kit::failpoint;
use hob_models::{ModelError, ModelReply, ReplyDelta};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

impl RunDriver {
    /// Starts the work that follows from a committed write.
    pub(super) fn start_effects(&mut self, effects: Vec<TurnEffect>, has_model_call: bool) {
        // The write that just committed contains them.
        self.replayed.due_steering.clear();
        if has_model_call && *self.replayed.turn.phase() == TurnPhase::Model {
            let (step, attempt) = self.replayed.turn.step_and_attempt();
            self.live_view.deltas().begin_attempt(step, attempt);
            self.slot_work.push_back(SlotWork::Model);
        }
        for effect in effects {
            match effect {
                TurnEffect::Ask { call } => self.start_asking(call),
                TurnEffect::Run { call, .. } => self.run_or_ask(call),
                TurnEffect::Probe { call } => {
                    if self.replayed.state_of(&call) == Some(TurnCallState::Probing) {
                        self.slot_work.push_back(SlotWork::Probe(call));
                    }
                }
                TurnEffect::CallModel { .. }
                | TurnEffect::Doubt { .. }
                | TurnEffect::AskForMoney
                | TurnEffect::StopAll
                | TurnEffect::Finish { .. } => {}
            }
        }
        if self.slot.is_some() {
            self.start_slot_work();
        }
    }

    /// Starts the work that waited for a slot.
    pub(super) fn start_slot_work(&mut self) {
        while let Some(todo) = self.slot_work.pop_front() {
            match todo {
                SlotWork::Model => self.start_model_call(),
                SlotWork::Run(call) => self.start_tool(call),
                SlotWork::Probe(call) => self.start_probe(call),
            }
        }
    }

    /// Queues a begun call that has its ticket; asks for a ticket where it is missing.
    pub(super) fn run_or_ask(&mut self, call: String) {
        match self.replayed.state_of(&call) {
            Some(TurnCallState::Begun) if self.tickets.contains_key(&call) => {
                self.slot_work.push_back(SlotWork::Run(call));
            }
            // After a restart: tickets live only in memory and were lost with the former daemon.
            Some(TurnCallState::Begun | TurnCallState::Allowed) => self.start_asking(call),
            _ => {}
        }
    }

    fn start_asking(&mut self, id: String) {
        let wanted = [
            TurnCallState::Asked,
            TurnCallState::Allowed,
            TurnCallState::Begun,
        ];
        let open = self
            .replayed
            .state_of(&id)
            .is_some_and(|it| wanted.contains(&it));
        let Some(call) = self.tool_call(&id).filter(|_| open) else {
            return;
        };
        // One question per call: a second one would be answered twice.
        if !self.asking.insert(id.clone()) {
            return;
        }
        let tool_client = self.tool_client.clone();
        let approved = self.replayed.approved.get(&id).cloned();
        let resumed = self.replayed.resumed > 0;
        let asked = async move {
            let outcome = tool_client.ask_permission(call, approved, resumed).await;
            FinishedWork::Permission { call: id, outcome }
        };
        self.in_flight.push(asked.boxed());
    }

    fn start_tool(&mut self, id: String) {
        let ticket = self.tickets.remove(&id);
        let (Some(ticket), Some(call)) = (ticket, self.tool_call(&id)) else {
            return;
        };
        self.running.insert(id.clone());
        let tool_client = self.tool_client.clone();
        let ran = async move {
            failpoint::reach_with("run.tool.before", &call.name);
            let outcome = tool_client.execute(call, ticket).await;
            failpoint::reach("run.tool.after");
            FinishedWork::Execution { call: id, outcome }
        };
        self.in_flight.push(ran.boxed());
    }

    fn start_probe(&mut self, id: String) {
        let Some(call) = self.tool_call(&id) else {
            return;
        };
        self.running.insert(id.clone());
        let tool_client = self.tool_client.clone();
        let probed = async move {
            let probed = tool_client.probe(call).await;
            FinishedWork::Probe { call: id, probed }
        };
        self.in_flight.push(probed.boxed());
    }

    fn start_model_call(&mut self) {
        let Some(call) = self.pending_call.clone() else {
            return;
        };
        let wait = Duration::from_millis(std::mem::take(&mut self.attempts.wait_ms));
        let deltas = Arc::clone(self.live_view.deltas());
        self.model_reply = Some(stream_reply(call, deltas, wait).boxed());
    }
}

/// Calls a model after a delay and emits each piece as it comes.
async fn stream_reply(
    call: PendingModelCall,
    deltas: Arc<DeltaEmitter>,
    wait: Duration,
) -> Result<ModelReply, ModelError> {
    if !wait.is_zero() {
        tokio::time::sleep(wait).await;
    }
    // Set before the request: from here on the call may cost money.
    call.sent.store(true, Ordering::Relaxed);
    let received = Arc::clone(&call.received);
    let mut say = move |piece| {
        match piece {
            // No part of an answer yet: another model may still be chosen.
            ReplyDelta::Server {
                server,
                model,
                demo,
            } => {
                deltas.announce_server(server, model, demo);
            }
            piece => {
                received.store(true, Ordering::Relaxed);
                deltas.emit_piece(piece);
            }
        }
    };
    call.model_call.ask(&mut say).await
}
