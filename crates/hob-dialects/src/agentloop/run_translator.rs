//! Translates the events of one run into AgentLoop's events. Pure.
//!
//! Invariant: sent tokens are never taken back. If another attempt of the model begins differently,
//! no more tokens are sent; the message at the end has the whole answer.

use crate::agentloop::types::{
    AgentLoopEvent, AgentLoopSessionState, AgentLoopToolCall, AgentLoopToolStatus,
};
use hob_core::transcript::StepText;
use hob_gateway::openai::BorrowedDelta;
use hob_gateway::openai::{AnswerChunk, ChunkBuilder};
use hob_wire::content::{ContentPart, Role, ToolResult};
use hob_wire::id::{MessageId, RunId};
use hob_wire::rooms::agent::{
    RunCompletedPayload, RunEndCause, RunStepPayload, RunToolPayload, RunView, ToolPhase,
};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Debug)]
pub(crate) struct AgentLoopRunTranslator {
    session_id: String,
    run: RunId,
    chunk_builder: ChunkBuilder,
    chunks: Vec<AnswerChunk>,
    sent: String,
    message: Option<MessageId>,
    is_streaming: bool,
    /// The sent tokens do not match the current attempt.
    has_diverged: bool,
    asks_status: bool,
    /// The question that was shown last.
    question: Option<String>,
}

impl AgentLoopRunTranslator {
    pub(crate) fn new(session_id: String, run: RunId) -> AgentLoopRunTranslator {
        AgentLoopRunTranslator {
            session_id,
            run,
            chunk_builder: ChunkBuilder::default(),
            chunks: Vec::new(),
            sent: String::new(),
            message: None,
            is_streaming: false,
            has_diverged: false,
            asks_status: false,
            question: None,
        }
    }

    pub(crate) fn run(&self) -> RunId {
        self.run
    }

    /// Returns true once if deltas were lost and the run's status must be requested.
    pub(crate) fn take_status_request(&mut self) -> bool {
        std::mem::take(&mut self.asks_status)
    }

    pub(crate) fn apply_delta(&mut self, delta: &BorrowedDelta<'_>, out: &mut Vec<AgentLoopEvent>) {
        let applied = self
            .chunk_builder
            .piece(delta.piece(), false, &mut self.chunks);
        self.has_diverged |= applied.is_err();
        self.drain_chunks(out);
    }

    pub(crate) fn apply_step(&mut self, step: &RunStepPayload, out: &mut Vec<AgentLoopEvent>) {
        let text = StepText {
            step: step.step,
            attempt: step.attempt,
            text: &step.text,
        };
        let applied = self.chunk_builder.step_ended(text, &mut self.chunks);
        self.has_diverged |= applied.is_err();
        self.drain_chunks(out);
    }

    pub(crate) fn apply_status(&mut self, view: Option<&RunView>, out: &mut Vec<AgentLoopEvent>) {
        let Some(view) = view else {
            self.chunk_builder.status_failed();
            return;
        };
        let text = StepText {
            step: view.step,
            attempt: view.attempt,
            text: &view.text,
        };
        let applied = self.chunk_builder.status(text, &mut self.chunks);
        self.has_diverged |= applied.is_err();
        self.drain_chunks(out);
    }

    pub(crate) fn apply_tool(&mut self, tool: RunToolPayload, out: &mut Vec<AgentLoopEvent>) {
        let session_id = self.session_id.clone();
        match tool.phase {
            ToolPhase::Start => {
                // The next token after a tool announces the streaming again.
                self.is_streaming = false;
                out.push(self.state(AgentLoopSessionState::ToolUse, &tool.call.name));
                out.push(AgentLoopEvent::ToolCall {
                    session_id,
                    tool: AgentLoopToolCall {
                        id: tool.call.id,
                        name: tool.call.name,
                        args: tool.call.args,
                        status: AgentLoopToolStatus::Running,
                        result: None,
                    },
                });
            }
            ToolPhase::End => {
                let result = match (&tool.result, &tool.denial) {
                    (Some(result), _) => tool_result_json(result),
                    (None, Some(denial)) => json!({ "ok": false, "error": denial.reason }),
                    (None, None) => json!({ "ok": false, "error": "It was stopped." }),
                };
                out.push(AgentLoopEvent::ToolResult {
                    session_id,
                    tool_id: tool.call.id,
                    result,
                });
            }
        }
    }

