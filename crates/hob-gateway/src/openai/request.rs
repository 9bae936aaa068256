//! Parses the body of a chat completion. Pure.
//!
//! Supported: `model`, `messages`, `tools`, `tool_choice`, `parallel_tool_calls`,
//! `response_format`, `temperature`, `top_p`, `max_tokens`, `max_completion_tokens`, `stop`, `n`
//! (1), `stream`, `stream_options.include_usage`, `metadata.session`. Refused, because ignoring
//! them would change the answer's format: `n` above 1, `logprobs`, `functions`, audio. Everything
//! else (`user`, `seed`, penalties, unknown fields) is accepted and ignored.

use crate::openai::error::OpenaiError;
use crate::openai::json_field::JsonField;
use crate::openai::{message, tool};
use hob_wire::limits::SESSION_KEY_BYTES_MAX;
use hob_wire::rooms::agent::{ChatMessage, ClientTool, SamplingParams, ToolChoice};
use serde_json::{Value, json};

/// The model name of hob itself: the default agent on the default model.
pub(crate) const HOB: &str = "hob";

/// Maximum messages of one request.
const MESSAGES_MAX: usize = 10_000;
/// Maximum stop texts, as at OpenAI.
const STOPS_MAX: usize = 4;
const MODEL_BYTES_MAX: usize = 256;

#[derive(Debug, PartialEq)]
/// A parsed chat completion request.
pub(crate) struct CompletionRequest {
    /// The model as the client names it; never empty.
    pub(crate) model: String,
    pub(crate) messages: Vec<ChatMessage>,
    pub(crate) tools: Vec<ClientTool>,
    pub(crate) tool_choice: Option<ToolChoice>,
    /// The client accepts one tool call per answer.
    pub(crate) single_tool_call: bool,
    pub(crate) schema: Option<Value>,
    pub(crate) options: SamplingParams,
    pub(crate) stream: bool,
    pub(crate) include_usage: bool,
    /// The hob session on which the last user message runs.
    pub(crate) session: Option<String>,
}

impl CompletionRequest {
    pub(crate) fn parse(body: Value) -> Result<CompletionRequest, OpenaiError> {
        let mut body = JsonField::root(body)?;
        reject_unsupported(&mut body)?;
        let model = model(body.require("model")?)?;
        let session = session(&mut body)?;
        let stream = boolean(&mut body, "stream")?.unwrap_or(false);
        let include_usage = include_usage(&mut body, stream)?;
        let tools = tool::parse_tools(&mut body)?;
        let tool_choice = tool::parse_choice(&mut body, &tools)?;
        Ok(CompletionRequest {
            model,
            messages: message::parse_messages(body.require("messages")?.list(MESSAGES_MAX)?)?,
            tools,
            tool_choice,
            single_tool_call: boolean(&mut body, "parallel_tool_calls")? == Some(false),
            schema: schema(&mut body)?,
            options: sampling(&mut body)?,
            stream,
            include_usage,
            session,
        })
    }

    /// The model for the agent; `None` for the default.
    pub(crate) fn chosen_model(&self) -> Option<String> {
        (self.model != HOB).then(|| self.model.clone())
    }
}

fn reject_unsupported(body: &mut JsonField) -> Result<(), OpenaiError> {
    if let Some(count) = body.take("n")?
        && count.unsigned()? != 1
    {
        let message = "Only one choice is given: leave 'n' out or set it to 1.";
        return Err(OpenaiError::unsupported("n", message));
    }
    if boolean(body, "logprobs")? == Some(true) {
        let message = "Log probabilities are not given: leave 'logprobs' out.";
        return Err(OpenaiError::unsupported("logprobs", message));
    }
    for (old, new) in [("functions", "tools"), ("function_call", "tool_choice")] {
        if body.take(old)?.is_some() {
            let message = format!("'{old}' is no longer taken; use '{new}'.");
            return Err(OpenaiError::unsupported(old, message));
        }
    }
    if let Some(kinds) = body.take("modalities")? {
        let path = kinds.path.clone();
        for kind in kinds.list(8)? {
            if kind.text()? != "text" {
                let message = "Only answers in text are given.";
                return Err(OpenaiError::unsupported(&path, message));
            }
        }
    }
    Ok(())
}

