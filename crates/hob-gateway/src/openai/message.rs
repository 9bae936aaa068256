//! A conversation in OpenAI's words, turned into ours. Pure.
//!
//! Invariant: what comes out is a conversation every provider takes: each call of the assistant is
//! answered by the tool messages right after it, and no tool message answers anything else.

use crate::openai::fault::Fault;
use crate::openai::field::Field;
use hob_wire::content::{Content, Part, Role, ToolCall, ToolResult};
use hob_wire::rooms::agent::ChatMessage;
use serde_json::Value;

/// Parts of one message.
const PARTS_MAX: usize = 1_000;
/// Calls of one message.
const CALLS_MAX: usize = 128;

/// `messages`.
pub(crate) fn read(fields: Vec<Field>) -> Result<Vec<ChatMessage>, Fault> {
    if fields.is_empty() {
        let message = "Invalid 'messages': it must hold at least one message.";
        return Err(Fault::invalid("messages", message));
    }
    let mut messages = Vec::with_capacity(fields.len());
    let mut open = OpenCalls::default();
    for field in fields {
        let path = field.path.clone();
        let message = one(field)?;
        open.next(&message, &path)?;
        messages.push(message);
    }
    open.end("messages")?;
    Ok(messages)
}

fn one(mut field: Field) -> Result<ChatMessage, Fault> {
    let role = field.need("role")?;
    let path = role.path.clone();
    let (role, content) = match role.text()?.as_str() {
        "system" | "developer" => (Role::System, words(field.need("content")?)?),
        "user" => (Role::User, user(field.need("content")?)?),
        "assistant" => (Role::Assistant, assistant(&mut field)?),
        "tool" => (Role::Tool, tool(&mut field)?),
        _ => {
            let message = format!(
                "Invalid '{path}': use 'system', 'developer', 'user', 'assistant' or 'tool'."
            );
            return Err(Fault::invalid(&path, message));
        }
    };
    Ok(ChatMessage { role, content })
}

fn words(field: Field) -> Result<Content, Fault> {
    text_of(field).map(Content::Text)
}

/// A text, or the texts of its parts one after the other.
fn text_of(field: Field) -> Result<String, Fault> {
    if field.is_text() {
        return field.text();
    }
    let mut text = String::new();
    for mut part in parts(field)? {
        let kind = part.need("type")?;
        let path = kind.path.clone();
        let said = match kind.text()?.as_str() {
            "text" => part.need("text")?.text()?,
            "refusal" => part.need("refusal")?.text()?,
            _ => {
                return Err(Fault::invalid(
                    &path,
                    format!("Invalid '{path}': only text stands here."),
                ));
            }
        };
        text.push_str(&said);
    }
    Ok(text)
}

fn user(field: Field) -> Result<Content, Fault> {
    if field.is_text() {
        return field.text().map(Content::Text);
    }
    let parts = parts(field)?;
    let parts: Result<Vec<Part>, Fault> = parts.into_iter().map(user_part).collect();
    parts.map(Content::Parts)
}

fn user_part(mut part: Field) -> Result<Part, Fault> {
    let kind = part.need("type")?;
    let path = kind.path.clone();
    match kind.text()?.as_str() {
        "text" => {
            let text = part.need("text")?.text()?;
            Ok(Part::Text { text })
        }
        "image_url" => image(part.need("image_url")?.need("url")?),
        other => {
            let message = format!(
                "Invalid '{path}': parts of type '{other}' are not taken, only text and images."
            );
            Err(Fault::unsupported(&path, message))
        }
    }
}

/// Only a picture that is in the request itself: hob fetches nothing for a client.
fn image(url: Field) -> Result<Part, Fault> {
    let path = url.path.clone();
    let url = url.text()?;
    let refused = |message: &str| Fault::invalid(&path, format!("Invalid '{path}': {message}"));
    let Some(data) = url.strip_prefix("data:") else {
        return Err(refused(
            "hob does not fetch pictures; send it as 'data:image/png;base64,…'.",
        ));
    };
    let picture = data.split_once(',').and_then(|(head, data)| {
        let mime_type = head.strip_suffix(";base64")?;
        (mime_type.starts_with("image/") && is_base64(data)).then_some((mime_type, data))
    });
    let Some((mime_type, data)) = picture else {
        return Err(refused("a picture is sent as 'data:image/png;base64,…'."));
    };
    Ok(Part::Image {
        mime_type: mime_type.to_owned(),
        data: data.to_owned(),
    })
}

