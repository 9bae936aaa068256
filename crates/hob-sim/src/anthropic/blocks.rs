//! The blocks of a message, and the rule that each use of a tool has its result in the next turn.

use crate::base64;
use crate::draft::signature;
use crate::refusal::{ReadResult, SimRefusal};
use crate::request::{SimMessage, SimToolCall, SimToolResult};
use crate::rules;
use hob_wire::content::Role;
use serde_json::Value;

/// The pictures the provider takes.
const IMAGE_TYPES: &[&str] = &["image/jpeg", "image/png", "image/gif", "image/webp"];
/// Bytes of a tool call's name in history.
const NAME_MAX: usize = 200;

/// The tool calls and results of one turn.
pub(super) struct AnthropicTurn {
    pub(super) role: Role,
    at: usize,
    uses: Vec<String>,
    results: Vec<String>,
}

impl AnthropicTurn {
    /// Takes in the next message of the same role.
    pub(super) fn join(&mut self, other: AnthropicTurn) {
        self.uses.extend(other.uses);
        self.results.extend(other.results);
    }
}

/// One message's content.
pub(super) fn read(
    at: usize,
    role: Role,
    content: &Value,
    is_last: bool,
) -> ReadResult<(SimMessage, AnthropicTurn)> {
    let mut reader = AnthropicBlockReader {
        at,
        said: SimMessage::by(role),
        turn: AnthropicTurn {
            role,
            at,
            uses: Vec::new(),
            results: Vec::new(),
        },
        other_seen: false,
    };
    match content {
        Value::String(text) => text.clone_into(&mut reader.said.text),
        Value::Array(blocks) => {
            for (nth, block) in blocks.iter().enumerate() {
                reader.block(nth, block)?;
            }
        }
        _ => {
            return Err(SimRefusal::bad(format!(
                "messages.{at}.content: Field required"
            )));
        }
    }
    let empty = content.as_str().is_some_and(str::is_empty)
        || content.as_array().is_some_and(Vec::is_empty);
    let prefill = is_last && role == Role::Assistant;
    if empty && !prefill {
        return Err(SimRefusal::bad(format!(
            "messages.{at}: all messages must have non-empty content except for the optional final assistant message"
        )));
    }
    if prefill && reader.said.text.ends_with(char::is_whitespace) {
        return Err(SimRefusal::bad(
            "messages: final assistant content cannot end with trailing whitespace",
        ));
    }
    Ok((reader.said, reader.turn))
}

/// Each use is answered once in the next turn, each result answers a use of the turn before.
pub(super) fn check_pairs(turns: &[AnthropicTurn]) -> ReadResult<()> {
    for (nth, turn) in turns.iter().enumerate() {
        let before: &[String] = nth
            .checked_sub(1)
            .and_then(|before| turns.get(before))
            .map_or(&[], |before| &before.uses);
        if let Some(stray) = turn.results.iter().find(|id| !before.contains(id)) {
            return Err(SimRefusal::bad(format!(
                "messages.{}.content.0: unexpected `tool_use_id` found in `tool_result` blocks: {stray}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
                turn.at
            )));
        }
        for (place, id) in turn.results.iter().enumerate() {
            if turn.results.iter().skip(place + 1).any(|other| other == id) {
                return Err(SimRefusal::bad(format!(
                    "messages.{}.content.{place}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}",
                    turn.at
                )));
            }
        }
        check_uses(turn, turns.get(nth + 1))?;
    }
    Ok(())
}

fn check_uses(turn: &AnthropicTurn, next: Option<&AnthropicTurn>) -> ReadResult<()> {
    for (place, id) in turn.uses.iter().enumerate() {
        if turn.uses.iter().skip(place + 1).any(|other| other == id) {
            return Err(SimRefusal::bad(format!(
                "messages.{}.content.{place}: `tool_use` ids must be unique",
                turn.at
            )));
        }
    }
    let answered: &[String] = next.map_or(&[], |next| &next.results);
    let open: Vec<&str> = turn
        .uses
        .iter()
        .filter(|id| !answered.contains(id))
        .map(String::as_str)
        .collect();
    if open.is_empty() {
        return Ok(());
    }
    Err(SimRefusal::bad(format!(
        "messages.{}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        turn.at,
        open.join(", ")
    )))
}

struct AnthropicBlockReader {
    at: usize,
    said: SimMessage,
    turn: AnthropicTurn,
    /// Something other than a result was seen: results come first.
    other_seen: bool,
}

