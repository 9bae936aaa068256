//! Events for watchers of a call: start, output, end.
//!
//! Invariants: emitting never waits for a watcher and never slows a call; arguments and output in
//! events are bounded. The durable record of a run's calls is the agent's.

use super::ToolRoomContext;
use crate::transcripts::Transcripts;
use hob_bus::{EventEmitter, SessionTag};
use hob_core::permission::PreparedCall;
use hob_tools::live_output::{LiveOutput, OutputChunk};
use hob_wire::id::SessionRef;
use hob_wire::rooms::tool::{
    ToolCallRef, ToolExecuteResult, ToolFinished, ToolFinishedPayload, ToolOutput,
    ToolOutputPayload, ToolStarted, ToolStartedPayload,
};
use hob_wire::{ErrorCode, WireError};
use serde_json::Value;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Shortest time between two output events; output in between is merged.
const OUTPUT_INTERVAL: Duration = Duration::from_millis(50);
/// Most bytes of one text in the arguments.
const TEXT_BYTES_MAX: usize = 1_024;
/// Most values in the arguments.
const VALUES_MAX: usize = 256;
/// Most bytes of an error message.
const ERROR_BYTES_MAX: usize = 512;

pub(super) struct ToolEvents {
    emitter: EventEmitter,
    tag: Option<SessionTag>,
    of: ToolCallRef,
    transcripts: Transcripts,
    began: Instant,
}

impl ToolEvents {
    /// Emits the start of a call.
    pub(super) async fn begin(shared: &ToolRoomContext, work: &PreparedCall) -> ToolEvents {
        let context = &work.context;
        let events = ToolEvents {
            emitter: shared.emitter.clone(),
            tag: match &context.session_key {
                Some(key) => session_tag(shared, key).await,
                None => None,
            },
            of: ToolCallRef {
                session_key: context.session_key.clone(),
                run_id: context.run_id,
                call_id: context.call_id.clone(),
                tool: work.tool.clone(),
            },
            transcripts: shared.deps.transcripts.clone(),
            began: Instant::now(),
        };
        let started = ToolStartedPayload {
            call: events.of.clone(),
            args: shorten_args(&work.args, &mut VALUES_MAX.clone()),
        };
        events
            .emitter
            .emit::<ToolStarted>(events.tag.clone(), &started);
        events
    }

    /// Emits output as it comes. Never returns.
    pub(super) async fn relay_output<T>(&self, live_output: &LiveOutput) -> T {
        loop {
            live_output.ready().await;
            live_output
                .take()
                .into_iter()
                .for_each(|piece| self.emit_output(piece));
            // A program may print thousands of lines per second; watchers get one event per
            // interval.
            sleep(OUTPUT_INTERVAL).await;
        }
    }

    /// Emits the remaining output. Returns the number of bytes printed.
    pub(super) fn flush_output(&self, live_output: &LiveOutput) -> u64 {
        let last = live_output.finish().into_iter();
        last.for_each(|piece| self.emit_output(piece));
        live_output.total()
    }

    fn emit_output(&self, printed: OutputChunk) {
        if let (Some(tag), Some(run), Some(call)) = (&self.tag, self.of.run_id, &self.of.call_id) {
            self.transcripts.add_output(tag, run, call, &printed.text);
        }
        let payload = ToolOutputPayload {
            call: self.of.clone(),
            stream: printed.stream,
            offset: printed.offset,
            text: printed.text,
            dropped: Some(printed.dropped).filter(|count| *count > 0),
        };
        self.emitter.emit::<ToolOutput>(self.tag.clone(), &payload);
    }

    /// Emits the end of the call, with the number of bytes that it printed.
    pub(super) fn finish(self, done: &Result<ToolExecuteResult, WireError>, output_bytes: u64) {
        let cut = done.as_ref().err().map(|error| match error.code {
            ErrorCode::Cancelled => "stopped".to_owned(),
            ErrorCode::Timeout => "deadline".to_owned(),
            _ => shorten_text(&error.message, ERROR_BYTES_MAX),
        });
        let payload = ToolFinishedPayload {
            is_error: done.as_ref().map_or(true, |executed| executed.is_error),
            duration_ms: u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            output_bytes,
            cut,
            call: self.of,
        };
        self.emitter.emit::<ToolFinished>(self.tag, &payload);
    }
}

/// The tag for watchers of one session.
async fn session_tag(shared: &ToolRoomContext, key: &str) -> Option<SessionTag> {
    let named = SessionRef::parse(key);
    let session = shared.deps.store.get_session(&named).await.ok()?;
    let id = session.id.to_string();
    let key = (session.session_key != id).then(|| session.session_key.into());
    Some(SessionTag { id: id.into(), key })
}

/// Arguments with long texts cut and at most `left` values.
fn shorten_args(value: &Value, left: &mut usize) -> Value {
    if *left == 0 {
        return Value::String("…".to_owned());
    }
    *left -= 1;
    match value {
        Value::String(text) => Value::String(shorten_text(text, TEXT_BYTES_MAX)),
        Value::Array(items) => {
            // One more than fits, so that the cut shows as `…`.
            let room = items.len().min(*left + 1);
            let items = items[..room].iter();
            Value::Array(items.map(|item| shorten_args(item, left)).collect())
        }
        Value::Object(fields) => {
            let room = fields.len().min(*left + 1);
            let fields = fields.iter().take(room);
            let short = |(name, value): (&String, &Value)| {
                (
                    shorten_text(name, TEXT_BYTES_MAX),
                    shorten_args(value, left),
                )
            };
            Value::Object(fields.map(short).collect())
        }
        other => other.clone(),
    }
}

fn shorten_text(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let head = &text[..text.floor_char_boundary(bytes_max)];
    format!("{head}… ({} bytes)", text.len())
}

#[cfg(test)]
#[path = "tool_events_tests.rs"]
mod tests;
