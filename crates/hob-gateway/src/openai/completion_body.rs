//! A streamed completion: the body that hyper writes, piece by piece as they come.
//!
//! The body is polled by its connection and reads the bus itself: no task and no queue stand
//! between a word and the socket. A reader that pauses therefore stops this stream alone; what
//! waits meanwhile is bounded by the line's outbox.

use crate::event_stream;
use crate::openai::chunk::{self, Chunks, KEEP_ALIVE};
use crate::openai::fault::Fault;
use crate::openai::tale::Word;
use crate::openai::telling::{Alarm, Said, Telling};
use axum::body::Body;
use axum::http::Response;
use std::time::Duration;

/// How long the first word may take before the answer's head is sent without it. Until then a
/// failure is a status.
const HEAD_MS_MAX: u64 = 15_000;
/// Between two signs of life while the model is silent.
const KEEP_ALIVE_MS: u64 = 10_000;

/// Begins the answer: waits for its first words, so that what fails at once fails as a status.
pub(crate) async fn respond(telling: Telling, chunks: Chunks) -> Result<Response<Body>, Fault> {
    let mut feed = Feed {
        telling,
        chunks,
        alarm: Alarm::new(Duration::from_millis(HEAD_MS_MAX)),
        words: Vec::new(),
        has_ended: false,
    };
    let mut first = Vec::new();
    feed.chunks.role(&mut first);
    feed.first_words(&mut first).await?;
    feed.alarm = Alarm::new(Duration::from_millis(KEEP_ALIVE_MS));
    let others = futures_util::stream::unfold(feed, async |mut feed| {
        let piece = feed.piece().await?;
        Some((piece, feed))
    });
    Ok(event_stream::respond(first, others))
}

/// A stream and where it stands.
#[derive(Debug)]
struct Feed {
    telling: Telling,
    chunks: Chunks,
    alarm: Alarm,
    words: Vec<Word>,
    has_ended: bool,
}

impl Feed {
    /// Adds the first words to `out`, or nothing if they take long.
    async fn first_words(&mut self, out: &mut Vec<u8>) -> Result<(), Fault> {
        let before = out.len();
        while out.len() == before && !self.has_ended {
            let said = self.telling.next(&mut self.alarm, &mut self.words).await;
            let said = match said {
                // Nothing was sent yet, so it is not too late for a status.
                Err(fault) if self.words.is_empty() => return Err(fault),
                said => said,
            };
            if matches!(said, Ok(Said::Silence)) {
                return Ok(());
            }
            self.write(said, out);
        }
        Ok(())
    }

    /// The next bytes; nothing after the end.
    async fn piece(&mut self) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        while out.is_empty() {
            if self.has_ended {
                return None;
            }
            let said = self.telling.next(&mut self.alarm, &mut self.words).await;
            self.write(said, &mut out);
        }
        Some(out)
    }

    fn write(&mut self, said: Result<Said, Fault>, out: &mut Vec<u8>) {
        for word in self.words.drain(..) {
            match word {
                Word::Text(text) => self.chunks.text(out, &text),
                Word::Thinking(text) => self.chunks.thinking(out, &text),
                Word::AskStatus => {}
            }
        }
        match said {
            Ok(Said::More) => {}
            Ok(Said::Silence) => out.extend_from_slice(KEEP_ALIVE),
            Ok(Said::End(reply)) => {
                self.has_ended = true;
                self.chunks.end(out, &reply);
            }
            Err(fault) => {
                self.has_ended = true;
                tracing::debug!("a stream failed: {}", fault.message);
                chunk::failure(out, &fault);
            }
        }
    }
}