fn is_base64(data: &str) -> bool {
    let digits = data.trim_end_matches('=');
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    !digits.is_empty() && data.len() - digits.len() <= 2 && digits.bytes().all(allowed)
}

fn assistant(field: &mut Field) -> Result<Content, Fault> {
    let text = field.take("content")?.map(text_of).transpose()?;
    let Some(calls) = field.take("tool_calls")? else {
        return match text {
            Some(text) => Ok(Content::Text(text)),
            // OpenAI wants one or the other.
            None => field.need("content").and_then(words),
        };
    };
    let text = text.filter(|text| !text.is_empty());
    let mut parts: Vec<Part> = text.map(|text| Part::Text { text }).into_iter().collect();
    for call in calls.list(CALLS_MAX)? {
        parts.push(Part::ToolCall(tool_call(call)?));
    }
    Ok(Content::Parts(parts))
}

fn tool_call(mut call: Field) -> Result<ToolCall, Fault> {
    let id = call.need("id")?.text()?;
    let mut function = call.need("function")?;
    let name = function.need("name")?.text()?;
    let arguments = match function.take("arguments")? {
        Some(arguments) => arguments.text()?,
        None => String::new(),
    };
    Ok(ToolCall {
        id,
        name,
        args: args(arguments),
    })
}

/// What a model wrote as arguments; what is not an object stays the text it was.
fn args(text: String) -> Value {
    if text.trim().is_empty() {
        return Value::Object(serde_json::Map::new());
    }
    match serde_json::from_str::<Value>(&text) {
        Ok(args) if args.is_object() => args,
        _ => Value::String(text),
    }
}

fn tool(field: &mut Field) -> Result<Content, Fault> {
    let id = field.need("tool_call_id")?.text()?;
    let text = text_of(field.need("content")?)?;
    Ok(Content::Parts(vec![Part::ToolResult(ToolResult {
        id,
        content: vec![Part::Text { text }],
        is_error: false,
    })]))
}

fn parts(field: Field) -> Result<Vec<Field>, Fault> {
    if !field.is_list() {
        return Err(field.wrong_type("a string or an array of parts"));
    }
    field.list(PARTS_MAX)
}

/// The calls that the messages so far have left unanswered.
#[derive(Debug, Default)]
struct OpenCalls(Vec<String>);

impl OpenCalls {
    fn next(&mut self, message: &ChatMessage, path: &str) -> Result<(), Fault> {
        if message.role != Role::Tool {
            self.end(path)?;
        }
        let Content::Parts(parts) = &message.content else {
            return Ok(());
        };
        for part in parts {
            match part {
                Part::ToolCall(call) => self.0.push(call.id.clone()),
                Part::ToolResult(result) => self.answer(&result.id, path)?,
                Part::Text { .. } | Part::Thinking { .. } | Part::Image { .. } => {}
            }
        }
        Ok(())
    }

    fn answer(&mut self, id: &str, path: &str) -> Result<(), Fault> {
        let Some(at) = self.0.iter().position(|open| open == id) else {
            let message = format!(
                "Invalid '{path}': a message with role 'tool' must answer a call of the assistant's message before it; '{id}' is none."
            );
            return Err(Fault::invalid(path, message));
        };
        self.0.remove(at);
        Ok(())
    }

    fn end(&self, path: &str) -> Result<(), Fault> {
        if self.0.is_empty() {
            return Ok(());
        }
        let message = format!(
            "An assistant message with 'tool_calls' must be followed by tool messages that answer each 'tool_call_id'; not answered: {}.",
            self.0.join(", ")
        );
        Err(Fault::invalid(path, message))
    }
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
