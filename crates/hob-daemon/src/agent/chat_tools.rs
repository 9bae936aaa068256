//! The tools of a conversation that its caller keeps: asked for, run side by side, stopped.
//!
//! Invariants: no tool runs without a slot; while only a person is waited for the conversation holds
//! none; whoever stops the conversation stops its tools and takes its questions back.

use super::chat::Chat;
use super::driver::ASK_PATIENCE;
use super::hands::{Asked, Hands, Ran};
use super::stopping::STOP_WAIT;
use super::story::told;
use futures_util::StreamExt;
use futures_util::future::{BoxFuture, FutureExt, join_all};
use futures_util::stream::FuturesUnordered;
use hob_core::turn::{Effect, Event};
use hob_wire::{Content, Part, Role, ToolCall, ToolResult};

type Work<T> = FuturesUnordered<BoxFuture<'static, T>>;

/// The calls of one answer and how far they are.
struct Calls {
    asking: Work<(ToolCall, Asked)>,
    /// Allowed, waiting for a slot.
    allowed: Vec<(ToolCall, Option<String>)>,
    running: Work<(String, Ran)>,
    /// Ended, with whether they were allowed; in the order of their ends.
    ended: Vec<(ToolResult, bool)>,
}

impl Chat {
    /// Asks for and runs the calls of one answer, side by side.
    pub(super) async fn use_tools(&mut self, ids: &[String]) -> Vec<Effect> {
        let asked = self.content.iter().filter_map(|part| match part {
            Part::ToolCall(call) if ids.contains(&call.id) => Some(call.clone()),
            _ => None,
        });
        let asked: Vec<ToolCall> = asked.collect();
        let mut calls = Calls {
            asking: asked
                .iter()
                .map(|call| ask(self.hands.clone(), call.clone()).boxed())
                .collect(),
            allowed: Vec::new(),
            running: FuturesUnordered::new(),
            ended: Vec::new(),
        };
        while calls.ended.len() < asked.len() {
            self.next_of(&mut calls).await;
        }
        // The model is told in the order it asked.
        let place = |id: &str| asked.iter().position(|call| call.id == id);
        calls.ended.sort_by_key(|(result, _)| place(&result.id));
        let ended = calls.ended.into_iter();
        ended
            .flat_map(|(result, allowed)| self.take_result(result, allowed))
            .collect()
    }

    /// Waits for the slot that asking a model needs, unless it is held.
    pub(super) async fn take_slot(&mut self) {
        if self.slot.is_none() {
            // The slots are never closed.
            self.slot = self.shared.slots(0).acquire_owned().await.ok();
        }
    }

    /// Ends every tool under way and takes every question back, within a second.
    pub(super) async fn stop_tools(&mut self) {
        let hands = self.hands.clone();
        let cancels = std::mem::take(&mut self.running);
        let cancels = join_all(cancels.into_iter().map(|call| hands.cancel(call)));
        let all = async { tokio::join!(cancels, hands.withdraw()) };
        if tokio::time::timeout(STOP_WAIT, all).await.is_err() {
            tracing::warn!(chat = %self.params.chat_id, "its tools did not end in time");
        }
    }

    /// Goes one step on: a ruling, a result, a slot, or the patience with a question is over.
    async fn next_of(&mut self, calls: &mut Calls) {
        if self.slot.is_some() {
            for (call, ticket) in calls.allowed.drain(..) {
                self.running.insert(call.id.clone());
                let ran = run(self.hands.clone(), call, ticket);
                calls.running.push(ran.boxed());
            }
        }
        let only_asks = calls.running.is_empty() && calls.allowed.is_empty();
        let has_slot = self.slot.is_some();
        let needs_slot = !has_slot && !calls.allowed.is_empty();
        let slots = self.shared.slots(0);
        tokio::select! {
            Some((call, asked)) = calls.asking.next() => calls.ruled(call, asked),
            Some((id, ran)) = calls.running.next() => {
                self.running.remove(&id);
                calls.ran(&id, ran);
            }
            slot = slots.acquire_owned(), if needs_slot => self.slot = slot.ok(),
            // A person is asked, who may take hours.
            () = tokio::time::sleep(ASK_PATIENCE), if only_asks && has_slot => self.slot = None,
        }
    }

    fn take_result(&mut self, result: ToolResult, allowed: bool) -> Vec<Effect> {
        let at = self.shared.now_ms();
        let call = result.id.clone();
        let failed = result.is_error;
        self.say(Role::Tool, Content::Parts(vec![Part::ToolResult(result)]));
        let decided = Event::Decided {
            call: call.clone(),
            allowed,
            at,
        };
        let begun = Event::Begun {
            call: call.clone(),
            at,
        };
        let done = Event::ToolDone { call, failed, at };
        let mut effects = self.feed(decided);
        effects.extend(self.feed(begun));
        effects.extend(self.feed(done));
        effects
    }
}

impl Calls {
    fn ruled(&mut self, call: ToolCall, asked: Asked) {
        let (reason, allowed) = match asked {
            Asked::Allowed { ticket, .. } => return self.allowed.push((call, ticket)),
            Asked::Denied(denial) | Asked::Unreachable(denial) => (denial.reason, false),
            Asked::Impossible { reason } => (reason, true),
        };
        self.ended.push((told(&call.id, reason, true), allowed));
    }

    fn ran(&mut self, id: &str, ran: Ran) {
        let result = match ran {
            Ran::Answered(result) => result,
            Ran::Unanswered(why) => told(id, format!("The tool did not answer: {why}"), true),
        };
        self.ended.push((result, true));
    }
}

async fn ask(hands: Hands, call: ToolCall) -> (ToolCall, Asked) {
    let asked = hands.ask(call.clone(), None, false).await;
    (call, asked)
}

async fn run(hands: Hands, call: ToolCall, ticket: Option<String>) -> (String, Ran) {
    let id = call.id.clone();
    (id, hands.execute(call, ticket).await)
}