    /// Notes a message that was added to the session. The last one of the assistant is the answer.
    pub(crate) fn note_message(&mut self, added: &AddedMessage) {
        if added.role == Role::Assistant {
            self.message = Some(added.id);
        }
    }

    /// Returns true if a question was not shown yet, and notes it.
    pub(crate) fn note_question(&mut self, id: &str) -> bool {
        let is_new = self.question.as_deref() != Some(id);
        self.question = Some(id.to_owned());
        // What follows is announced anew, because the client closes its stream with the text.
        self.is_streaming = false;
        is_new
    }

    /// A text that clients show like an answer.
    pub(crate) fn notice(&self, message_id: String, content: String) -> AgentLoopEvent {
        AgentLoopEvent::AssistantMessage {
            session_id: self.session_id.clone(),
            message_id,
            content,
        }
    }

    pub(crate) fn state(&self, status: AgentLoopSessionState, detail: &str) -> AgentLoopEvent {
        AgentLoopEvent::SessionStatus {
            session_id: self.session_id.clone(),
            status,
            detail: Some(detail.to_owned()),
        }
    }

    pub(crate) fn error(&self, error: String) -> AgentLoopEvent {
        AgentLoopEvent::Error {
            session_id: Some(self.session_id.clone()),
            error,
        }
    }

    /// Appends the last events of the answer.
    pub(crate) fn finish(&mut self, end: RunCompletedPayload, out: &mut Vec<AgentLoopEvent>) {
        // A cancel is the client's own wish and no error.
        if end.cause == RunEndCause::Aborted {
            out.push(self.state(AgentLoopSessionState::Idle, "Cancelled"));
            return;
        }
        if !end.success {
            let why = end.message.unwrap_or_else(|| "It failed.".to_owned());
            out.push(self.error(why.clone()));
            out.push(self.state(AgentLoopSessionState::Error, &why));
            out.push(self.state(AgentLoopSessionState::Idle, "Ready"));
            return;
        }
        let applied = self.chunk_builder.finish(&end.response, &mut self.chunks);
        self.has_diverged |= applied.is_err();
        self.drain_chunks(out);
        // The tokens of several steps include the texts in between, which the response does not.
        let content = if !self.has_diverged && self.sent.ends_with(&end.response) {
            std::mem::take(&mut self.sent)
        } else {
            end.response
        };
        // AgentLoop's clients need an id; the run's serves if no message was stored.
        let message_id = match self.message {
            Some(id) => id.to_string(),
            None => self.run.to_string(),
        };
        out.push(AgentLoopEvent::AssistantMessage {
            session_id: self.session_id.clone(),
            message_id,
            content,
        });
        out.push(self.state(AgentLoopSessionState::Idle, "Ready"));
    }

    fn drain_chunks(&mut self, out: &mut Vec<AgentLoopEvent>) {
        // Taken out, because `state` borrows the whole translator.
        let mut chunks = std::mem::take(&mut self.chunks);
        for chunk in chunks.drain(..) {
            match chunk {
                AnswerChunk::Text(token) if !self.has_diverged && !token.is_empty() => {
                    if !std::mem::replace(&mut self.is_streaming, true) {
                        out.push(self.state(AgentLoopSessionState::Streaming, "Answering"));
                    }
                    self.sent.push_str(&token);
                    out.push(AgentLoopEvent::AssistantToken {
                        session_id: self.session_id.clone(),
                        token,
                    });
                }
                AnswerChunk::Text(_) | AnswerChunk::Thinking(_) => {}
                AnswerChunk::AskStatus => self.asks_status = true,
            }
        }
        self.chunks = chunks;
    }
}

/// The needed fields of `session.message`.
#[derive(Debug, Deserialize)]
pub(crate) struct AddedMessage {
    id: MessageId,
    role: Role,
}

fn tool_result_json(result: &ToolResult) -> Value {
    let texts = result.content.iter().filter_map(|part| match part {
        ContentPart::Text { text } => Some(text.as_str()),
        _ => None,
    });
    let text: String = texts.collect::<Vec<_>>().join("\n");
    if result.is_error {
        return json!({ "ok": false, "error": text });
    }
    json!({ "ok": true, "content": text })
}

#[cfg(test)]
#[path = "run_translator_tests.rs"]
mod tests;
