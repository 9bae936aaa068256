//! Carrying out what the machine says: asking models, permissions and tools. Everything started
//! here belongs to the driver and ends with it.

use super::driver::{Done, Driver, OpenCall, Todo};
use super::live::Voice;
use futures_util::FutureExt;
use hob_core::turn::{CallState, Effect, Phase};
use hob_kit::failpoint;
use hob_models::{ModelError, Piece, Reply};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

impl Driver {
    /// Begins what follows from a write.
    pub(super) fn carry_out(&mut self, effects: Vec<Effect>, has_order: bool) {
        self.story.due.clear();
        if has_order && *self.story.turn.phase() == Phase::Model {
            let (step, attempt) = self.story.turn.place();
            self.now.voice().begin(step, attempt);
            self.todo.push_back(Todo::Model);
        }
        for effect in effects {
            match effect {
                Effect::Ask { call } => self.ask(call),
                Effect::Run { call, .. } => self.run_or_ask(call),
                Effect::Probe { call } => {
                    if self.story.state_of(&call) == Some(CallState::Probing) {
                        self.todo.push_back(Todo::Probe(call));
                    }
                }
                Effect::CallModel { .. }
                | Effect::Doubt { .. }
                | Effect::AskForMoney
                | Effect::StopAll
                | Effect::Finish { .. } => {}
            }
        }
        if self.slot.is_some() {
            self.start_todo();
        }
    }

    /// Starts what waited for a slot.
    pub(super) fn start_todo(&mut self) {
        while let Some(todo) = self.todo.pop_front() {
            match todo {
                Todo::Model => self.ask_model(),
                Todo::Run(call) => self.run(call),
                Todo::Probe(call) => self.probe(call),
            }
        }
    }

    /// Runs a call that has begun and has its approval; asks for one where it is missing.
    pub(super) fn run_or_ask(&mut self, call: String) {
        match self.story.state_of(&call) {
            Some(CallState::Begun) if self.tickets.contains_key(&call) => {
                self.todo.push_back(Todo::Run(call));
            }
            // After a restart: the approval's ticket went with the former daemon.
            Some(CallState::Begun | CallState::Allowed) => self.ask(call),
            _ => {}
        }
    }

    fn ask(&mut self, id: String) {
        let wanted = [CallState::Asked, CallState::Allowed, CallState::Begun];
        let open = self
            .story
            .state_of(&id)
            .is_some_and(|it| wanted.contains(&it));
        let Some(call) = self.tool_call(&id).filter(|_| open) else {
            return;
        };
        if !self.asking.insert(id.clone()) {
            return;
        }
        let hands = self.hands.clone();
        let approved = self.story.approved.get(&id).cloned();
        let resumed = self.story.resumed > 0;
        let asked = async move {
            let asked = hands.ask(call, approved, resumed).await;
            Done::Asked { call: id, asked }
        };
        self.work.push(asked.boxed());
    }

    fn run(&mut self, id: String) {
        let ticket = self.tickets.remove(&id);
        let (Some(ticket), Some(call)) = (ticket, self.tool_call(&id)) else {
            return;
        };
        self.running.insert(id.clone());
        let hands = self.hands.clone();
        let ran = async move {
            failpoint::reach_with("run.tool.before", &call.name);
            let ran = hands.execute(call, ticket).await;
            failpoint::reach("run.tool.after");
            Done::Ran { call: id, ran }
        };
        self.work.push(ran.boxed());
    }

    fn probe(&mut self, id: String) {
        let Some(call) = self.tool_call(&id) else {
            return;
        };
        self.running.insert(id.clone());
        let hands = self.hands.clone();
        let probed = async move {
            let probed = hands.probe(call).await;
            Done::Probed { call: id, probed }
        };
        self.work.push(probed.boxed());
    }

    fn ask_model(&mut self) {
        let Some(call) = self.call.clone() else {
            return;
        };
        let wait = Duration::from_millis(std::mem::take(&mut self.tries.wait_ms));
        let voice = Arc::clone(self.now.voice());
        self.answer = Some(listen(call, voice, wait).boxed());
    }
}

/// Asks a model after a wait; each piece is said as it comes.
async fn listen(call: OpenCall, voice: Arc<Voice>, wait: Duration) -> Result<Reply, ModelError> {
    if !wait.is_zero() {
        tokio::time::sleep(wait).await;
    }
    call.sent.store(true, Ordering::Relaxed);
    let heard = Arc::clone(&call.heard);
    let mut say = move |piece| {
        match piece {
            // Nothing of an answer yet: another model may still be asked instead.
            Piece::Server { server, model } => voice.name_server(server, model),
            piece => {
                heard.store(true, Ordering::Relaxed);
                voice.say(piece);
            }
        }
    };
    call.order.candidate.ask(&call.order.prompt, &mut say).await
}
