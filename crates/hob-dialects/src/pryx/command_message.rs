//! A command of a client, read from its message. Both spellings of a name mean the same, and a field
//! may be in `payload` or beside it. Pure.

use hob_wire::{frame, limits};
use serde_json::Value;

/// The names of all commands, for the error about an unknown one.
const NAMES: &str = "sessions.list, session.resume, chat.send (or chat.message), approval.resolve (or approval.response)";
/// Characters of a client's text that an error repeats.
const SHOWN_CHARS_MAX: usize = 64;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PryxCommand {
    ListSessions,
    ResumeSession {
        session: String,
    },
    SendChat {
        /// The session that the message names, if any.
        session: Option<String>,
        content: String,
    },
    ResolveApproval {
        id: String,
        approved: bool,
    },
    /// A sign of life, which needs no answer but the same.
    Ping,
}

/// The reason why a message is no command: a name for programs and a sentence.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct InvalidCommand {
    pub(crate) kind: &'static str,
    pub(crate) why: String,
}

impl PryxCommand {
    pub(crate) fn parse(text: &[u8]) -> Result<PryxCommand, InvalidCommand> {
        let message = parse_object(text)?;
        let name = ["event", "type"]
            .iter()
            .filter_map(|field| message.get(field)?.as_str())
            // An envelope has `type: "event"`, and then its name is in `event`.
            .find(|name| *name != "event");
        let name = name.ok_or_else(|| InvalidCommand {
            kind: "command.invalid",
            why: "A command has a name in 'event' or 'type'.".to_owned(),
        })?;
        let fields = CommandFields { message: &message };
        match name {
            "sessions.list" => Ok(PryxCommand::ListSessions),
            "session.resume" => fields.resume(),
            "chat.send" | "chat.message" => fields.chat(),
            "approval.resolve" | "approval.response" => fields.approval(),
            "ping" | "PING" => Ok(PryxCommand::Ping),
            other => {
                let shown: String = other.chars().take(SHOWN_CHARS_MAX).collect();
                Err(InvalidCommand {
                    kind: "command.unknown",
                    why: format!("There is no command '{shown}'; there are {NAMES}."),
                })
            }
        }
    }
}

fn parse_object(text: &[u8]) -> Result<Value, InvalidCommand> {
    let invalid = |why: &str| InvalidCommand {
        kind: "command.invalid",
        why: format!("A command is a JSON object: {why}."),
    };
    let text = std::str::from_utf8(text).map_err(|_| invalid("this is not UTF-8"))?;
    if !frame::is_depth_within(text, limits::JSON_DEPTH_MAX) {
        return Err(invalid("it nests too deeply"));
    }
    let message: Value =
        serde_json::from_str(text).map_err(|failure| invalid(&failure.to_string()))?;
    if message.is_object() {
        return Ok(message);
    }
    Err(invalid("this is another value"))
}

/// The fields of a message, in its payload or beside it.
struct CommandFields<'m> {
    message: &'m Value,
}

impl<'m> CommandFields<'m> {
    fn value(&self, names: &[&str]) -> Option<&'m Value> {
        let payload = self.message.get("payload");
        let places = [payload, Some(self.message)];
        let found = |place: &'m Value| names.iter().find_map(|name| place.get(name));
        places.into_iter().flatten().find_map(found)
    }

    fn text(&self, names: &[&str]) -> Option<String> {
        let text = self.value(names)?.as_str()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    fn resume(&self) -> Result<PryxCommand, InvalidCommand> {
        let session = self.text(&["session_id", "sessionId"]);
        let session = session.ok_or_else(|| InvalidCommand {
            kind: "session.resume_invalid",
            why: "'session_id' is missing.".to_owned(),
        })?;
        Ok(PryxCommand::ResumeSession { session })
    }

    fn chat(&self) -> Result<PryxCommand, InvalidCommand> {
        let content = self.value(&["content", "message", "text"]);
        let content = content.and_then(Value::as_str).unwrap_or_default();
        if content.trim().is_empty() {
            return Err(InvalidCommand {
                kind: "chat.invalid",
                why: "'content' is missing or empty.".to_owned(),
            });
        }
        Ok(PryxCommand::SendChat {
            session: self.text(&["session_id", "sessionId"]),
            content: content.to_owned(),
        })
    }

    fn approval(&self) -> Result<PryxCommand, InvalidCommand> {
        let invalid = |why: &str| InvalidCommand {
            kind: "approval.invalid",
            why: why.to_owned(),
        };
        let id = self.text(&["approval_id", "approvalId", "id"]);
        let id = id.ok_or_else(|| invalid("'approval_id' is missing."))?;
        let approved = match self.value(&["approved", "decision"]) {
            Some(Value::Bool(approved)) => Some(*approved),
            Some(Value::String(word)) => match word.as_str() {
                "approve" | "approved" | "allow" | "yes" | "y" => Some(true),
                "deny" | "denied" | "reject" | "rejected" | "no" | "n" => Some(false),
                _ => None,
            },
            _ => None,
        };
        // Nothing is guessed: a missing answer is neither a yes nor a no.
        let approved = approved.ok_or_else(|| invalid("'approved' is true or false."))?;
        Ok(PryxCommand::ResolveApproval { id, approved })
    }
}

#[cfg(test)]
#[path = "command_message_tests.rs"]
mod tests;
