//! Bus events in Pryx's words. Its runtime and its TUI call the same things by different names, so
//! each is told under both. Pure.
//!
//! Invariants: sent text is never taken back. If another attempt of the model begins differently,
//! no more pieces are sent; the event at the end has the whole answer. The tables are bounded.

use crate::pryx::approvals::{answer_json, question_json};
use crate::pryx::envelope::PryxEvent;
use crate::pryx::sessions::{content_text, parts_text};
use hob_core::transcript::StepText;
use hob_gateway::bus_connection::decode;
use hob_gateway::openai::{AnswerChunk, BorrowedDelta, ChunkBuilder};
use hob_wire::content::{MessageContent, Role};
use hob_wire::id::RunId;
use hob_wire::rooms::agent::{
    RunCompleted, RunCompletedPayload, RunDelta, RunEndCause, RunInDoubt, RunInDoubtPayload,
    RunPaused, RunPausedPayload, RunStarted, RunStartedPayload, RunStep, RunStepPayload, RunTool,
    RunToolPayload, RunView, ToolPhase,
};
use hob_wire::rooms::permission::{
    PermissionAnswer, PermissionAnswered, PermissionQuestion, PermissionRequested,
};
use hob_wire::rooms::session::{SessionCreated, SessionDeleted, SessionMessage};
use hob_wire::{EventTopic, WireError};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

const STARTED: &str = RunStarted::SPEC.topic;
const DELTA: &str = RunDelta::SPEC.topic;
const STEP: &str = RunStep::SPEC.topic;
const TOOL: &str = RunTool::SPEC.topic;
const PAUSED: &str = RunPaused::SPEC.topic;
const IN_DOUBT: &str = RunInDoubt::SPEC.topic;
const COMPLETED: &str = RunCompleted::SPEC.topic;
const ASKED: &str = PermissionRequested::SPEC.topic;
const ANSWERED: &str = PermissionAnswered::SPEC.topic;
const CREATED: &str = SessionCreated::SPEC.topic;
const MESSAGE: &str = SessionMessage::SPEC.topic;
const DELETED: &str = SessionDeleted::SPEC.topic;

/// The subscribed topics.
pub(crate) const TOPICS: [&str; 12] = [
    STARTED, DELTA, STEP, TOOL, PAUSED, IN_DOUBT, COMPLETED, ASKED, ANSWERED, CREATED, MESSAGE,
    DELETED,
];

/// Maximum runs whose text is followed at once. Of others only the end is told.
const RUNS_MAX: usize = 256;
/// Maximum calls of a run that are remembered as announced.
const CALLS_MAX: usize = 1_024;

/// The translator of one client.
#[derive(Debug, Default)]
pub(crate) struct PryxEventTranslator {
    runs: HashMap<RunId, FollowedRun>,
    asks_status: Option<RunId>,
}

#[derive(Debug, Default)]
struct FollowedRun {
    chunk_builder: ChunkBuilder,
    chunks: Vec<AnswerChunk>,
    /// The sent text does not match the current attempt.
    has_diverged: bool,
    /// The calls of which `tool.request` was sent.
    announced: HashSet<String>,
}

/// The run of an event.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RunIdField {
    run_id: RunId,
}

/// The needed fields of `session.message`.
#[derive(Deserialize)]
struct AddedMessage {
    role: Role,
    content: MessageContent,
}

impl PryxEventTranslator {
    /// Translates an event. `can_resolve` says if the client may answer questions.
    pub(crate) fn translate(
        &mut self,
        topic: &str,
        payload: &str,
        can_resolve: bool,
        out: &mut Vec<PryxEvent>,
    ) -> Result<(), WireError> {
        match topic {
            STARTED => started(&decode(payload)?, out),
            DELTA => self.delta(payload, out),
            STEP => self.step(&decode(payload)?, out),
            TOOL => self.tool(&decode(payload)?, out),
            PAUSED => {
                let paused: RunPausedPayload = decode(payload)?;
                out.push(error("run.paused", paused.run.run_id, &paused.message));
            }
            IN_DOUBT => {
                let doubt: RunInDoubtPayload = decode(payload)?;
                out.push(error("run.in_doubt", doubt.run.run_id, &doubt.known));
            }
            COMPLETED => self.completed(&decode(payload)?, out),
            ASKED => self.asked(&decode(payload)?, can_resolve, out),
            ANSWERED => {
                let answered: PermissionAnswer = decode(payload)?;
                out.push(PryxEvent::new("approval.resolved", answer_json(&answered)));
            }
            MESSAGE => {
                let added: AddedMessage = decode(payload)?;
                if added.role == Role::User {
                    let content = content_text(&added.content);
                    out.push(PryxEvent::new(
                        "chat.request",
                        json!({ "content": content }),
                    ));
                }
            }
            CREATED => out.push(trace("session.created", json!({}))),
            DELETED => out.push(trace("session.deleted", json!({}))),
            _ => {}
        }
        Ok(())
    }