fn model(field: JsonField) -> Result<String, OpenaiError> {
    let path = field.path.clone();
    let model = field.text()?;
    if model.is_empty() || model.len() > MODEL_BYTES_MAX {
        let message = format!("A model's name has 1 to {MODEL_BYTES_MAX} bytes.");
        return Err(OpenaiError::invalid(&path, message));
    }
    Ok(model)
}

fn session(body: &mut JsonField) -> Result<Option<String>, OpenaiError> {
    let Some(mut metadata) = body.take("metadata")? else {
        return Ok(None);
    };
    let Some(session) = metadata.take("session")? else {
        return Ok(None);
    };
    let path = session.path.clone();
    let key = session.text()?;
    if key.is_empty() || key.len() > SESSION_KEY_BYTES_MAX {
        let message = format!("A session's key has 1 to {SESSION_KEY_BYTES_MAX} bytes.");
        return Err(OpenaiError::invalid(&path, message));
    }
    Ok(Some(key))
}

fn include_usage(body: &mut JsonField, stream: bool) -> Result<bool, OpenaiError> {
    let Some(mut options) = body.take("stream_options")? else {
        return Ok(false);
    };
    if !stream {
        let message = "'stream_options' is only allowed when 'stream' is true.";
        return Err(OpenaiError::invalid("stream_options", message));
    }
    Ok(boolean(&mut options, "include_usage")?.unwrap_or(false))
}

fn schema(body: &mut JsonField) -> Result<Option<Value>, OpenaiError> {
    let Some(mut format) = body.take("response_format")? else {
        return Ok(None);
    };
    let kind = format.require("type")?;
    let path = kind.path.clone();
    match kind.text()?.as_str() {
        "text" => Ok(None),
        "json_object" => Ok(Some(json!({ "type": "object" }))),
        "json_schema" => {
            let mut wanted = format.require("json_schema")?;
            match wanted.take("schema")? {
                // `name` and `strict` are ignored.
                Some(schema) => schema.object().map(Some),
                None => Ok(Some(json!({ "type": "object" }))),
            }
        }
        _ => {
            let message = "Only 'text', 'json_object' and 'json_schema' are known.";
            Err(OpenaiError::invalid(&path, message))
        }
    }
}

fn sampling(body: &mut JsonField) -> Result<SamplingParams, OpenaiError> {
    let number = |field: Option<JsonField>, most| field.map(|field| field.number(0.0, most));
    let temperature = number(body.take("temperature")?, 2.0).transpose()?;
    let top_p = number(body.take("top_p")?, 1.0).transpose()?;
    let older = body.take("max_tokens")?;
    let newer = body.take("max_completion_tokens")?;
    Ok(SamplingParams {
        temperature,
        top_p,
        // OpenAI replaced `max_tokens` by `max_completion_tokens`; the newer one wins.
        max_output_tokens: newer.or(older).map(output_tokens).transpose()?,
        stop: stops(body)?,
        ..SamplingParams::default()
    })
}

fn output_tokens(field: JsonField) -> Result<u32, OpenaiError> {
    let path = field.path.clone();
    let wanted = field.unsigned()?;
    if wanted == 0 {
        let message = format!("Invalid '{path}': an answer has at least 1 token.");
        return Err(OpenaiError::invalid(&path, message));
    }
    // A larger number makes no difference: no model writes so much.
    Ok(u32::try_from(wanted).unwrap_or(u32::MAX))
}

fn stops(body: &mut JsonField) -> Result<Vec<String>, OpenaiError> {
    let Some(stop) = body.take("stop")? else {
        return Ok(Vec::new());
    };
    if stop.is_text() {
        return Ok(vec![stop.text()?]);
    }
    if !stop.is_list() {
        return Err(stop.wrong_type("a string or an array of strings"));
    }
    stop.list(STOPS_MAX)?
        .into_iter()
        .map(JsonField::text)
        .collect()
}

fn boolean(of: &mut JsonField, key: &str) -> Result<Option<bool>, OpenaiError> {
    of.take(key)?.map(JsonField::boolean).transpose()
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
