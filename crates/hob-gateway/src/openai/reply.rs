//! What an answer is on this surface: text, calls for the client, why it ended, or a failure. Pure.

use crate::openai::fault::Fault;
use axum::http::StatusCode;
use hob_wire::content::{Part, ToolCall};
use hob_wire::rooms::agent::{Cause, ChatReply, Cost};
use hob_wire::{ErrorCode, WireError};
use serde_json::{Value, json};

/// Why an answer ended, in OpenAI's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finish {
    Stop,
    Length,
    ToolCalls,
}

impl Finish {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Finish::Stop => "stop",
            Finish::Length => "length",
            Finish::ToolCalls => "tool_calls",
        }
    }
}

/// The tools that are the client's to run.
#[derive(Debug, Default)]
pub(crate) struct ToolNames {
    pub(crate) names: Vec<String>,
    /// It wants one call at a time: the others are left for the model to ask again.
    pub(crate) one_call: bool,
}

/// A finished answer.
#[derive(Debug, PartialEq)]
pub(crate) struct Reply {
    pub(crate) text: String,
    pub(crate) thinking: String,
    pub(crate) calls: Vec<ToolCall>,
    pub(crate) finish: Finish,
    pub(crate) cost: Cost,
    pub(crate) model: Option<String>,
}

impl Reply {
    /// Reads what the agent gave to a client with these tools.
    pub(crate) fn read(given: ChatReply, tools: &ToolNames) -> Result<Reply, Fault> {
        let mut reply = Reply {
            text: String::new(),
            thinking: String::new(),
            calls: Vec::new(),
            finish: Finish::Stop,
            cost: given.cost,
            model: given.model,
        };
        for part in given.content {
            match part {
                Part::Text { text } => reply.text.push_str(&text),
                Part::Thinking { text, .. } => reply.thinking.push_str(&text),
                // A run that a limit ended may have called tools of ours in vain.
                Part::ToolCall(call) if tools.names.contains(&call.name) => reply.calls.push(call),
                Part::ToolCall(_) | Part::Image { .. } | Part::ToolResult(_) => {}
            }
        }
        if tools.one_call {
            reply.calls.truncate(1);
        }
        let is_cut = given.cut || (is_limit(given.cause) && !reply.text.is_empty());
        if !given.success && !is_cut {
            return Err(failure(given.cause, given.message.as_deref()));
        }
        reply.finish = match (reply.calls.is_empty(), is_cut) {
            (false, false) => Finish::ToolCalls,
            (_, true) => Finish::Length,
            (true, false) => Finish::Stop,
        };
        Ok(reply)
    }

    /// The whole of a completion that is not streamed.
    pub(crate) fn to_json(&self, id: &str, created: u64, asked: &str) -> Value {
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

/// A call's arguments as the text OpenAI carries them in.
pub(crate) fn arguments(call: &ToolCall) -> String {
    match &call.args {
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

/// Limits that cut an answer short and leave what there is of it good.
fn is_limit(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::StepLimit | Cause::TokenLimit | Cause::TimeLimit
    )
}

fn failure(cause: Cause, message: Option<&str>) -> Fault {
    let say = |otherwise: &str| message.unwrap_or(otherwise).to_owned();
    match cause {
        Cause::MoneyLimit | Cause::Budget => Fault::over_budget(say("A budget is used up.")),
        Cause::Denied => Fault::new(
            StatusCode::FORBIDDEN,
            "permission_error",
            say("A needed permission was denied."),
        )
        .with_code("permission_denied"),
        Cause::Aborted => {
            let stopped = WireError::new(ErrorCode::Cancelled, say("The run was stopped."));
            Fault::from(stopped).finally()
        }
        Cause::StepLimit | Cause::TokenLimit | Cause::TimeLimit => {
            let fault = Fault::internal(say("A limit of the run was reached before an answer."));
            fault.with_code("limit_reached").finally()
        }
        Cause::Answered
        | Cause::ModelFailed
        | Cause::ErrorStreak
        | Cause::RepeatedCall
        | Cause::GivenUp
        | Cause::Parked => Fault::model_failed(say("No model could answer.")),
    }
}

#[cfg(test)]
#[path = "reply_tests.rs"]
mod tests;
