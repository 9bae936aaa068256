//! Reads the events of a response as they arrive. Invariant: an idle timeout, an exceeded size and
//! a lost connection each end it with their own error; a clean end is `None`.

use crate::NetError;
use crate::http_client::HttpResponse;
use crate::sse::{SseEvent, SseParser};
use std::collections::VecDeque;
use std::time::Duration;

/// The bounds of a stream.
#[derive(Clone, Copy, Debug)]
pub struct StreamBounds {
    /// The longest time between two chunks.
    pub idle: Duration,
    /// The bound for all bytes together.
    pub total_bytes_max: usize,
}

/// Reads events; dropping it closes the connection.
#[derive(Debug)]
pub struct SseReader {
    response: HttpResponse,
    bounds: StreamBounds,
    parser: SseParser,
    ready: VecDeque<SseEvent>,
    /// The end of the stream. Returned after the events that came before it.
    ended: Option<Result<(), NetError>>,
    received_bytes: usize,
}

impl SseReader {
    pub(crate) fn new(response: HttpResponse, bounds: StreamBounds) -> SseReader {
        SseReader {
            response,
            bounds,
            parser: SseParser::default(),
            ready: VecDeque::new(),
            ended: None,
            received_bytes: 0,
        }
    }

    /// Waits for the next event; `None` at a clean end.
    pub async fn next(&mut self) -> Result<Option<SseEvent>, NetError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            if let Some(ended) = &self.ended {
                return ended.clone().map(|()| None);
            }
            match self.response.chunk(self.bounds.idle).await {
                Ok(Some(bytes)) => self.take(&bytes),
                Ok(None) => self.ended = Some(Ok(())),
                Err(failure) => self.ended = Some(Err(failure)),
            }
        }
    }

    /// Reads a stream to its end without using the events, for at most `limit`. A connection that
    /// reached the end of its response can be reused.
    pub async fn drain(mut self, limit: Duration) {
        let rest = async { while let Ok(Some(_)) = self.next().await {} };
        let _ = tokio::time::timeout(limit, rest).await;
    }

    /// The number of bytes received so far.
    pub fn received_bytes(&self) -> usize {
        self.received_bytes
    }

    fn take(&mut self, bytes: &[u8]) {
        self.received_bytes = self.received_bytes.saturating_add(bytes.len());
        let host = self.response.host();
        if self.received_bytes > self.bounds.total_bytes_max {
            self.ended = Some(Err(NetError::TooLarge {
                host: host.to_owned(),
                bytes_max: self.bounds.total_bytes_max,
            }));
        } else if let Err(fault) = self.parser.push(bytes, &mut self.ready) {
            self.ended = Some(Err(NetError::of_stream(host, fault)));
        }
    }
}
