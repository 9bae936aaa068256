//! An OpenCode session: create, subscribe, prompt, delete.
//!
//! Invariant: the event stream is open before the prompt is sent, so that no event is missed.

use crate::dialect::text;
use crate::error::ModelError;
use crate::exchange::ProviderExchange;
use bytes::Bytes;
use hob_kit::tasks::TaskGroup;
use hob_net::{HttpClient, HttpRequest, NetError, SseEvent, SseReader};
use serde_json::json;
use std::time::Duration;

/// The title in OpenCode's session list.
const TITLE: &str = "hob";
/// The limit of the response that describes a new session.
const SESSION_BYTES_MAX: usize = 256 * 1024;
/// The time limit for ending a session in the background.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// A session in use. Dropping it aborts and deletes the session.
#[derive(Debug)]
pub(crate) struct OpencodeSession {
    id: String,
    http: HttpClient,
    abort: HttpRequest,
    delete: HttpRequest,
}

/// Creates a session, subscribes to its events and sends the prompt.
pub(crate) async fn open(
    exchange: &ProviderExchange<'_>,
    message: Bytes,
) -> Result<(OpencodeSession, SseReader), ModelError> {
    // Without a title OpenCode would ask a model for one.
    let asked = json!({ "title": TITLE }).to_string();
    let made = exchange.post("/session", Bytes::from(asked)).await?;
    let made = made
        .text(exchange.timeouts.silence, SESSION_BYTES_MAX)
        .await?;
    let made = crate::dialect::parse_json(&made)?;
    let id = text(&made, "/id");
    // The id becomes part of URLs, so it must not hold `/` or other special characters.
    let is_id = id.starts_with("ses")
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_id {
        return Err(ModelError::protocol("OpenCode made no session."));
    }
    let at = exchange.url(&format!("/session/{id}"));
    // From here on every error drops the session, which deletes it.
    let session = OpencodeSession {
        id: id.to_owned(),
        http: exchange.http.clone(),
        abort: exchange.add_headers(HttpRequest::post(format!("{at}/abort"), Bytes::new())),
        delete: exchange.add_headers(HttpRequest::delete(at)),
    };
    let mut events = exchange.open_events("/event").await?;
    // The first event confirms the subscription.
    if events.next().await?.is_none() {
        return Err(ModelError::stream_cut());
    }
    let path = format!("/session/{id}/prompt_async");
    exchange.post(&path, message).await?;
    Ok((session, events))
}

impl OpencodeSession {
    /// Returns the next event of this session; `None` at the end of the stream.
    pub(crate) async fn next(&self, events: &mut SseReader) -> Result<Option<SseEvent>, NetError> {
        loop {
            match events.next().await? {
                // The kinds of events name their session in different fields, so the whole text is
                // searched.
                Some(event) if !event.data.contains(&self.id) => {}
                found => return Ok(found),
            }
        }
    }
}

impl Drop for OpencodeSession {
    fn drop(&mut self) {
        let http = self.http.clone();
        let calls = [self.abort.clone(), self.delete.clone()];
        // Not awaited: when the daemon stops, OpenCode stops too.
        TaskGroup::new().spawn("opencode-session-end", async move {
            for call in calls {
                // A failure here means that OpenCode is gone.
                let _ = http.send(call.head_timeout(END_TIMEOUT)).await;
            }
        });
    }
}
