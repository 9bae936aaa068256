//! Payloads of events about runs: the stored part, and how the whole is rebuilt.
//!
//! The log does not repeat what a run's row or its messages hold. `run.queued` and `run.completed`
//! are completely in the row. `run.step` ends with the step's text and `run.tool` with the tool's
//! result, which are in the message of the same write. Invariant: a part is left out only if it is
//! rebuilt to the same bytes, which is tested when it is written.

use super::types::RunSummary;
use crate::events::{SessionIdentity, encode_payload};
use bytes::Bytes;
use hob_wire::rooms::agent::{
    RunCompleted, RunCompletedPayload, RunQueued, RunQueuedPayload, RunRef, RunStep, RunTool,
};
use hob_wire::{ContentPart, EventTopic, MessageContent, RunId};

pub(crate) const QUEUED: &str = RunQueued::SPEC.topic;
pub(crate) const COMPLETED: &str = RunCompleted::SPEC.topic;
const STEP: &str = RunStep::SPEC.topic;
const TOOL: &str = RunTool::SPEC.topic;
/// The least suffix that is worth reading a message for.
const END_BYTES_MIN: usize = 64;

pub(crate) fn queued(session: &SessionIdentity, run: RunId, task: &str) -> Bytes {
    encode_payload(&RunQueuedPayload {
        run: run_of(session, run),
        task: task.to_owned(),
    })
}

/// The payload of a run's last event; none while it has not ended.
pub(crate) fn completed(
    session: &SessionIdentity,
    run: RunId,
    summary: &RunSummary,
) -> Option<Bytes> {
    Some(encode_payload(&RunCompletedPayload {
        run: run_of(session, run),
        response: summary.text.clone(),
        success: summary.success,
        cause: summary.cause?,
        message: summary.message.clone(),
        cost: summary.cost,
        model: summary.model.clone(),
        notes: summary.notes.clone(),
        // A run with denials stores the whole payload of its end.
        denied: Vec::new(),
    }))
}

/// Returns the length of the prefix to store, if the message with this content holds the rest.
pub(crate) fn stored_prefix(topic: &str, payload: &[u8], content: &str) -> Option<usize> {
    let end = shared_suffix(topic, content).filter(|end| end.len() >= END_BYTES_MIN)?;
    // A message may be longer than the whole payload, and then it is not its end.
    let beginning = payload.len().checked_sub(end.len())?;
    payload.ends_with(&end).then_some(beginning)
}

/// Rebuilds a payload from its stored prefix and the message's content.
pub(crate) fn rebuild(topic: &str, beginning: &[u8], content: &str) -> Option<Bytes> {
    let end = shared_suffix(topic, content)?;
    Some([beginning, &end].concat().into())
}

/// The end of the payload of an event about this message.
fn shared_suffix(topic: &str, content: &str) -> Option<Vec<u8>> {
    if topic != STEP && topic != TOOL {
        return None;
    }
    let content: MessageContent = serde_json::from_str(content).ok()?;
    let mut end = if topic == STEP {
        serde_json::to_vec(&text_of(&content)).ok()?
    } else {
        let MessageContent::Parts(parts) = &content else {
            return None;
        };
        // With several results it would be unclear which one the event is about.
        let [ContentPart::ToolResult(result)] = &parts[..] else {
            return None;
        };
        serde_json::to_vec(result).ok()?
    };
    // The shared value is the last field of the payload's object.
    end.push(b'}');
    Some(end)
}

fn text_of(content: &MessageContent) -> String {
    let parts = match content {
        MessageContent::Text(text) => return text.clone(),
        MessageContent::Parts(parts) => parts,
    };
    let texts = parts.iter().filter_map(|part| match part {
        ContentPart::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

fn run_of(session: &SessionIdentity, run: RunId) -> RunRef {
    RunRef {
        session_key: session.name().to_owned(),
        run_id: run,
    }
}

#[cfg(test)]
#[path = "payload_tests.rs"]
mod tests;
