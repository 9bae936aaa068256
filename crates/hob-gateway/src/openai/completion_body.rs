//! The HTTP body of a streamed completion.
//!
//! Its connection polls the body, and the body reads the bus itself: no task and no queue lie
//! between a delta and the socket. A client that pauses therefore blocks only its own stream. The
//! outbox of its bus link bounds what waits meanwhile.

use crate::event_stream;
use crate::openai::chunk_builder::AnswerChunk;
use crate::openai::chunk_encoder::{self, ChunkEncoder, KEEP_ALIVE};
use crate::openai::completion_stream::{CompletionEvent, CompletionStream};
use crate::openai::error::OpenaiError;
use crate::openai::silence_timer::SilenceTimer;
use axum::body::Body;
use axum::http::Response;
use std::time::Duration;

/// Time to wait for the first chunk before the head is sent without it. Until then a failure can
/// still be an HTTP status.
const HEAD_MS_MAX: u64 = 15_000;
/// Time between two keep-alives while the model is silent.
const KEEP_ALIVE_MS: u64 = 10_000;

/// Builds the response. It waits for the first chunks, so that an early failure becomes a status.
pub(crate) async fn respond(
    completion: CompletionStream,
    encoder: ChunkEncoder,
) -> Result<Response<Body>, OpenaiError> {
    let mut body = CompletionBody {
        completion,
        encoder,
        timer: SilenceTimer::new(Duration::from_millis(HEAD_MS_MAX)),
        chunks: Vec::new(),
        has_ended: false,
    };
    let mut first = Vec::new();
    body.encoder.write_role(&mut first);
    body.first_chunks(&mut first).await?;
    // From here on a silent stream sends keep-alives, more often than the first wait.
    body.timer = SilenceTimer::new(Duration::from_millis(KEEP_ALIVE_MS));
    let others = futures_util::stream::unfold(body, async |mut body| {
        let piece = body.next_bytes().await?;
        Some((piece, body))
    });
    Ok(event_stream::respond(first, others))
}

/// The state of a streamed body.
#[derive(Debug)]
struct CompletionBody {
    completion: CompletionStream,
    encoder: ChunkEncoder,
    timer: SilenceTimer,
    chunks: Vec<AnswerChunk>,
    has_ended: bool,
}

impl CompletionBody {
    /// Appends the first chunks to `out`, or nothing if they take too long.
    async fn first_chunks(&mut self, out: &mut Vec<u8>) -> Result<(), OpenaiError> {
        let before = out.len();
        while out.len() == before && !self.has_ended {
            let event = self
                .completion
                .next(&mut self.timer, &mut self.chunks)
                .await;
            let event = match event {
                // Nothing was sent yet, so the error can still be a status.
                Err(error) if self.chunks.is_empty() => return Err(error),
                event => event,
            };
            if matches!(event, Ok(CompletionEvent::Silence)) {
                return Ok(());
            }
            self.write(event, out);
        }
        Ok(())
    }

    /// Returns the next bytes; `None` after the end.
    async fn next_bytes(&mut self) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        while out.is_empty() {
            if self.has_ended {
                return None;
            }
            let event = self
                .completion
                .next(&mut self.timer, &mut self.chunks)
                .await;
            self.write(event, &mut out);
        }
        Some(out)
    }

    fn write(&mut self, event: Result<CompletionEvent, OpenaiError>, out: &mut Vec<u8>) {
        for chunk in self.chunks.drain(..) {
            match chunk {
                AnswerChunk::Text(text) => self.encoder.write_text(out, &text),
                AnswerChunk::Thinking(text) => self.encoder.write_thinking(out, &text),
                // The completion stream has already asked for the status.
                AnswerChunk::AskStatus => {}
            }
        }
        match event {
            Ok(CompletionEvent::More) => {}
            Ok(CompletionEvent::Silence) => out.extend_from_slice(KEEP_ALIVE),
            Ok(CompletionEvent::End(reply)) => {
                self.has_ended = true;
                self.encoder.write_end(out, &reply);
            }
            Err(error) => {
                self.has_ended = true;
                tracing::debug!("a stream failed: {}", error.message);
                chunk_encoder::write_error(out, &error);
            }
        }
    }
}
