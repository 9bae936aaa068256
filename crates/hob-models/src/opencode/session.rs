//! The life of a session: made, listened to, asked, deleted.
//!
//! Invariant: its events are listened to before it is asked, so that none is missed.

use crate::dialect::text;
use crate::error::ModelError;
use crate::exchange::Exchange;
use bytes::Bytes;
use hob_kit::tasks::Tasks;
use hob_net::{Http, NetError, Request, SseEvent, SseReader};
use serde_json::json;
use std::time::Duration;

/// What is said once in a session's list of a person who looks.
const TITLE: &str = "hob";
/// A new session's own description.
const SESSION_BYTES_MAX: usize = 256 * 1024;
/// How long ending a session may take. Nobody waits for it.
const END_PATIENCE: Duration = Duration::from_secs(5);

/// A session that is asked; dropped, it is ended and deleted.
#[derive(Debug)]
pub(crate) struct Session {
    id: String,
    http: Http,
    abort: Request,
    delete: Request,
}

/// Makes a session, listens to it, and asks it.
pub(crate) async fn open(
    exchange: &Exchange<'_>,
    message: Bytes,
) -> Result<(Session, SseReader), ModelError> {
    // With a title of ours it asks no model for one.
    let asked = json!({ "title": TITLE }).to_string();
    let made = exchange.post("/session", Bytes::from(asked)).await?;
    let made = made
        .text(exchange.timeouts.silence, SESSION_BYTES_MAX)
        .await?;
    let made = crate::dialect::json(&made)?;
    let id = text(&made, "/id");
    // It becomes a part of addresses.
    let is_id = id.starts_with("ses")
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_id {
        return Err(ModelError::protocol("OpenCode made no session."));
    }
    let at = exchange.url(&format!("/session/{id}"));
    let session = Session {
        id: id.to_owned(),
        http: exchange.http.clone(),
        abort: exchange.dress(Request::post(format!("{at}/abort"), Bytes::new())),
        delete: exchange.dress(Request::delete(at)),
    };
    let mut events = exchange.listen("/event").await?;
    // The first event says that it listens.
    if events.next().await?.is_none() {
        return Err(ModelError::cut());
    }
    let path = format!("/session/{id}/prompt_async");
    exchange.post(&path, message).await?;
    Ok((session, events))
}

impl Session {
    /// The next event of this session; none at the end of the stream.
    pub(crate) async fn next(&self, events: &mut SseReader) -> Result<Option<SseEvent>, NetError> {
        loop {
            match events.next().await? {
                Some(event) if !event.data.contains(&self.id) => {}
                found => return Ok(found),
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let http = self.http.clone();
        let calls = [self.abort.clone(), self.delete.clone()];
        // Not awaited anywhere: when the house ends, OpenCode ends too.
        Tasks::new().spawn("opencode-session-end", async move {
            for call in calls {
                // What fails here fails because there is no OpenCode any more.
                let _ = http.send(call.head_timeout(END_PATIENCE)).await;
            }
        });
    }
}
