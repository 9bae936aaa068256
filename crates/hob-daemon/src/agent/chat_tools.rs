//! Tool calls of a chat: approved, run in parallel, stopped.
//!
//! Invariants: no tool runs without a slot; a chat that waits only for a person holds none;
//! stopping the chat stops its tools and withdraws its questions.

use super::chat::StatelessChat;
use super::driver::ASK_GRACE;
use super::replayed_run::text_result;
use super::stopping::STOP_WAIT;
use super::tool_client::{ExecutionOutcome, PermissionOutcome, ToolClient};
use futures_util::StreamExt;
use futures_util::future::{BoxFuture, FutureExt, join_all};
use futures_util::stream::FuturesUnordered;
use hob_core::turn::{TurnEffect, TurnEvent};
use hob_wire::{ContentPart, MessageContent, Role, ToolCall, ToolResult};

type PendingFutures<T> = FuturesUnordered<BoxFuture<'static, T>>;

/// The tool calls of one answer and their progress.
struct ChatToolCalls {
    asking: PendingFutures<(ToolCall, PermissionOutcome)>,
    /// Approved calls that wait for a slot, with their tickets.
    allowed: Vec<(ToolCall, Option<String>)>,
    running: PendingFutures<(String, ExecutionOutcome)>,
    /// Results in the order they arrived, each with a flag that is true if the call was allowed.
    ended: Vec<(ToolResult, bool)>,
}

impl StatelessChat {
    /// Approves and runs the calls of one answer in parallel.
    pub(super) async fn run_tool_calls(&mut self, ids: &[String]) -> Vec<TurnEffect> {
        let requested = self.content.iter().filter_map(|part| match part {
            ContentPart::ToolCall(call) if ids.contains(&call.id) => Some(call.clone()),
            _ => None,
        });
        let requested: Vec<ToolCall> = requested.collect();
        let mut calls = ChatToolCalls {
            asking: requested
                .iter()
                .map(|call| ask(self.tool_client.clone(), call.clone()).boxed())
                .collect(),
            allowed: Vec::new(),
            running: FuturesUnordered::new(),
            ended: Vec::new(),
        };
        while calls.ended.len() < requested.len() {
            self.advance_calls(&mut calls).await;
        }
        // The model gets the results in the order of its calls.
        let place = |id: &str| requested.iter().position(|call| call.id == id);
        calls.ended.sort_by_key(|(result, _)| place(&result.id));
        let ended = calls.ended.into_iter();
        ended
            .flat_map(|(result, allowed)| self.apply_tool_result(result, allowed))
            .collect()
    }

    /// Waits for a slot, unless the chat holds one.
    pub(super) async fn acquire_slot(&mut self) {
        if self.slot.is_none() {
            // The semaphore is never closed.
            self.slot = self.shared.slots(0).acquire_owned().await.ok();
        }
    }

    /// Stops every running tool and withdraws every question, within a second.
    pub(super) async fn stop_tools(&mut self) {
        let tool_client = self.tool_client.clone();
        let cancels = std::mem::take(&mut self.running);
        let cancels = join_all(cancels.into_iter().map(|call| tool_client.cancel(call)));
        let all = async { tokio::join!(cancels, tool_client.withdraw()) };
        if tokio::time::timeout(STOP_WAIT, all).await.is_err() {
            tracing::warn!(chat = %self.params.chat_id, "the tools of the chat did not end in time");
        }
    }

    /// Handles the next event: a ruling, a result, a slot, or the end of the grace time of a
    /// question.
    async fn advance_calls(&mut self, calls: &mut ChatToolCalls) {
        if self.slot.is_some() {
            for (call, ticket) in calls.allowed.drain(..) {
                self.running.insert(call.id.clone());
                let outcome = run(self.tool_client.clone(), call, ticket);
                calls.running.push(outcome.boxed());
            }
        }
        let only_asks = calls.running.is_empty() && calls.allowed.is_empty();
        let has_slot = self.slot.is_some();
        let needs_slot = !has_slot && !calls.allowed.is_empty();
        let slots = self.shared.slots(0);
        tokio::select! {
            Some((call, outcome)) = calls.asking.next() => calls.apply_permission(call, outcome),
            Some((id, outcome)) = calls.running.next() => {
                self.running.remove(&id);
                calls.apply_execution(&id, outcome);
            }
            slot = slots.acquire_owned(), if needs_slot => self.slot = slot.ok(),
            // A person may take hours, so the slot goes to others.
            () = tokio::time::sleep(ASK_GRACE), if only_asks && has_slot => self.slot = None,
        }
    }

    fn apply_tool_result(&mut self, result: ToolResult, allowed: bool) -> Vec<TurnEffect> {
        let at = self.shared.now_ms();
        let call = result.id.clone();
        let failed = result.is_error;
        self.push_message(
            Role::Tool,
            MessageContent::Parts(vec![ContentPart::ToolResult(result)]),
        );
        let decided = TurnEvent::Decided {
            call: call.clone(),
            allowed,
            at,
        };
        let begun = TurnEvent::Begun {
            call: call.clone(),
            at,
        };
        let done = TurnEvent::ToolDone { call, failed, at };
        // The machine needs all three events in order; a chat has no journal, so they are fed at
        // once.
        let mut effects = self.step_turn(decided);
        effects.extend(self.step_turn(begun));
        effects.extend(self.step_turn(done));
        effects
    }
}

impl ChatToolCalls {
    fn apply_permission(&mut self, call: ToolCall, outcome: PermissionOutcome) {
        let (reason, allowed) = match outcome {
            PermissionOutcome::Allowed { ticket, .. } => return self.allowed.push((call, ticket)),
            PermissionOutcome::Denied(denial) | PermissionOutcome::Unreachable(denial) => {
                (denial.reason, false)
            }
            PermissionOutcome::Impossible { reason } => (reason, true),
        };
        self.ended
            .push((text_result(&call.id, reason, true), allowed));
    }

    fn apply_execution(&mut self, id: &str, outcome: ExecutionOutcome) {
        let result = match outcome {
            ExecutionOutcome::Answered(result) => result,
            ExecutionOutcome::Unanswered(why) => {
                text_result(id, format!("The tool did not answer: {why}"), true)
            }
        };
        self.ended.push((result, true));
    }
}

async fn ask(tool_client: ToolClient, call: ToolCall) -> (ToolCall, PermissionOutcome) {
    let outcome = tool_client.ask_permission(call.clone(), None, false).await;
    (call, outcome)
}

async fn run(
    tool_client: ToolClient,
    call: ToolCall,
    ticket: Option<String>,
) -> (String, ExecutionOutcome) {
    let id = call.id.clone();
    (id, tool_client.execute(call, ticket).await)
}
