//! What watchers are told of a call under way: that it began, what it prints, how it ended.
//!
//! Invariants: telling never waits for a watcher and never slows a call; what is told of arguments
//! and output is bounded. The durable record of a run's calls is the agent's.

use super::Shared;
use hob_bus::{Emitter, SessionTag};
use hob_core::permission::Work;
use hob_tools::outlet::{Outlet, Printed};
use hob_wire::id::SessionRef;
use hob_wire::rooms::tool::{
    CallOf, Executed, ToolFinished, ToolFinishedPayload, ToolOutput, ToolOutputPayload,
    ToolStarted, ToolStartedPayload,
};
use hob_wire::{ErrorCode, WireError};
use serde_json::Value;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The least time between two tellings of output; what is printed meanwhile becomes one.
const PACE: Duration = Duration::from_millis(50);
/// Bytes of one text among the arguments.
const TEXT_BYTES_MAX: usize = 1_024;
/// Texts, numbers and the like among the arguments.
const VALUES_MAX: usize = 256;
/// Bytes of an error's sentence.
const CUT_BYTES_MAX: usize = 512;

pub(super) struct Telling {
    emitter: Emitter,
    tag: Option<SessionTag>,
    of: CallOf,
    began: Instant,
}

impl Telling {
    /// Tells that a call begins.
    pub(super) async fn begin(shared: &Shared, work: &Work) -> Telling {
        let context = &work.context;
        let telling = Telling {
            emitter: shared.emitter.clone(),
            tag: match &context.session_key {
                Some(key) => tag(shared, key).await,
                None => None,
            },
            of: CallOf {
                session_key: context.session_key.clone(),
                run_id: context.run_id,
                call_id: context.call_id.clone(),
                tool: work.tool.clone(),
            },
            began: Instant::now(),
        };
        let started = ToolStartedPayload {
            of: telling.of.clone(),
            args: shortened(&work.args, &mut VALUES_MAX.clone()),
        };
        telling
            .emitter
            .emit::<ToolStarted>(telling.tag.clone(), &started);
        telling
    }

    /// Tells what is printed, as it comes, for ever.
    pub(super) async fn relay<T>(&self, outlet: &Outlet) -> T {
        loop {
            outlet.filled().await;
            outlet.take().into_iter().for_each(|piece| self.tell(piece));
            sleep(PACE).await;
        }
    }

    /// Tells what was printed last.
    pub(super) fn drain(&self, outlet: &Outlet) {
        let last = outlet.finish().into_iter();
        last.for_each(|piece| self.tell(piece));
    }

    fn tell(&self, printed: Printed) {
        let payload = ToolOutputPayload {
            of: self.of.clone(),
            stream: printed.stream,
            text: printed.text,
            dropped: Some(printed.dropped).filter(|count| *count > 0),
        };
        self.emitter.emit::<ToolOutput>(self.tag.clone(), &payload);
    }

    /// Tells how it ended.
    pub(super) fn finish(self, done: &Result<Executed, WireError>) {
        let cut = done.as_ref().err().map(|error| match error.code {
            ErrorCode::Cancelled => "stopped".to_owned(),
            ErrorCode::Timeout => "deadline".to_owned(),
            _ => shown(&error.message, CUT_BYTES_MAX),
        });
        let payload = ToolFinishedPayload {
            is_error: done.as_ref().map_or(true, |executed| executed.is_error),
            duration_ms: u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            cut,
            of: self.of,
        };
        self.emitter.emit::<ToolFinished>(self.tag, &payload);
    }
}

/// The session's names, for whoever watches one session only.
async fn tag(shared: &Shared, key: &str) -> Option<SessionTag> {
    let named = SessionRef::parse(key);
    let session = shared.store.get_session(&named).await.ok()?;
    let id = session.id.to_string();
    let key = (session.session_key != id).then(|| session.session_key.into());
    Some(SessionTag { id: id.into(), key })
}

/// Arguments with long texts cut and with nothing beyond `left` values.
fn shortened(value: &Value, left: &mut usize) -> Value {
    if *left == 0 {
        return Value::String("…".to_owned());
    }
    *left -= 1;
    match value {
        Value::String(text) => Value::String(shown(text, TEXT_BYTES_MAX)),
        Value::Array(items) => {
            let room = items.len().min(*left + 1);
            let items = items[..room].iter();
            Value::Array(items.map(|item| shortened(item, left)).collect())
        }
        Value::Object(fields) => {
            let room = fields.len().min(*left + 1);
            let fields = fields.iter().take(room);
            let short = |(name, value): (&String, &Value)| {
                (shown(name, TEXT_BYTES_MAX), shortened(value, left))
            };
            Value::Object(fields.map(short).collect())
        }
        other => other.clone(),
    }
}

fn shown(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let head = &text[..text.floor_char_boundary(bytes_max)];
    format!("{head}… ({} bytes)", text.len())
}

#[cfg(test)]
#[path = "telling_tests.rs"]
mod tests;
