//! `GET /api/events`: the events of a loop as server-sent events. The connection polls the body,
//! and the body reads the bus itself, so a client that pauses blocks only its own stream. The
//! outbox of its bus link bounds what waits meanwhile; beyond that the stream ends.
//!
//! Invariants: `connected` comes first. A logged event has its number as id, and a client that
//! reconnects with its last id gets every later event once. Volatile events have no id, so that
//! they do not change a client's position.

use crate::looprunner::client::LoopRunnerClient;
use crate::looprunner::event_translator::{LoopEventTranslator, TOPICS, TranslatedEvent};
use crate::looprunner::types::{LoopRunnerEvent, LoopRunnerSnapshot};
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, Response};
use bytes::Bytes;
use hob_gateway::bus_connection::{self, BusConnection, BusMessage};
use hob_gateway::event_stream;
use hob_wire::rooms::gateway::{GapRange, GapReason};
use hob_wire::{ErrorCode, WireError};
use std::time::Duration;
use tokio::time::Instant;

/// Maximum time between two keep-alives; a shorter ping interval applies here too.
const KEEP_ALIVE_MS_MAX: u64 = 15_000;
const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";
/// Ready events are joined into one write up to this size.
const PIECE_BYTES: usize = 64 * 1024;
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Starts a stream. An early failure becomes an HTTP status.
pub(crate) async fn open(
    client: LoopRunnerClient,
    headers: &HeaderMap,
) -> Result<Response<Body>, WireError> {
    let mut connection = client.connect()?;
    // Subscribes first and reads second: an event in between is sent twice rather than never.
    let position = subscribe(&mut connection, last_event_id(headers)).await?;
    let LoopRunnerSnapshot { state, config } = client.state_and_config().await?;
    let mut first = Vec::new();
    let connected = LoopRunnerEvent::Connected {
        state: state.clone(),
        config,
    };
    write_event(&mut first, Some(position), &connected);
    let feed = LoopRunnerFeed {
        translator: LoopEventTranslator::new(client.name.clone(), state),
        client,
        connection,
        gap: None,
        has_ended: false,
    };
    let others = futures_util::stream::unfold(feed, async |mut feed| {
        let piece = feed.next_bytes().await?;
        Some((piece, feed))
    });
    Ok(event_stream::respond(first, others))
}

/// Subscribes to loop events after `since`. Returns the position where the stream begins.
async fn subscribe(connection: &mut BusConnection, since: Option<u64>) -> Result<u64, WireError> {
    let last = connection.subscribe_all(&TOPICS, since).await?;
    // A position beyond the log comes from another store; the stream starts after the last event.
    Ok(since.map_or(last, |since| since.min(last)))
}

/// The client's last position. An invalid one counts as none: with a status other than 200 a
/// browser would never reconnect.
fn last_event_id(headers: &HeaderMap) -> Option<u64> {
    headers
        .get(LAST_EVENT_ID)?
        .to_str()
        .ok()?
        .trim()
        .parse()
        .ok()
}

/// The state of an event stream.
#[derive(Debug)]
struct LoopRunnerFeed {
    client: LoopRunnerClient,
    connection: BusConnection,
    translator: LoopEventTranslator,
    /// A range of lost events. It is reported only when others follow; else the connection was too
    /// slow, ends here, and the client gets them after it reconnects.
    gap: Option<GapRange>,
    has_ended: bool,
}

impl LoopRunnerFeed {
    /// Returns the next bytes; `None` after the end.
    async fn next_bytes(&mut self) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        // One deadline for the whole wait: events of other loops send nothing to this client.
        let every = self.client.ping_interval();
        let every = every.min(Duration::from_millis(KEEP_ALIVE_MS_MAX));
        let silent = Instant::now() + every;
        while out.is_empty() {
            if self.has_ended {
                return None;
            }
            let Ok(next) = tokio::time::timeout_at(silent, self.connection.next_frame()).await
            else {
                return Some(KEEP_ALIVE.to_vec());
            };
            let mut next = match next {
                Ok(frame) => Some(frame),
                Err(error) => {
                    tracing::debug!("an event stream ends: {error}");
                    return None;
                }
            };
            while let Some(frame) = next {
                self.handle_frame(&frame, &mut out).await;
                // Bounded, so that a busy loop does not build one huge write.
                let go_on = !self.has_ended && out.len() < PIECE_BYTES;
                next = go_on.then(|| self.connection.try_next_frame()).flatten();
            }
        }
        Some(out)
    }

    async fn handle_frame(&mut self, frame: &Bytes, out: &mut Vec<u8>) {
        let Some(BusMessage::Event {
            topic,
            payload,
            seq,
        }) = bus_connection::parse_message(frame)
        else {
            return;
        };
        let translated = match self.translator.translate(&topic, payload) {
            Ok(translated) => translated,
            Err(error) => {
                tracing::error!(topic = &*topic, "dropped an event: {error}");
                return;
            }
        };
        if let TranslatedEvent::Gap(gap) = translated {
            // A position of another store: `connected` has sent the whole state already.
            if gap.reason != Some(GapReason::OtherLog) {
                self.gap = Some(gap);
            }
            return;
        }
        // Events follow the gap, so the connection lives and the client would not reconnect.
        if let Some(gap) = self.gap.take() {
            write_event(out, None, &gap_event(&gap));
        }
        match translated {
            TranslatedEvent::Nothing | TranslatedEvent::Gap(_) => {}
            TranslatedEvent::Event(event) => write_event(out, seq, &event),
            TranslatedEvent::Configured => self.write_config(seq, out).await,
            TranslatedEvent::Deleted => {
                let message = format!("The loop '{}' was deleted.", self.translator.name());
                let event = LoopRunnerEvent::Error {
                    message,
                    iteration: None,
                };
                write_event(out, seq, &event);
                self.has_ended = true;
            }
        }
    }

    /// Writes the current settings, which may be newer than the event.
    async fn write_config(&mut self, seq: Option<u64>, out: &mut Vec<u8>) {
        match self.client.config().await {
            Ok(config) => write_event(out, seq, &LoopRunnerEvent::Config { config }),
            // The next event reports that the loop was deleted.
            Err(error) if error.code == ErrorCode::NotFound => {}
            Err(error) => {
                // The stream ends so that the client reconnects at its position and misses nothing.
                tracing::warn!("an event stream ends: {error}");
                self.has_ended = true;
            }
        }
    }
}

fn gap_event(gap: &GapRange) -> LoopRunnerEvent {
    LoopRunnerEvent::Error {
        message: format!(
            "Events {} to {} are not kept any more; /api/state and /api/history show what became of it.",
            gap.from, gap.to
        ),
        iteration: None,
    }
}

fn write_event(out: &mut Vec<u8>, id: Option<u64>, event: &LoopRunnerEvent) {
    let json = match serde_json::to_string(event) {
        Ok(json) => json,
        Err(failure) => {
            tracing::error!("dropped an event: {failure}");
            return;
        }
    };
    if let Some(id) = id {
        out.extend_from_slice(format!("id: {id}\n").as_bytes());
    }
    // JSON text contains no raw line break, so one `data` line is enough.
    out.extend_from_slice(format!("data: {json}\n\n").as_bytes());
}

#[cfg(test)]
#[path = "event_feed_tests.rs"]
mod tests;