    /// Returns a run once if deltas of it were lost and its status must be requested.
    pub(crate) fn take_status_request(&mut self) -> Option<RunId> {
        self.asks_status.take()
    }

    /// Applies the requested status of a run; `None` if it could not be had.
    pub(crate) fn apply_status(
        &mut self,
        run_id: RunId,
        view: Option<&RunView>,
        out: &mut Vec<PryxEvent>,
    ) {
        let Some(run) = self.runs.get_mut(&run_id) else {
            return;
        };
        let Some(view) = view else {
            run.chunk_builder.status_failed();
            return;
        };
        let text = StepText {
            step: view.step,
            attempt: view.attempt,
            text: &view.text,
        };
        let applied = run.chunk_builder.status(text, &mut run.chunks);
        run.has_diverged |= applied.is_err();
        self.drain_chunks(run_id, out);
    }

    fn delta(&mut self, payload: &str, out: &mut Vec<PryxEvent>) {
        // An unreadable delta counts as lost; the next offset shows the gap.
        let (Ok(RunIdField { run_id }), Ok(delta)) = (
            serde_json::from_str(payload),
            serde_json::from_str::<BorrowedDelta<'_>>(payload),
        ) else {
            return;
        };
        let Some(run) = self.follow(run_id) else {
            return;
        };
        let applied = run
            .chunk_builder
            .piece(delta.piece(), false, &mut run.chunks);
        run.has_diverged |= applied.is_err();
        self.drain_chunks(run_id, out);
    }

    fn step(&mut self, step: &RunStepPayload, out: &mut Vec<PryxEvent>) {
        let run_id = step.run.run_id;
        let Some(run) = self.follow(run_id) else {
            return;
        };
        let text = StepText {
            step: step.step,
            attempt: step.attempt,
            text: &step.text,
        };
        let applied = run.chunk_builder.step_ended(text, &mut run.chunks);
        run.has_diverged |= applied.is_err();
        self.drain_chunks(run_id, out);
    }

    fn asked(
        &mut self,
        question: &PermissionQuestion,
        can_resolve: bool,
        out: &mut Vec<PryxEvent>,
    ) {
        let call = json!({
            "tool": question.tool,
            "name": question.tool,
            "args": question.args,
            "call_id": question.call_id,
            "run_id": question.run_id,
        });
        self.announce(question.run_id, &question.call_id, call, out);
        let payload = question_json(question, can_resolve);
        out.push(PryxEvent::new("approval.needed", payload.clone()));
        out.push(PryxEvent::new("approval.request", payload));
    }

    fn tool(&mut self, tool: &RunToolPayload, out: &mut Vec<PryxEvent>) {
        let run_id = tool.run.run_id;
        let mut payload = json!({
            "tool": tool.call.name,
            "name": tool.call.name,
            "args": tool.call.args,
            "call_id": tool.call.id,
            "run_id": run_id,
        });
        self.announce(run_id, &tool.call.id, payload.clone(), out);
        match tool.phase {
            ToolPhase::Start => {
                out.push(PryxEvent::new("tool.executing", payload.clone()));
                out.push(PryxEvent::new("tool.start", payload));
            }
            ToolPhase::End => {
                let (result, failure) = match (&tool.result, &tool.denial) {
                    (Some(result), _) if result.is_error => {
                        (None, Some(parts_text(&result.content)))
                    }
                    (Some(result), _) => (Some(parts_text(&result.content)), None),
                    (None, Some(denial)) => (None, Some(denial.reason.clone())),
                    (None, None) => (None, Some("It was stopped.".to_owned())),
                };
                payload["success"] = failure.is_none().into();
                payload["result"] = result.into();
                payload["error"] = failure.into();
                out.push(PryxEvent::new("tool.complete", payload.clone()));
                out.push(PryxEvent::new("tool.end", payload));
            }
        }
    }

