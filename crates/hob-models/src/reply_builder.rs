//! Builds an answer from the deltas of a decoder. Pure.
//!
//! Invariants: the answer stays within its bounds; arguments that are not one JSON object stay a
//! string, so that no tool ever runs with half of them.

use crate::error::ModelError;
use crate::prompt::ReplyDelta;
use hob_wire::content::{ContentPart, ToolCall};
use serde_json::{Map, Value};

/// The limit of text, thoughts and arguments of one answer together.
const REPLY_BYTES_MAX: usize = 16 * 1024 * 1024;
const PARTS_MAX: usize = 1_024;

/// The index of a part in its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartIndex(usize);

#[derive(Debug, Default)]
pub(crate) struct ReplyBuilder {
    parts: Vec<DraftPart>,
    calls: usize,
    bytes: usize,
}

#[derive(Debug)]
enum DraftPart {
    Text(String),
    Thinking {
        text: String,
        signature: Option<String>,
    },
    Call {
        index: usize,
        id: String,
        name: String,
        args: DraftArgs,
    },
}

#[derive(Debug)]
enum DraftArgs {
    /// JSON as it streams.
    Text(String),
    /// Complete JSON.
    Whole(Value),
}

impl ReplyBuilder {
    /// Appends text to the last part if it is a text, else to a new one.
    pub(crate) fn push_text(
        &mut self,
        delta: &str,
        out: &mut Vec<ReplyDelta>,
    ) -> Result<(), ModelError> {
        if delta.is_empty() {
            return Ok(());
        }
        self.count_bytes(delta.len())?;
        out.push(ReplyDelta::Text(delta.to_owned()));
        if let Some(DraftPart::Text(text)) = self.parts.last_mut() {
            text.push_str(delta);
            return Ok(());
        }
        self.push(DraftPart::Text(delta.to_owned())).map(drop)
    }

    /// Appends thoughts to the last part if it is an unsigned thought, else to a new one.
    pub(crate) fn push_thinking(
        &mut self,
        delta: &str,
        out: &mut Vec<ReplyDelta>,
    ) -> Result<(), ModelError> {
        if delta.is_empty() {
            return Ok(());
        }
        self.count_bytes(delta.len())?;
        out.push(ReplyDelta::Thinking(delta.to_owned()));
        if let Some(DraftPart::Thinking {
            text,
            signature: None,
        }) = self.parts.last_mut()
        {
            text.push_str(delta);
            return Ok(());
        }
        self.open_thinking(delta.to_owned(), None)
    }

    /// Opens a new part of thoughts. Emits no delta.
    pub(crate) fn open_thinking(
        &mut self,
        text: String,
        signature: Option<String>,
    ) -> Result<(), ModelError> {
        self.count_bytes(signature.as_ref().map_or(0, String::len))?;
        self.push(DraftPart::Thinking { text, signature }).map(drop)
    }

    /// Attaches a signature to the last thoughts, or adds a part with only the signature.
    pub(crate) fn attach_signature(&mut self, signed: String) -> Result<(), ModelError> {
        if let Some(DraftPart::Thinking { signature, .. }) = self.parts.last_mut()
            && signature.is_none()
        {
            *signature = Some(signed);
            return Ok(());
        }
        self.open_thinking(String::new(), Some(signed))
    }

    /// Opens a call whose arguments follow.
    pub(crate) fn open_call(
        &mut self,
        id: &str,
        name: &str,
        out: &mut Vec<ReplyDelta>,
    ) -> Result<PartIndex, ModelError> {
        self.add_call(id, name, DraftArgs::Text(String::new()), out)
    }

    /// Adds a call that arrived complete.
    pub(crate) fn push_whole_call(
        &mut self,
        id: &str,
        name: &str,
        args: Value,
        out: &mut Vec<ReplyDelta>,
    ) -> Result<(), ModelError> {
        let shown = args.to_string();
        let slot = self.add_call(id, name, DraftArgs::Whole(args), out)?;
        self.count_bytes(shown.len())?;
        if let Some(DraftPart::Call { index, name, .. }) = self.parts.get(slot.0) {
            out.push(ReplyDelta::Tool {
                index: *index,
                name: name.clone(),
                delta: shown,
            });
        }
        Ok(())
    }

