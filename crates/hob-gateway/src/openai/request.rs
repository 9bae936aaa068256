//! A chat completion as a client asks for it, read from its body. Pure.
//!
//! Taken: `model`, `messages`, `tools`, `tool_choice`, `parallel_tool_calls`, `response_format`,
//! `temperature`, `top_p`, `max_tokens`, `max_completion_tokens`, `stop`, `n` (1), `stream`,
//! `stream_options.include_usage`, `metadata.session`. Refused, because leaving them out would
//! change the answer's form: `n` above 1, `logprobs`, `functions`, sound. Everything else (`user`,
//! `seed`, penalties, fields nobody knows) is accepted and has no effect.

use crate::openai::fault::Fault;
use crate::openai::field::Field;
use crate::openai::{message, tool};
use hob_wire::limits::SESSION_KEY_BYTES_MAX;
use hob_wire::rooms::agent::{ChatMessage, ClientTool, Sampling, ToolChoice};
use serde_json::{Value, json};

/// The model that is hob itself: the default agent on the default model.
pub(crate) const HOB: &str = "hob";

/// Messages of one request.
const MESSAGES_MAX: usize = 10_000;
/// Texts at which a model stops, as with OpenAI.
const STOPS_MAX: usize = 4;
const MODEL_BYTES_MAX: usize = 256;

#[derive(Debug, PartialEq)]
pub(crate) struct Ask {
    /// As the client names it; never empty.
    pub(crate) model: String,
    pub(crate) messages: Vec<ChatMessage>,
    pub(crate) tools: Vec<ClientTool>,
    pub(crate) tool_choice: Option<ToolChoice>,
    /// The client wants one call at a time.
    pub(crate) one_call: bool,
    pub(crate) schema: Option<Value>,
    pub(crate) options: Sampling,
    pub(crate) stream: bool,
    pub(crate) include_usage: bool,
    /// The session that the last user message goes to.
    pub(crate) session: Option<String>,
}

impl Ask {
    pub(crate) fn read(body: Value) -> Result<Ask, Fault> {
        let mut body = Field::root(body)?;
        refuse_what_we_lack(&mut body)?;
        let model = model(body.need("model")?)?;
        let session = session(&mut body)?;
        let stream = flag(&mut body, "stream")?.unwrap_or(false);
        let include_usage = include_usage(&mut body, stream)?;
        let tools = tool::read(&mut body)?;
        let tool_choice = tool::choice(&mut body, &tools)?;
        Ok(Ask {
            model,
            messages: message::read(body.need("messages")?.list(MESSAGES_MAX)?)?,
            tools,
            tool_choice,
            one_call: flag(&mut body, "parallel_tool_calls")? == Some(false),
            schema: schema(&mut body)?,
            options: sampling(&mut body)?,
            stream,
            include_usage,
            session,
        })
    }

    /// The model as the agent knows it; nothing for the default one.
    pub(crate) fn chosen_model(&self) -> Option<String> {
        (self.model != HOB).then(|| self.model.clone())
    }
}

fn refuse_what_we_lack(body: &mut Field) -> Result<(), Fault> {
    if let Some(count) = body.take("n")?
        && count.whole()? != 1
    {
        let message = "Only one choice is given: leave 'n' out or set it to 1.";
        return Err(Fault::unsupported("n", message));
    }
    if flag(body, "logprobs")? == Some(true) {
        let message = "Log probabilities are not given: leave 'logprobs' out.";
        return Err(Fault::unsupported("logprobs", message));
    }
    for (old, new) in [("functions", "tools"), ("function_call", "tool_choice")] {
        if body.take(old)?.is_some() {
            let message = format!("'{old}' is no longer taken; use '{new}'.");
            return Err(Fault::unsupported(old, message));
        }
    }
    if let Some(kinds) = body.take("modalities")? {
        let path = kinds.path.clone();
        for kind in kinds.list(8)? {
            if kind.text()? != "text" {
                let message = "Only answers in text are given.";
                return Err(Fault::unsupported(&path, message));
            }
        }
    }
    Ok(())
}

fn model(field: Field) -> Result<String, Fault> {
    let path = field.path.clone();
    let model = field.text()?;
    if model.is_empty() || model.len() > MODEL_BYTES_MAX {
        let message = format!("A model's name has 1 to {MODEL_BYTES_MAX} bytes.");
        return Err(Fault::invalid(&path, message));
    }
    Ok(model)
}

fn session(body: &mut Field) -> Result<Option<String>, Fault> {
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
        return Err(Fault::invalid(&path, message));
    }
    Ok(Some(key))
}

fn include_usage(body: &mut Field, stream: bool) -> Result<bool, Fault> {
    let Some(mut options) = body.take("stream_options")? else {
        return Ok(false);
    };
    if !stream {
        let message = "'stream_options' is only allowed when 'stream' is true.";
        return Err(Fault::invalid("stream_options", message));
    }
    Ok(flag(&mut options, "include_usage")?.unwrap_or(false))
}

fn schema(body: &mut Field) -> Result<Option<Value>, Fault> {
    let Some(mut format) = body.take("response_format")? else {
        return Ok(None);
    };
    let kind = format.need("type")?;
    let path = kind.path.clone();
    match kind.text()?.as_str() {
        "text" => Ok(None),
        "json_object" => Ok(Some(json!({ "type": "object" }))),
        "json_schema" => {
            let mut wanted = format.need("json_schema")?;
            match wanted.take("schema")? {
                Some(schema) => schema.object().map(Some),
                None => Ok(Some(json!({ "type": "object" }))),
            }
        }
        _ => {
            let message = "Only 'text', 'json_object' and 'json_schema' are known.";
            Err(Fault::invalid(&path, message))
        }
    }
}

fn sampling(body: &mut Field) -> Result<Sampling, Fault> {
    let number = |field: Option<Field>, most| field.map(|field| field.number(0.0, most));
    let temperature = number(body.take("temperature")?, 2.0).transpose()?;
    let top_p = number(body.take("top_p")?, 1.0).transpose()?;
    let older = body.take("max_tokens")?;
    let newer = body.take("max_completion_tokens")?;
    Ok(Sampling {
        temperature,
        top_p,
        max_output_tokens: newer.or(older).map(output_tokens).transpose()?,
        stop: stops(body)?,
        ..Sampling::default()
    })
}

fn output_tokens(field: Field) -> Result<u32, Fault> {
    let path = field.path.clone();
    let wanted = field.whole()?;
    if wanted == 0 {
        let message = format!("Invalid '{path}': an answer has at least 1 token.");
        return Err(Fault::invalid(&path, message));
    }
    Ok(u32::try_from(wanted).unwrap_or(u32::MAX))
}

fn stops(body: &mut Field) -> Result<Vec<String>, Fault> {
    let Some(stop) = body.take("stop")? else {
        return Ok(Vec::new());
    };
    if stop.is_text() {
        return Ok(vec![stop.text()?]);
    }
    if !stop.is_list() {
        return Err(stop.wrong_type("a string or an array of strings"));
    }
    stop.list(STOPS_MAX)?.into_iter().map(Field::text).collect()
}

fn flag(of: &mut Field, key: &str) -> Result<Option<bool>, Fault> {
    of.take(key)?.map(Field::flag).transpose()
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