    fn completed(&mut self, end: &RunCompletedPayload, out: &mut Vec<PryxEvent>) {
        let run_id = end.run.run_id;
        if let Some(run) = self.follow(run_id) {
            // A failure has a text of its own, which is no answer.
            if end.success {
                let applied = run.chunk_builder.finish(&end.response, &mut run.chunks);
                run.has_diverged |= applied.is_err();
            }
            self.drain_chunks(run_id, out);
        }
        self.runs.remove(&run_id);
        if !end.success && end.cause != RunEndCause::Aborted {
            let why = end.message.as_deref().unwrap_or("It failed.");
            out.push(error("run.failed", run_id, why));
        }
        // The last piece is empty: the text is complete without it.
        out.push(PryxEvent::new(
            "session.message",
            json!({
                "content": "", "done": true, "full_content": end.response,
                "success": end.success, "run_id": run_id,
            }),
        ));
        out.push(PryxEvent::new(
            "message.done",
            json!({ "content": end.response, "success": end.success, "run_id": run_id }),
        ));
        out.push(typing(false, run_id));
        out.push(trace(
            "run.completed",
            json!({
                "run_id": run_id,
                "cause": end.cause,
                "model": end.model,
                "input_tokens": end.cost.input_tokens,
                "output_tokens": end.cost.output_tokens,
            }),
        ));
    }

    /// Sends `tool.request` once for each call.
    fn announce(&mut self, run_id: RunId, call_id: &str, call: Value, out: &mut Vec<PryxEvent>) {
        let Some(run) = self.follow(run_id) else {
            return;
        };
        if run.announced.len() < CALLS_MAX && run.announced.insert(call_id.to_owned()) {
            out.push(PryxEvent::new("tool.request", call));
        }
    }

    fn follow(&mut self, run_id: RunId) -> Option<&mut FollowedRun> {
        if !self.runs.contains_key(&run_id) && self.runs.len() >= RUNS_MAX {
            return None;
        }
        Some(self.runs.entry(run_id).or_default())
    }

    fn drain_chunks(&mut self, run_id: RunId, out: &mut Vec<PryxEvent>) {
        let Some(run) = self.runs.get_mut(&run_id) else {
            return;
        };
        for chunk in run.chunks.drain(..) {
            match chunk {
                AnswerChunk::Text(text) if !run.has_diverged && !text.is_empty() => {
                    out.push(PryxEvent::new(
                        "session.message",
                        json!({ "content": text, "done": false, "run_id": run_id }),
                    ));
                    out.push(PryxEvent::new(
                        "message.delta",
                        json!({ "content": text, "run_id": run_id }),
                    ));
                }
                AnswerChunk::Thinking(text) => {
                    let payload = json!({ "content": text, "run_id": run_id });
                    out.push(trace("agent.thinking", payload));
                }
                AnswerChunk::Text(_) => {}
                AnswerChunk::AskStatus => self.asks_status = Some(run_id),
            }
        }
    }
}

fn started(started: &RunStartedPayload, out: &mut Vec<PryxEvent>) {
    let run_id = started.run.run_id;
    out.push(typing(true, run_id));
    let payload = json!({ "run_id": run_id, "model": started.model });
    out.push(trace("run.started", payload));
}

fn typing(is_typing: bool, run_id: RunId) -> PryxEvent {
    let payload = json!({ "typing": is_typing, "run_id": run_id });
    PryxEvent::new("session.typing", payload)
}

/// A `trace.event` of this kind.
pub(crate) fn trace(kind: &str, mut payload: Value) -> PryxEvent {
    payload["kind"] = kind.into();
    PryxEvent::new("trace.event", payload)
}

fn error(kind: &str, run_id: RunId, why: &str) -> PryxEvent {
    let payload = json!({ "kind": kind, "error": why, "run_id": run_id });
    PryxEvent::new("error.occurred", payload)
}

#[cfg(test)]
#[path = "event_translator_tests.rs"]
mod tests;