    fn add_call(
        &mut self,
        id: &str,
        name: &str,
        args: DraftArgs,
        out: &mut Vec<ReplyDelta>,
    ) -> Result<PartIndex, ModelError> {
        self.count_bytes(id.len() + name.len())?;
        let index = self.calls;
        self.calls += 1;
        out.push(ReplyDelta::Tool {
            index,
            name: name.to_owned(),
            delta: String::new(),
        });
        self.push(DraftPart::Call {
            index,
            id: id.to_owned(),
            name: name.to_owned(),
            args,
        })
    }

    /// Appends characters to a call's arguments.
    pub(crate) fn push_args(
        &mut self,
        slot: PartIndex,
        delta: &str,
        out: &mut Vec<ReplyDelta>,
    ) -> Result<(), ModelError> {
        self.count_bytes(delta.len())?;
        if let Some(DraftPart::Call {
            index,
            name,
            args: DraftArgs::Text(text),
            ..
        }) = self.parts.get_mut(slot.0)
            && !delta.is_empty()
        {
            text.push_str(delta);
            out.push(ReplyDelta::Tool {
                index: *index,
                name: name.clone(),
                delta: delta.to_owned(),
            });
        }
        Ok(())
    }

    /// Sets the id and name of a call that was opened without them.
    pub(crate) fn complete_call(&mut self, slot: PartIndex, id: &str, name: &str) {
        if let Some(DraftPart::Call {
            id: known_id,
            name: known_name,
            ..
        }) = self.parts.get_mut(slot.0)
        {
            if known_id.is_empty() {
                id.clone_into(known_id);
            }
            if known_name.is_empty() {
                name.clone_into(known_name);
            }
        }
    }

    /// Replaces the streamed arguments of a call by the complete ones the provider repeats.
    pub(crate) fn replace_args(&mut self, slot: PartIndex, whole: &str) -> Result<(), ModelError> {
        if let Some(DraftPart::Call {
            args: DraftArgs::Text(text),
            ..
        }) = self.parts.get_mut(slot.0)
        {
            let more = whole.len().saturating_sub(text.len());
            whole.clone_into(text);
            self.count_bytes(more)?;
        }
        Ok(())
    }

    pub(crate) fn call_count(&self) -> usize {
        self.calls
    }

    /// Bytes that were streamed.
    pub(crate) fn byte_count(&self) -> usize {
        self.bytes
    }

    /// Returns the parts. `whole` is false if the length limit cut the answer: then empty arguments
    /// do not mean "no arguments".
    pub(crate) fn finish(self, whole: bool) -> Vec<ContentPart> {
        let mut parts = Vec::with_capacity(self.parts.len());
        for draft in self.parts {
            let is_nothing =
                matches!(&draft, DraftPart::Thinking { text, signature: None } if text.is_empty());
            if is_nothing {
                continue;
            }
            parts.push(match draft {
                DraftPart::Text(text) => ContentPart::Text { text },
                DraftPart::Thinking { text, signature } => {
                    ContentPart::Thinking { text, signature }
                }
                DraftPart::Call { id, name, args, .. } => {
                    let args = match args {
                        DraftArgs::Whole(value @ Value::Object(_)) => value,
                        DraftArgs::Whole(Value::Null) => Value::Object(Map::new()),
                        DraftArgs::Whole(other) => Value::String(other.to_string()),
                        DraftArgs::Text(text) => parse_args(text, whole),
                    };
                    ContentPart::ToolCall(ToolCall { id, name, args })
                }
            });
        }
        parts
    }

    fn push(&mut self, draft: DraftPart) -> Result<PartIndex, ModelError> {
        if self.parts.len() >= PARTS_MAX {
            return Err(ModelError::protocol(format!(
                "The answer has more than {PARTS_MAX} parts."
            )));
        }
        self.parts.push(draft);
        Ok(PartIndex(self.parts.len() - 1))
    }

    fn count_bytes(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > REPLY_BYTES_MAX {
            return Err(ModelError::protocol(format!(
                "The answer is larger than {REPLY_BYTES_MAX} bytes."
            )));
        }
        Ok(())
    }
}

fn parse_args(text: String, whole: bool) -> Value {
    if whole && text.trim().is_empty() {
        return Value::Object(Map::new());
    }
    match serde_json::from_str(&text) {
        Ok(value @ Value::Object(_)) => value,
        _ => Value::String(text),
    }
}

#[cfg(test)]
#[path = "reply_builder_tests.rs"]
mod tests;
