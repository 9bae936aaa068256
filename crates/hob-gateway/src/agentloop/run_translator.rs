//! What a client has been told of one answer, and what it is told next. Pure: events of the run
//! come in, AgentLoop's events go out.
//!
//! Invariant: tokens are never taken back. Where another attempt of the model begins differently,
//! no more of them are sent, and the message at the end has the answer.

use crate::openai::Delta;
use crate::openai::tale::{Tale, Word};
use hob_core::follow::Text;
use hob_wire::agentloop::{Event, SessionState, Tool, ToolState};
use hob_wire::content::{Part, Role, ToolResult};
use hob_wire::id::{MessageId, RunId};
use hob_wire::rooms::agent::{
    Cause, RunCompletedPayload, RunStepPayload, RunToolPayload, RunView, ToolPhase,
};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Debug)]
pub(crate) struct Story {
    session_id: String,
    run: RunId,
    tale: Tale,
    words: Vec<Word>,
    told: String,
    message: Option<MessageId>,
    is_streaming: bool,
    /// Tokens that were sent do not fit what comes.
    is_quiet: bool,
    asks_status: bool,
}

impl Story {
    pub(crate) fn new(session_id: String, run: RunId) -> Story {
        Story {
            session_id,
            run,
            tale: Tale::default(),
            words: Vec::new(),
            told: String::new(),
            message: None,
            is_streaming: false,
            is_quiet: false,
            asks_status: false,
        }
    }

    pub(crate) fn run(&self) -> RunId {
        self.run
    }

    /// Whether the run's status must be asked for: something was lost on the way.
    pub(crate) fn asks_status(&mut self) -> bool {
        std::mem::take(&mut self.asks_status)
    }

    pub(crate) fn delta(&mut self, delta: &Delta<'_>, out: &mut Vec<Event>) {
        let told = self.tale.piece(delta.piece(), false, &mut self.words);
        self.is_quiet |= told.is_err();
        self.tell(out);
    }

    pub(crate) fn step(&mut self, step: &RunStepPayload, out: &mut Vec<Event>) {
        let text = Text {
            step: step.step,
            attempt: step.attempt,
            text: &step.text,
        };
        let told = self.tale.step_ended(text, &mut self.words);
        self.is_quiet |= told.is_err();
        self.tell(out);
    }

    pub(crate) fn status(&mut self, view: Option<&RunView>, out: &mut Vec<Event>) {
        let Some(view) = view else {
            self.tale.status_failed();
            return;
        };
        let text = Text {
            step: view.step,
            attempt: view.attempt,
            text: &view.text,
        };
        let told = self.tale.status(text, &mut self.words);
        self.is_quiet |= told.is_err();
        self.tell(out);
    }

    pub(crate) fn tool(&mut self, tool: RunToolPayload, out: &mut Vec<Event>) {
        let session_id = self.session_id.clone();
        match tool.phase {
            ToolPhase::Start => {
                self.is_streaming = false;
                out.push(self.state(SessionState::ToolUse, &tool.call.name));
                out.push(Event::ToolCall {
                    session_id,
                    tool: Tool {
                        id: tool.call.id,
                        name: tool.call.name,
                        args: tool.call.args,
                        status: ToolState::Running,
                        result: None,
                    },
                });
            }
            ToolPhase::End => {
                let result = match (&tool.result, &tool.denial) {
                    (Some(result), _) => answered(result),
                    (None, Some(denial)) => json!({ "ok": false, "error": denial.reason }),
                    (None, None) => json!({ "ok": false, "error": "It was stopped." }),
                };
                out.push(Event::ToolResult {
                    session_id,
                    tool_id: tool.call.id,
                    result,
                });
            }
        }
    }

    /// A message was added to the session: the last one of the assistant is the answer.
    pub(crate) fn message(&mut self, added: &Added) {
        if added.role == Role::Assistant {
            self.message = Some(added.id);
        }
    }

    pub(crate) fn state(&self, status: SessionState, detail: &str) -> Event {
        Event::SessionStatus {
            session_id: self.session_id.clone(),
            status,
            detail: Some(detail.to_owned()),
        }
    }

    pub(crate) fn error(&self, error: String) -> Event {
        Event::Error {
            session_id: Some(self.session_id.clone()),
            error,
        }
    }

    /// The last events of the answer.
    pub(crate) fn ended(&mut self, end: RunCompletedPayload, out: &mut Vec<Event>) {
        if end.cause == Cause::Aborted {
            out.push(self.state(SessionState::Idle, "Cancelled"));
            return;
        }
        if !end.success {
            let why = end.message.unwrap_or_else(|| "It failed.".to_owned());
            out.push(self.error(why.clone()));
            out.push(self.state(SessionState::Error, &why));
            out.push(self.state(SessionState::Idle, "Ready"));
            return;
        }
        let told = self.tale.ended(&end.response, &mut self.words);
        self.is_quiet |= told.is_err();
        self.tell(out);
        // An answer of several steps was told with the words between them.
        let content = if !self.is_quiet && self.told.ends_with(&end.response) {
            std::mem::take(&mut self.told)
        } else {
            end.response
        };
        let message_id = match self.message {
            Some(id) => id.to_string(),
            None => self.run.to_string(),
        };
        out.push(Event::AssistantMessage {
            session_id: self.session_id.clone(),
            message_id,
            content,
        });
        out.push(self.state(SessionState::Idle, "Ready"));
    }

    fn tell(&mut self, out: &mut Vec<Event>) {
        let mut words = std::mem::take(&mut self.words);
        for word in words.drain(..) {
            match word {
                Word::Text(token) if !self.is_quiet && !token.is_empty() => {
                    if !std::mem::replace(&mut self.is_streaming, true) {
                        out.push(self.state(SessionState::Streaming, "Answering"));
                    }
                    self.told.push_str(&token);
                    out.push(Event::AssistantToken {
                        session_id: self.session_id.clone(),
                        token,
                    });
                }
                Word::Text(_) | Word::Thinking(_) => {}
                Word::AskStatus => self.asks_status = true,
            }
        }
        self.words = words;
    }
}

/// The parts of `session.message` that matter here.
#[derive(Debug, Deserialize)]
pub(crate) struct Added {
    id: MessageId,
    role: Role,
}

fn answered(result: &ToolResult) -> Value {
    let texts = result.content.iter().filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        _ => None,
    });
    let text: String = texts.collect::<Vec<_>>().join("\n");
    if result.is_error {
        return json!({ "ok": false, "error": text });
    }
    json!({ "ok": true, "content": text })
}

#[cfg(test)]
#[path = "story_tests.rs"]
mod tests;
