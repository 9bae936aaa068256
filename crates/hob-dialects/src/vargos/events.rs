//! Translates the events for a client.
//!
//! Invariants: `delta` holds only text of the answer; thinking and arguments of tool calls have
//! fields of their own. On a bare daemon the volatile events of a connection are numbered from 1
//! without gaps, as Vargos numbers them. Events of outside services keep their payload.

use crate::vargos::sessions::text_of_content;
use bytes::Bytes;
use hob_wire::EventTopic;
use hob_wire::content::{MessageContent, ToolCall};
use hob_wire::frame::{self, Envelope, EventEnvelope, EventHead, EventPosition};
use hob_wire::rooms::agent::{DeltaKind, RunDelta, RunTool};
use hob_wire::rooms::gateway::Gap;
use hob_wire::rooms::session::SessionMessage;
use serde::Deserialize;
use serde_json::{Map, Value};

/// The beginning of every event that the bus writes.
const EVENT_START: &[u8] = br#"{"type":"event""#;

#[derive(Debug)]
pub(crate) struct VargosEventTranslator {
    /// True if hob's rooms are there. Their topics are then hob's alone.
    has_rooms: bool,
    /// The last number on a bare daemon.
    last: u64,
}

impl VargosEventTranslator {
    pub(crate) fn new(has_rooms: bool) -> VargosEventTranslator {
        VargosEventTranslator { has_rooms, last: 0 }
    }

    /// Returns the frame as the client gets it.
    pub(crate) fn translate(&mut self, frame: Bytes) -> Bytes {
        if !frame.starts_with(EVENT_START) {
            return frame;
        }
        let translated = match read_event(&frame) {
            Some(event) if self.has_rooms => translate_payload(&event),
            Some(event) => self.number(&event),
            None => None,
        };
        translated.unwrap_or(frame)
    }

    /// Numbers a volatile event after the last one.
    fn number(&mut self, event: &EventEnvelope<'_>) -> Option<Bytes> {
        let seq = event.seq.unwrap_or_default();
        let Some(sub) = event.sub.filter(|_| event.event != Gap::SPEC.topic) else {
            self.last = self.last.max(seq);
            return None;
        };
        self.last = self.last.max(seq) + 1;
        let position = EventPosition::Volatile {
            seq: self.last,
            sub,
        };
        let payload = event.payload.map(|payload| payload.get().as_bytes());
        Some(encode(event, Some(position), payload))
    }
}

fn read_event(frame: &Bytes) -> Option<EventEnvelope<'_>> {
    match frame::read(std::str::from_utf8(frame).ok()?).ok()? {
        Envelope::Event(event) => Some(event),
        _ => None,
    }
}

/// Translates the payload of an event of a room; `None` if it stays as it is.
fn translate_payload(event: &EventEnvelope<'_>) -> Option<Bytes> {
    let translate = match &*event.event {
        topic if topic == RunDelta::SPEC.topic => translate_delta,
        topic if topic == RunTool::SPEC.topic => translate_tool,
        topic if topic == SessionMessage::SPEC.topic => translate_message,
        _ => return None,
    };
    let mut payload: Map<String, Value> = serde_json::from_str(event.payload?.get()).ok()?;
    translate(&mut payload)?;
    let payload = serde_json::to_vec(&payload).ok()?;
    Some(encode(event, position(event), Some(&payload)))
}

/// Marks the kind of a delta, and leaves only text of the answer in `delta`.
fn translate_delta(payload: &mut Map<String, Value>) -> Option<()> {
    let kind = DeltaKind::deserialize(payload.get("kind")?).ok()?;
    let (kind, field) = match kind {
        DeltaKind::Text => ("text_delta", "data"),
        DeltaKind::Thinking => ("thinking_delta", "thinking"),
        DeltaKind::Tool => ("tool_delta", "toolArgs"),
    };
    let delta = payload.get("delta")?.clone();
    if kind != "text_delta" {
        // Empty and not missing: clients print it without looking at the kind.
        payload.insert("delta".to_owned(), Value::String(String::new()));
    }
    payload.insert("type".to_owned(), Value::String(kind.to_owned()));
    payload.insert(field.to_owned(), delta);
    Some(())
}

fn translate_tool(payload: &mut Map<String, Value>) -> Option<()> {
    let call = ToolCall::deserialize(payload.get("call")?).ok()?;
    payload.insert("toolName".to_owned(), Value::String(call.name));
    payload.insert("args".to_owned(), call.args);
    Some(())
}

/// Makes the content of a message a text.
fn translate_message(payload: &mut Map<String, Value>) -> Option<()> {
    let content = MessageContent::deserialize(payload.get("content")?).ok()?;
    let text = text_of_content(&content);
    payload.insert("content".to_owned(), Value::String(text));
    Some(())
}

fn position(event: &EventEnvelope<'_>) -> Option<EventPosition> {
    let seq = event.seq?;
    Some(match event.sub {
        Some(sub) => EventPosition::Volatile { seq, sub },
        None => EventPosition::Logged {
            seq,
            prev: event.prev,
        },
    })
}

fn encode(
    event: &EventEnvelope<'_>,
    position: Option<EventPosition>,
    payload: Option<&[u8]>,
) -> Bytes {
    let head = EventHead {
        source: &event.source,
        event: &event.event,
        position,
    };
    let mut out = Vec::with_capacity(payload.map_or(0, <[u8]>::len) + 256);
    frame::write_event(&mut out, head, payload);
    Bytes::from(out)
}

#[cfg(test)]
#[path = "events_tests.rs"]
mod tests;
