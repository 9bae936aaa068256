//! Parses OpenAI's `messages` into hob's. Pure.
//!
//! Invariant: the result is a conversation that every provider accepts. The tool messages right
//! after an assistant message answer each of its calls, and no tool message answers anything else.

use crate::openai::error::OpenaiError;
use crate::openai::json_field::JsonField;
use hob_wire::content::{ContentPart, MessageContent, Role, ToolCall, ToolResult};
use hob_wire::rooms::agent::ChatMessage;
use serde_json::Value;

/// Maximum parts of one message.
const PARTS_MAX: usize = 1_000;
/// Maximum tool calls of one message.
const CALLS_MAX: usize = 128;

/// Parses `messages`.
pub(crate) fn parse_messages(fields: Vec<JsonField>) -> Result<Vec<ChatMessage>, OpenaiError> {
    if fields.is_empty() {
        let message = "Invalid 'messages': it must hold at least one message.";
        return Err(OpenaiError::invalid("messages", message));
    }
    let mut messages = Vec::with_capacity(fields.len());
    let mut open = UnansweredCalls::default();
    for field in fields {
        let path = field.path.clone();
        let message = parse_message(field)?;
        open.check(&message, &path)?;
        messages.push(message);
    }
    open.ensure_none("messages")?;
    Ok(messages)
}

fn parse_message(mut field: JsonField) -> Result<ChatMessage, OpenaiError> {
    let role = field.require("role")?;
    let path = role.path.clone();
    let (role, content) = match role.text()?.as_str() {
        // Newer OpenAI models call the system message `developer`.
        "system" | "developer" => (Role::System, text_content(field.require("content")?)?),
        "user" => (Role::User, user_content(field.require("content")?)?),
        "assistant" => (Role::Assistant, assistant_content(&mut field)?),
        "tool" => (Role::Tool, tool_content(&mut field)?),
        _ => {
            let message = format!(
                "Invalid '{path}': use 'system', 'developer', 'user', 'assistant' or 'tool'."
            );
            return Err(OpenaiError::invalid(&path, message));
        }
    };
    Ok(ChatMessage { role, content })
}

fn text_content(field: JsonField) -> Result<MessageContent, OpenaiError> {
    joined_text(field).map(MessageContent::Text)
}

/// Returns a text, or the joined texts of its parts.
fn joined_text(field: JsonField) -> Result<String, OpenaiError> {
    if field.is_text() {
        return field.text();
    }
    let mut text = String::new();
    for mut part in parts(field)? {
        let kind = part.require("type")?;
        let path = kind.path.clone();
        let part_text = match kind.text()?.as_str() {
            "text" => part.require("text")?.text()?,
            "refusal" => part.require("refusal")?.text()?,
            _ => {
                return Err(OpenaiError::invalid(
                    &path,
                    format!("Invalid '{path}': only text stands here."),
                ));
            }
        };
        text.push_str(&part_text);
    }
    Ok(text)
}

fn user_content(field: JsonField) -> Result<MessageContent, OpenaiError> {
    if field.is_text() {
        return field.text().map(MessageContent::Text);
    }
    let parts = parts(field)?;
    let parts: Result<Vec<ContentPart>, OpenaiError> = parts.into_iter().map(user_part).collect();
    parts.map(MessageContent::Parts)
}

fn user_part(mut part: JsonField) -> Result<ContentPart, OpenaiError> {
    let kind = part.require("type")?;
    let path = kind.path.clone();
    match kind.text()?.as_str() {
        "text" => {
            let text = part.require("text")?.text()?;
            Ok(ContentPart::Text { text })
        }
        "image_url" => image(part.require("image_url")?.require("url")?),
        other => {
            let message = format!(
                "Invalid '{path}': parts of type '{other}' are not taken, only text and images."
            );
            Err(OpenaiError::unsupported(&path, message))
        }
    }
}

/// Parses an image that is part of the request. hob fetches no URL for a client.
fn image(url: JsonField) -> Result<ContentPart, OpenaiError> {
    let path = url.path.clone();
    let url = url.text()?;
    let refused =
        |message: &str| OpenaiError::invalid(&path, format!("Invalid '{path}': {message}"));
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
    Ok(ContentPart::Image {
        mime_type: mime_type.to_owned(),
        data: data.to_owned(),
    })
}

