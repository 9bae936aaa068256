//! `GET /api/events`: what happens to a loop, as server-sent events. The body is polled by its
//! connection and reads the bus itself, so a reader that pauses stops its own stream only; what
//! waits meanwhile is bounded by the line's outbox, and beyond that the stream ends.
//!
//! Invariants: `connected` comes first; the number of a logged event stands before it as its id, and
//! a client that comes back with the last one it saw is told what came after it, once; what is
//! volatile has no id, so that it moves nobody's place.

use crate::event_stream;
use crate::line::{self, Heard, Line};
use crate::looprunner::client::Client;
use crate::looprunner::mirror::{Mirror, TOPICS, Told};
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, Response};
use bytes::Bytes;
use hob_wire::looprunner::{Event, Whole};
use hob_wire::rooms::gateway::{GapRange, GapReason};
use hob_wire::{ErrorCode, WireError};
use std::time::Duration;
use tokio::time::Instant;

/// Between two signs of life while nothing happens, at the most; sockets may be set to less.
const KEEP_ALIVE_MS_MAX: u64 = 15_000;
const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";
/// A piece takes up what is ready until it has this much.
const PIECE_BYTES: usize = 64 * 1024;
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Begins a stream; what fails at once fails as a status.
pub(crate) async fn open(client: Client, headers: &HeaderMap) -> Result<Response<Body>, WireError> {
    let mut line = client.line()?;
    // Heard first and read second: what happens in between is told twice rather than never.
    let place = hear(&mut line, last_event_id(headers)).await?;
    let Whole { state, config } = client.whole().await?;
    let mut first = Vec::new();
    let connected = Event::Connected {
        state: state.clone(),
        config,
    };
    write(&mut first, Some(place), &connected);
    let feed = Feed {
        mirror: Mirror::new(client.name.clone(), state),
        client,
        line,
        gap: None,
        has_ended: false,
    };
    let others = futures_util::stream::unfold(feed, async |mut feed| {
        let piece = feed.piece().await?;
        Some((piece, feed))
    });
    Ok(event_stream::respond(first, others))
}

/// Hears of loops after `since`; answers the place where the stream begins.
async fn hear(line: &mut Line, since: Option<u64>) -> Result<u64, WireError> {
    let last = line.hear_all(&TOPICS, since).await?;
    // A place beyond the log is one of other files: what is new follows the last event.
    Ok(since.map_or(last, |since| since.min(last)))
}

/// Where the client was. What is no place of ours counts as none: a status other than 200 would
/// keep a browser from ever trying again.
fn last_event_id(headers: &HeaderMap) -> Option<u64> {
    headers
        .get(LAST_EVENT_ID)?
        .to_str()
        .ok()?
        .trim()
        .parse()
        .ok()
}

/// A stream and where it stands.
#[derive(Debug)]
struct Feed {
    client: Client,
    line: Line,
    mirror: Mirror,
    /// Events that are no more; told only when others follow, because otherwise the line was too
    /// slow, ends here, and is told them when it comes back.
    gap: Option<GapRange>,
    has_ended: bool,
}

impl Feed {
    /// The next bytes; nothing after the end.
    async fn piece(&mut self) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        // Events of other loops are no sign of life to this client.
        let every = self.client.ping_interval();
        let every = every.min(Duration::from_millis(KEEP_ALIVE_MS_MAX));
        let silent = Instant::now() + every;
        while out.is_empty() {
            if self.has_ended {
                return None;
            }
            let Ok(next) = tokio::time::timeout_at(silent, self.line.frame()).await else {
                return Some(KEEP_ALIVE.to_vec());
            };
            let mut next = match next {
                Ok(frame) => Some(frame),
                Err(error) => {
                    tracing::debug!("a stream of events ends: {error}");
                    return None;
                }
            };
            while let Some(frame) = next {
                self.take(&frame, &mut out).await;
                let go_on = !self.has_ended && out.len() < PIECE_BYTES;
                next = go_on.then(|| self.line.ready_frame()).flatten();
            }
        }
        Some(out)
    }

    async fn take(&mut self, frame: &Bytes, out: &mut Vec<u8>) {
        let Some(Heard::Event {
            topic,
            payload,
            seq,
        }) = line::read(frame)
        else {
            return;
        };
        let told = match self.mirror.take(&topic, payload) {
            Ok(told) => told,
            Err(error) => {
                tracing::error!(topic = &*topic, "an event was left out: {error}");
                return;
            }
        };
        if let Told::Gap(gap) = told {
            // A place of other files: the first message told the whole state already.
            if gap.reason != Some(GapReason::OtherLog) {
                self.gap = Some(gap);
            }
            return;
        }
        if let Some(gap) = self.gap.take() {
            write(out, None, &gone(&gap));
        }
        match told {
            Told::Nothing | Told::Gap(_) => {}
            Told::Event(event) => write(out, seq, &event),
            Told::Configured => self.tell_config(seq, out).await,
            Told::Deleted => {
                let message = format!("The loop '{}' was deleted.", self.mirror.name());
                let event = Event::Error {
                    message,
                    iteration: None,
                };
                write(out, seq, &event);
                self.has_ended = true;
            }
        }
    }

    /// The settings as they are now, which may be later than the event.
    async fn tell_config(&mut self, seq: Option<u64>, out: &mut Vec<u8>) {
        match self.client.config().await {
            Ok(config) => write(out, seq, &Event::Config { config }),
            // That it was deleted is told next.
            Err(error) if error.code == ErrorCode::NotFound => {}
            Err(error) => {
                // The client comes back to where it was, rather than miss this.
                tracing::warn!("a stream of events ends: {error}");
                self.has_ended = true;
            }
        }
    }
}

fn gone(gap: &GapRange) -> Event {
    Event::Error {
        message: format!(
            "Events {} to {} are not kept any more; /api/state and /api/history show what became of it.",
            gap.from, gap.to
        ),
        iteration: None,
    }
}

fn write(out: &mut Vec<u8>, id: Option<u64>, event: &Event) {
    let json = match serde_json::to_string(event) {
        Ok(json) => json,
        Err(failure) => {
            tracing::error!("an event was left out: {failure}");
            return;
        }
    };
    if let Some(id) = id {
        out.extend_from_slice(format!("id: {id}\n").as_bytes());
    }
    out.extend_from_slice(format!("data: {json}\n\n").as_bytes());
}

#[cfg(test)]
#[path = "feed_tests.rs"]
mod tests;
