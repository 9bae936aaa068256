//! The events of an answer, as they come. Invariant: silence, size and a cut each end it with an
//! error of their own; a clean end is `None`.

use crate::NetError;
use crate::http::Response;
use crate::sse::{SseEvent, SseParser};
use std::collections::VecDeque;
use std::time::Duration;

/// What a stream may take.
#[derive(Clone, Copy, Debug)]
pub struct StreamBounds {
    /// The longest silence between two pieces.
    pub idle: Duration,
    /// All bytes together.
    pub total_bytes_max: usize,
}

/// Reads events; dropping it closes the connection.
#[derive(Debug)]
pub struct SseReader {
    response: Response,
    bounds: StreamBounds,
    parser: SseParser,
    ready: VecDeque<SseEvent>,
    /// What ended the stream, told after the events that came before it.
    ended: Option<Result<(), NetError>>,
    taken_bytes: usize,
}

impl SseReader {
    pub(crate) fn new(response: Response, bounds: StreamBounds) -> SseReader {
        SseReader {
            response,
            bounds,
            parser: SseParser::default(),
            ready: VecDeque::new(),
            ended: None,
            taken_bytes: 0,
        }
    }

    /// The next event; none at a clean end.
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

    /// Reads on to the end of a stream of which nothing more is wanted, if that is near: a
    /// connection that came to its end can carry the next request.
    pub async fn settle(mut self, patience: Duration) {
        let rest = async { while let Ok(Some(_)) = self.next().await {} };
        let _ = tokio::time::timeout(patience, rest).await;
    }

    /// Bytes that came so far.
    pub fn taken_bytes(&self) -> usize {
        self.taken_bytes
    }

    fn take(&mut self, bytes: &[u8]) {
        self.taken_bytes = self.taken_bytes.saturating_add(bytes.len());
        let host = self.response.host();
        if self.taken_bytes > self.bounds.total_bytes_max {
            self.ended = Some(Err(NetError::TooLarge {
                host: host.to_owned(),
                bytes_max: self.bounds.total_bytes_max,
            }));
        } else if let Err(fault) = self.parser.push(bytes, &mut self.ready) {
            self.ended = Some(Err(NetError::of_stream(host, fault)));
        }
    }
}