fn is_base64(data: &str) -> bool {
    let digits = data.trim_end_matches('=');
    // Checked but not decoded: the provider takes base64 as it is.
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    !digits.is_empty() && data.len() - digits.len() <= 2 && digits.bytes().all(allowed)
}

fn assistant_content(field: &mut JsonField) -> Result<MessageContent, OpenaiError> {
    let text = field.take("content")?.map(joined_text).transpose()?;
    let Some(calls) = field.take("tool_calls")? else {
        return match text {
            Some(text) => Ok(MessageContent::Text(text)),
            // Without tool calls, OpenAI requires a content.
            None => field.require("content").and_then(text_content),
        };
    };
    let text = text.filter(|text| !text.is_empty());
    let mut parts: Vec<ContentPart> = text
        .map(|text| ContentPart::Text { text })
        .into_iter()
        .collect();
    for call in calls.list(CALLS_MAX)? {
        parts.push(ContentPart::ToolCall(tool_call(call)?));
    }
    Ok(MessageContent::Parts(parts))
}

fn tool_call(mut call: JsonField) -> Result<ToolCall, OpenaiError> {
    let id = call.require("id")?.text()?;
    let mut function = call.require("function")?;
    let name = function.require("name")?.text()?;
    let arguments = match function.take("arguments")? {
        Some(arguments) => arguments.text()?,
        None => String::new(),
    };
    Ok(ToolCall {
        id,
        name,
        args: parse_args(arguments),
    })
}

/// Parses the arguments that a model wrote. Anything but an object stays a text.
fn parse_args(text: String) -> Value {
    if text.trim().is_empty() {
        return Value::Object(serde_json::Map::new());
    }
    match serde_json::from_str::<Value>(&text) {
        Ok(args) if args.is_object() => args,
        _ => Value::String(text),
    }
}

fn tool_content(field: &mut JsonField) -> Result<MessageContent, OpenaiError> {
    let id = field.require("tool_call_id")?.text()?;
    let text = joined_text(field.require("content")?)?;
    Ok(MessageContent::Parts(vec![ContentPart::ToolResult(
        ToolResult {
            id,
            content: vec![ContentPart::Text { text }],
            is_error: false,
        },
    )]))
}

fn parts(field: JsonField) -> Result<Vec<JsonField>, OpenaiError> {
    if !field.is_list() {
        return Err(field.wrong_type("a string or an array of parts"));
    }
    field.list(PARTS_MAX)
}

/// The tool calls that no message has answered yet.
#[derive(Debug, Default)]
struct UnansweredCalls(Vec<String>);

impl UnansweredCalls {
    fn check(&mut self, message: &ChatMessage, path: &str) -> Result<(), OpenaiError> {
        // Providers require the results right after the calls, before any other message.
        if message.role != Role::Tool {
            self.ensure_none(path)?;
        }
        let MessageContent::Parts(parts) = &message.content else {
            return Ok(());
        };
        for part in parts {
            match part {
                ContentPart::ToolCall(call) => self.0.push(call.id.clone()),
                ContentPart::ToolResult(result) => self.mark_answered(&result.id, path)?,
                ContentPart::Text { .. }
                | ContentPart::Thinking { .. }
                | ContentPart::Image { .. } => {}
            }
        }
        Ok(())
    }

    fn mark_answered(&mut self, id: &str, path: &str) -> Result<(), OpenaiError> {
        let Some(at) = self.0.iter().position(|open| open == id) else {
            let message = format!(
                "Invalid '{path}': a message with role 'tool' must answer a call of the assistant's message before it; '{id}' is none."
            );
            return Err(OpenaiError::invalid(path, message));
        };
        self.0.remove(at);
        Ok(())
    }

    fn ensure_none(&self, path: &str) -> Result<(), OpenaiError> {
        if self.0.is_empty() {
            return Ok(());
        }
        let message = format!(
            "An assistant message with 'tool_calls' must be followed by tool messages that answer each 'tool_call_id'; not answered: {}.",
            self.0.join(", ")
        );
        Err(OpenaiError::invalid(path, message))
    }
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
