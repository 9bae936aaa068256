//! A finished answer in OpenAI's format: text, tool calls, finish reason, or an error. Pure.

use crate::openai::error::OpenaiError;
use axum::http::StatusCode;
use hob_wire::content::{ContentPart, ToolCall};
use hob_wire::rooms::agent::{AgentChatResult, Cost, RunEndCause};
use hob_wire::{ErrorCode, WireError};
use serde_json::{Value, json};

/// OpenAI's `finish_reason`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FinishReason {
    Stop,
    Length,
    ToolCalls,
}

impl FinishReason {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            FinishReason::Stop => "stop",
            FinishReason::Length => "length",
            FinishReason::ToolCalls => "tool_calls",
        }
    }
}

/// The tools that the client runs itself.
#[derive(Debug, Default)]
pub(crate) struct ClientToolNames {
    pub(crate) names: Vec<String>,
    /// The client accepts one call per answer. The model can repeat the others.
    pub(crate) single_call: bool,
}

/// A finished answer.
#[derive(Debug, PartialEq)]
pub(crate) struct CompletionReply {
    pub(crate) text: String,
    pub(crate) thinking: String,
    pub(crate) calls: Vec<ToolCall>,
    pub(crate) finish: FinishReason,
    pub(crate) cost: Cost,
    pub(crate) model: Option<String>,
}

impl CompletionReply {
    /// Converts the agent's result for a client with these tools.
    pub(crate) fn from_agent(
        given: AgentChatResult,
        tools: &ClientToolNames,
    ) -> Result<CompletionReply, OpenaiError> {
        let mut reply = CompletionReply {
            text: String::new(),
            thinking: String::new(),
            calls: Vec::new(),
            finish: FinishReason::Stop,
            cost: given.cost,
            model: given.model,
        };
        for part in given.content {
            match part {
                ContentPart::Text { text } => reply.text.push_str(&text),
                ContentPart::Thinking { text, .. } => reply.thinking.push_str(&text),
                // A run that ended at a limit may contain unanswered calls of hob's own tools.
                ContentPart::ToolCall(call) if tools.names.contains(&call.name) => {
                    reply.calls.push(call);
                }
                ContentPart::ToolCall(_)
                | ContentPart::Image { .. }
                | ContentPart::ToolResult(_) => {}
            }
        }
        if tools.single_call {
            reply.calls.truncate(1);
        }
        // A limit without any text is an error: `length` with an empty answer would mislead.
        let is_cut = given.cut || (is_limit(given.cause) && !reply.text.is_empty());
        if !given.success && !is_cut {
            return Err(failure_error(given.cause, given.message.as_deref()));
        }
        reply.finish = match (reply.calls.is_empty(), is_cut) {
            (false, false) => FinishReason::ToolCalls,
            (_, true) => FinishReason::Length,
            (true, false) => FinishReason::Stop,
        };
        Ok(reply)
    }

    /// The body of a completion that is not streamed.
    pub(crate) fn to_json(&self, id: &str, created: u64, asked: &str) -> Value {
        // OpenAI sends null content with tool calls, but an empty text without them.
        let content = (!self.text.is_empty() || self.calls.is_empty()).then_some(&self.text);
        let mut message = json!({ "role": "assistant", "content": content, "refusal": null });
        if !self.thinking.is_empty() {
            message["reasoning_content"] = json!(self.thinking);
        }
        if !self.calls.is_empty() {
            message["tool_calls"] = self.calls.iter().map(call_json).collect();
        }
        json!({
            "id": id,
            "object": "chat.completion",
            "created": created,
            "model": self.model.as_deref().unwrap_or(asked),
            "choices": [{
                "index": 0,
                "message": message,
                "logprobs": null,
                "finish_reason": self.finish.as_str(),
            }],
            "usage": usage_json(&self.cost),
        })
    }
}

pub(crate) fn usage_json(cost: &Cost) -> Value {
    json!({
        "prompt_tokens": cost.input_tokens,
        "completion_tokens": cost.output_tokens,
        "total_tokens": cost.input_tokens.saturating_add(cost.output_tokens),
    })
}

/// A call's arguments as text, as OpenAI sends them.
pub(crate) fn arguments(call: &ToolCall) -> String {
    match &call.args {
        // Arguments that the model wrote as invalid JSON are passed on unchanged.
        Value::String(broken) => broken.clone(),
        args => args.to_string(),
    }
}

fn call_json(call: &ToolCall) -> Value {
    json!({
        "id": call.id,
        "type": "function",
        "function": { "name": call.name, "arguments": arguments(call) },
    })
}

/// Returns true for limits that cut an answer short but leave its text usable.
fn is_limit(cause: RunEndCause) -> bool {
    matches!(
        cause,
        RunEndCause::StepLimit
            | RunEndCause::TokenLimit
            | RunEndCause::TimeLimit
            | RunEndCause::RepeatedText
    )
}

fn failure_error(cause: RunEndCause, message: Option<&str>) -> OpenaiError {
    let say = |otherwise: &str| message.unwrap_or(otherwise).to_owned();
    match cause {
        RunEndCause::MoneyLimit | RunEndCause::Budget => {
            OpenaiError::over_budget(say("A budget is used up."))
        }
        RunEndCause::Denied => OpenaiError::new(
            StatusCode::FORBIDDEN,
            "permission_error",
            say("A needed permission was denied."),
        )
        .with_code("permission_denied"),
        RunEndCause::Aborted => {
            let stopped = WireError::new(ErrorCode::Cancelled, say("The run was stopped."));
            OpenaiError::from(stopped).without_retry()
        }
        RunEndCause::StepLimit | RunEndCause::TokenLimit | RunEndCause::TimeLimit => {
            let error =
                OpenaiError::internal(say("A limit of the run was reached before an answer."));
            error.with_code("limit_reached").without_retry()
        }
        RunEndCause::Answered
        | RunEndCause::ModelFailed
        | RunEndCause::ErrorStreak
        | RunEndCause::RepeatedCall
        | RunEndCause::RepeatedText
        | RunEndCause::GivenUp
        | RunEndCause::Parked => OpenaiError::model_failed(say("No model could answer.")),
    }
}

#[cfg(test)]
#[path = "reply_tests.rs"]
mod tests;
