//! Payloads of events about runs: what is stored of them, and how they are made whole again.
//!
//! The log does not repeat what a run's row or its messages hold. `run.queued` and
//! `run.completed` are wholly in the row; `run.step` ends in the step's text and `run.tool` in the
//! tool's result, which are in the message of the same write. Invariant: only what is rebuilt to
//! the very same bytes is left out, tried when it is written.

use super::words::RunSummary;
use crate::events::{SessionFace, encode};
use bytes::Bytes;
use hob_wire::rooms::agent::{
    RunCompleted, RunCompletedPayload, RunOf, RunQueued, RunQueuedPayload, RunStep, RunTool,
};
use hob_wire::{Content, Part, RunId, Topic};

pub(crate) const QUEUED: &str = RunQueued::SPEC.topic;
pub(crate) const COMPLETED: &str = RunCompleted::SPEC.topic;
const STEP: &str = RunStep::SPEC.topic;
const TOOL: &str = RunTool::SPEC.topic;
/// Shorter ends are not worth a look at the message.
const END_BYTES_MIN: usize = 64;

pub(crate) fn queued(session: &SessionFace, run: RunId, task: &str) -> Bytes {
    encode(&RunQueuedPayload {
        of: of(session, run),
        task: task.to_owned(),
    })
}

/// The payload of a run's last event; none while it goes on.
pub(crate) fn completed(session: &SessionFace, run: RunId, summary: &RunSummary) -> Option<Bytes> {
    Some(encode(&RunCompletedPayload {
        of: of(session, run),
        response: summary.text.clone(),
        success: summary.success,
        cause: summary.cause?,
        message: summary.message.clone(),
        cost: summary.cost,
        model: summary.model.clone(),
        notes: summary.notes.clone(),
        // A run that was denied something keeps the payload of its end whole.
        denied: Vec::new(),
    }))
}

/// How much of `payload` has to be stored, if the rest is in the message with this content.
pub(crate) fn beginning(topic: &str, payload: &[u8], content: &str) -> Option<usize> {
    let end = end(topic, content).filter(|end| end.len() >= END_BYTES_MIN)?;
    let beginning = payload.len().checked_sub(end.len())?;
    payload.ends_with(&end).then_some(beginning)
}

/// The whole payload, from its stored beginning and the message's content.
pub(crate) fn whole(topic: &str, beginning: &[u8], content: &str) -> Option<Bytes> {
    let end = end(topic, content)?;
    Some([beginning, &end].concat().into())
}

/// What the payload of an event about this message ends in.
fn end(topic: &str, content: &str) -> Option<Vec<u8>> {
    if topic != STEP && topic != TOOL {
        return None;
    }
    let content: Content = serde_json::from_str(content).ok()?;
    let mut end = if topic == STEP {
        serde_json::to_vec(&words(&content)).ok()?
    } else {
        let Content::Parts(parts) = &content else {
            return None;
        };
        let [Part::ToolResult(result)] = &parts[..] else {
            return None;
        };
        serde_json::to_vec(result).ok()?
    };
    end.push(b'}');
    Some(end)
}

fn words(content: &Content) -> String {
    let parts = match content {
        Content::Text(text) => return text.clone(),
        Content::Parts(parts) => parts,
    };
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

fn of(session: &SessionFace, run: RunId) -> RunOf {
    RunOf {
        session_key: session.name().to_owned(),
        run_id: run,
    }
}

#[cfg(test)]
#[path = "payload_tests.rs"]
mod tests;
