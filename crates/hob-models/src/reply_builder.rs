//! An answer in the making: what the decoders put their pieces into. Pure.
//!
//! Invariants: the whole stays below its bounds; arguments that are not one JSON object stay a
//! string, so that no tool ever runs on half of them.

use crate::error::ModelError;
use crate::prompt::Piece;
use hob_wire::content::{Part, ToolCall};
use serde_json::{Map, Value};

/// Text, thoughts and arguments of one answer together.
const REPLY_BYTES_MAX: usize = 16 * 1024 * 1024;
const PARTS_MAX: usize = 1_024;

/// The place of a part in its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(usize);

#[derive(Debug, Default)]
pub(crate) struct Assembly {
    parts: Vec<Draft>,
    calls: usize,
    bytes: usize,
}

#[derive(Debug)]
enum Draft {
    Text(String),
    Thinking {
        text: String,
        signature: Option<String>,
    },
    Call {
        index: usize,
        id: String,
        name: String,
        args: Args,
    },
}

#[derive(Debug)]
enum Args {
    /// JSON as it streams.
    Text(String),
    /// Given whole.
    Whole(Value),
}

impl Assembly {
    /// Text after the last part, or in a new one.
    pub(crate) fn text(&mut self, delta: &str, out: &mut Vec<Piece>) -> Result<(), ModelError> {
        if delta.is_empty() {
            return Ok(());
        }
        self.grow(delta.len())?;
        out.push(Piece::Text(delta.to_owned()));
        if let Some(Draft::Text(text)) = self.parts.last_mut() {
            text.push_str(delta);
            return Ok(());
        }
        self.push(Draft::Text(delta.to_owned())).map(drop)
    }

    /// Thoughts after the last part, or in a new one.
    pub(crate) fn thinking(&mut self, delta: &str, out: &mut Vec<Piece>) -> Result<(), ModelError> {
        if delta.is_empty() {
            return Ok(());
        }
        self.grow(delta.len())?;
        out.push(Piece::Thinking(delta.to_owned()));
        if let Some(Draft::Thinking {
            text,
            signature: None,
        }) = self.parts.last_mut()
        {
            text.push_str(delta);
            return Ok(());
        }
        self.open_thinking(delta.to_owned(), None)
    }

    /// A part of thoughts of its own; nothing is streamed.
    pub(crate) fn open_thinking(
        &mut self,
        text: String,
        signature: Option<String>,
    ) -> Result<(), ModelError> {
        self.grow(signature.as_ref().map_or(0, String::len))?;
        self.push(Draft::Thinking { text, signature }).map(drop)
    }

    /// Signs the last thoughts, or adds a part that holds only the signature.
    pub(crate) fn sign(&mut self, signed: String) -> Result<(), ModelError> {
        if let Some(Draft::Thinking { signature, .. }) = self.parts.last_mut()
            && signature.is_none()
        {
            *signature = Some(signed);
            return Ok(());
        }
        self.open_thinking(String::new(), Some(signed))
    }

    /// A call whose arguments follow.
    pub(crate) fn open_call(
        &mut self,
        id: &str,
        name: &str,
        out: &mut Vec<Piece>,
    ) -> Result<Slot, ModelError> {
        self.add_call(id, name, Args::Text(String::new()), out)
    }

    /// A call that came whole.
    pub(crate) fn whole_call(
        &mut self,
        id: &str,
        name: &str,
        args: Value,
        out: &mut Vec<Piece>,
    ) -> Result<(), ModelError> {
        let shown = args.to_string();
        let slot = self.add_call(id, name, Args::Whole(args), out)?;
        self.grow(shown.len())?;
        if let Some(Draft::Call { index, name, .. }) = self.parts.get(slot.0) {
            out.push(Piece::Tool {
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
        args: Args,
        out: &mut Vec<Piece>,
    ) -> Result<Slot, ModelError> {
        self.grow(id.len() + name.len())?;
        let index = self.calls;
        self.calls += 1;
        out.push(Piece::Tool {
            index,
            name: name.to_owned(),
            delta: String::new(),
        });
        self.push(Draft::Call {
            index,
            id: id.to_owned(),
            name: name.to_owned(),
            args,
        })
    }

    /// The next characters of a call's arguments.
    pub(crate) fn call_delta(
        &mut self,
        slot: Slot,
        delta: &str,
        out: &mut Vec<Piece>,
    ) -> Result<(), ModelError> {
        self.grow(delta.len())?;
        if let Some(Draft::Call {
            index,
            name,
            args: Args::Text(text),
            ..
        }) = self.parts.get_mut(slot.0)
            && !delta.is_empty()
        {
            text.push_str(delta);
            out.push(Piece::Tool {
                index: *index,
                name: name.clone(),
                delta: delta.to_owned(),
            });
        }
        Ok(())
    }

    /// Completes what a call's opening left out.
    pub(crate) fn name_call(&mut self, slot: Slot, id: &str, name: &str) {
        if let Some(Draft::Call {
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

    /// What a call's arguments are when its provider says them once more, whole.
    pub(crate) fn settle_call(&mut self, slot: Slot, whole: &str) -> Result<(), ModelError> {
        if let Some(Draft::Call {
            args: Args::Text(text),
            ..
        }) = self.parts.get_mut(slot.0)
        {
            let more = whole.len().saturating_sub(text.len());
            whole.clone_into(text);
            self.grow(more)?;
        }
        Ok(())
    }

    pub(crate) fn calls(&self) -> usize {
        self.calls
    }

    /// Bytes that were streamed.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The parts. `whole` says that the model was not cut short: only then do empty arguments
    /// mean none.
    pub(crate) fn finish(self, whole: bool) -> Vec<Part> {
        let mut parts = Vec::with_capacity(self.parts.len());
        for draft in self.parts {
            let is_nothing =
                matches!(&draft, Draft::Thinking { text, signature: None } if text.is_empty());
            if is_nothing {
                continue;
            }
            parts.push(match draft {
                Draft::Text(text) => Part::Text { text },
                Draft::Thinking { text, signature } => Part::Thinking { text, signature },
                Draft::Call { id, name, args, .. } => {
                    let args = match args {
                        Args::Whole(value @ Value::Object(_)) => value,
                        Args::Whole(Value::Null) => Value::Object(Map::new()),
                        Args::Whole(other) => Value::String(other.to_string()),
                        Args::Text(text) => read_args(text, whole),
                    };
                    Part::ToolCall(ToolCall { id, name, args })
                }
            });
        }
        parts
    }

    fn push(&mut self, draft: Draft) -> Result<Slot, ModelError> {
        if self.parts.len() >= PARTS_MAX {
            return Err(ModelError::protocol(format!(
                "The answer has more than {PARTS_MAX} parts."
            )));
        }
        self.parts.push(draft);
        Ok(Slot(self.parts.len() - 1))
    }

    fn grow(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > REPLY_BYTES_MAX {
            return Err(ModelError::protocol(format!(
                "The answer is larger than {REPLY_BYTES_MAX} bytes."
            )));
        }
        Ok(())
    }
}

fn read_args(text: String, whole: bool) -> Value {
    if whole && text.trim().is_empty() {
        return Value::Object(Map::new());
    }
    match serde_json::from_str(&text) {
        Ok(value @ Value::Object(_)) => value,
        _ => Value::String(text),
    }
}

#[cfg(test)]
#[path = "assembly_tests.rs"]
mod tests;