impl AnthropicBlockReader {
    fn block(&mut self, nth: usize, block: &Value) -> ReadResult<()> {
        let path = format!("messages.{}.content.{nth}", self.at);
        let kind = block["type"].as_str().unwrap_or_default();
        self.other_seen |= kind != "tool_result";
        match (kind, self.said.role) {
            ("text", _) => {
                let text = rules::text(block, "text", || {
                    SimRefusal::bad(format!("{path}.text.text: Field required"))
                })?;
                if text.trim().is_empty() {
                    return Err(SimRefusal::bad(
                        "messages: text content blocks must contain non-whitespace text",
                    ));
                }
                self.said.text.push_str(text);
                Ok(())
            }
            ("image", Role::User) => {
                self.said.images.push(image(block, &path)?);
                Ok(())
            }
            ("thinking", Role::Assistant) => self.thinking(block, &path),
            ("redacted_thinking", Role::Assistant) => Ok(()),
            ("tool_use", Role::Assistant) => self.tool_use(block, &path),
            ("tool_result", Role::User) => self.tool_result(block, &path),
            ("tool_use" | "thinking" | "tool_result", role) => Err(SimRefusal::bad(format!(
                "messages.{}: `{kind}` blocks can not be in {} messages",
                self.at,
                role.as_str()
            ))),
            (kind, _) => Err(SimRefusal::bad(format!(
                "{path}: Input tag '{kind}' found using 'type' does not match any of the expected tags"
            ))),
        }
    }

    fn thinking(&mut self, block: &Value, path: &str) -> ReadResult<()> {
        let required =
            |field: &str| SimRefusal::bad(format!("{path}.thinking.{field}: Field required"));
        let text = rules::text(block, "thinking", || required("thinking"))?;
        let proof = rules::text(block, "signature", || required("signature"))?;
        if proof != signature(text) {
            return Err(SimRefusal::bad(format!(
                "{path}: Invalid `signature` in `thinking` block"
            )));
        }
        self.said.thinking.push_str(text);
        Ok(())
    }

    fn tool_use(&mut self, block: &Value, path: &str) -> ReadResult<()> {
        let required =
            |field: &str| SimRefusal::bad(format!("{path}.tool_use.{field}: Field required"));
        let id = rules::text(block, "id", || required("id"))?;
        if !rules::is_name(id, usize::MAX) {
            return Err(SimRefusal::bad(format!(
                "{path}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
            )));
        }
        let name = rules::text(block, "name", || required("name"))?;
        if !rules::is_name(name, NAME_MAX) {
            return Err(SimRefusal::bad(format!(
                "{path}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,200}}$'"
            )));
        }
        if !block["input"].is_object() {
            return Err(SimRefusal::bad(format!(
                "{path}.tool_use.input: Input should be a valid dictionary"
            )));
        }
        self.turn.uses.push(id.to_owned());
        self.said.tool_calls.push(SimToolCall {
            id: id.to_owned(),
            name: name.to_owned(),
            args: block["input"].clone(),
        });
        Ok(())
    }

    fn tool_result(&mut self, block: &Value, path: &str) -> ReadResult<()> {
        let id = rules::text(block, "tool_use_id", || {
            SimRefusal::bad(format!("{path}.tool_result.tool_use_id: Field required"))
        })?;
        if self.other_seen {
            return Err(SimRefusal::bad(format!(
                "messages.{}: `tool_result` blocks must come before any other content of their message",
                self.at
            )));
        }
        let mut text = String::new();
        match &block["content"] {
            Value::Null => {}
            Value::String(content) => text.push_str(content),
            Value::Array(parts) => {
                for part in parts {
                    match part["type"].as_str() {
                        Some("text") => text.push_str(part["text"].as_str().unwrap_or_default()),
                        Some("image") => self.said.images.push(image(part, path)?),
                        _ => {
                            return Err(SimRefusal::bad(format!(
                                "{path}.tool_result.content: Input tag does not match any of the expected tags"
                            )));
                        }
                    }
                }
            }
            _ => {
                return Err(SimRefusal::bad(format!(
                    "{path}.tool_result.content: Input should be a valid string or list"
                )));
            }
        }
        self.turn.results.push(id.to_owned());
        self.said.tool_results.push(SimToolResult {
            id: id.to_owned(),
            text,
            is_error: block["is_error"] == true,
        });
        Ok(())
    }
}

fn image(block: &Value, path: &str) -> ReadResult<String> {
    let source = &block["source"];
    match source["type"].as_str() {
        Some("url") => Ok("image/*".to_owned()),
        Some("base64") => {
            let kind = source["media_type"].as_str().unwrap_or_default();
            if !IMAGE_TYPES.contains(&kind) {
                return Err(SimRefusal::bad(format!(
                    "{path}.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
                )));
            }
            let data = source["data"].as_str().unwrap_or_default();
            if !base64::is_sound(data) {
                return Err(SimRefusal::bad(format!(
                    "{path}.image.source.base64: invalid base64 data"
                )));
            }
            Ok(kind.to_owned())
        }
        _ => Err(SimRefusal::bad(format!(
            "{path}.image.source: Field required"
        ))),
    }
}
