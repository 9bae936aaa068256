//! One connection of an Archy client. It reads a request, answers it and closes. It stays open if
//! the client asks for that or has already sent more.
//!
//! Invariants: a request over its size or time limit is answered with an error. Answers come in the
//! order of their requests. Everything that a client sent is read before the connection closes,
//! because unread bytes would reset it before the client has read the answer.

use crate::archy::actions;
use crate::archy::client::{ArchyClient, ArchyFailure};
use crate::archy::framing::JsonFramer;
use crate::archy::settings;
use crate::archy::types::{
    ArchyAnswer, ArchyRequest, ArchyResponse, CONNECTION_TIMEOUT, EMPTY_REQUEST, REQUEST_TOO_LARGE,
};
use bytes::{Buf, BufMut, BytesMut};
use hob_bus::Caller;
use hob_gateway::shared::GatewayShared;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::{Instant, timeout, timeout_at};

/// Time for one request to arrive, and for one answer to be read.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
const READ_BYTES: usize = 8 * 1024;
/// Time for the peer to read the last answer and close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Answers the requests on `stream` until it ends.
pub(crate) async fn serve(stream: UnixStream, caller: Caller, shared: Arc<GatewayShared>) {
    let mut connection = ArchyConnection {
        stream,
        buffer: BytesMut::new(),
        ended: false,
        answered: 0,
    };
    if connection.serve_requests(&caller, &shared).await.is_some() {
        connection.close().await;
    }
}

struct ArchyConnection {
    stream: UnixStream,
    /// Received bytes that belong to no request yet.
    buffer: BytesMut,
    /// The peer has shut down its sending side.
    ended: bool,
    answered: u64,
}

/// The result of reading a request.
enum ArchyInput {
    Request(ArchyRequest),
    /// The peer was answered before and sends no more.
    End,
    /// An invalid request, with the error for its sender.
    Invalid(String),
}

impl ArchyConnection {
    /// Answers requests one by one. Returns `None` if the peer is gone or hob stops, and nothing
    /// more can be sent.
    async fn serve_requests(&mut self, caller: &Caller, shared: &GatewayShared) -> Option<()> {
        loop {
            let request = tokio::select! {
                came = self.next_request(shared) => match came.ok()? {
                    ArchyInput::Request(request) => request,
                    ArchyInput::End => return Some(()),
                    ArchyInput::Invalid(why) => {
                        let wrong = ArchyResponse::failed(why).into();
                        return self.write_answer(&wrong, false).await;
                    }
                },
                () = shared.accepting.cancelled() => return None,
            };
            let keep = request.keep;
            let client = ArchyClient::new(caller, shared, &self.stream);
            let answer = match actions::run_action(&client, request).await {
                Ok(answer) => answer,
                Err(ArchyFailure::Message(why)) => ArchyResponse::failed(why).into(),
                Err(ArchyFailure::Disconnected) => return None,
            };
            // A client that pipelines requests does not say that it keeps the connection.
            let more = keep || self.has_more();
            self.write_answer(&answer, more).await?;
            if !more {
                return Some(());
            }
        }
    }

    /// Reads the next request. Cancel-safe.
    async fn next_request(&mut self, shared: &GatewayShared) -> io::Result<ArchyInput> {
        let bytes_max = settings::request_bytes(&shared.settings.borrow());
        let until = Instant::now() + REQUEST_TIMEOUT;
        let mut framing = JsonFramer::default();
        let mut checked_len = 0;
        loop {
            self.skip_blanks();
            if let Some(end) = framing.find_end(&self.buffer) {
                return Ok(self.take_request(end, bytes_max));
            }
            if self.buffer.len() > bytes_max {
                return Ok(ArchyInput::Invalid(REQUEST_TOO_LARGE.to_owned()));
            }
            // Invalid input is answered at once. The parse is repeated only when the buffer has
            // doubled, so the total work stays linear.
            if self.buffer.len() >= 2 * checked_len {
                checked_len = self.buffer.len();
                if let Some(why) = parse_failure(&self.buffer) {
                    return Ok(ArchyInput::Invalid(why));
                }
            }
            if self.ended {
                return Ok(self.end_of_input());
            }
            match timeout_at(until, self.read()).await {
                Ok(read) => self.ended = read? == 0,
                Err(_) if self.buffer.is_empty() && self.answered == 0 => {
                    return Ok(ArchyInput::Invalid(CONNECTION_TIMEOUT.to_owned()));
                }
                Err(_) => return Ok(self.end_of_input()),
            }
        }
    }

    async fn read(&mut self) -> io::Result<usize> {
        // Read in small pieces, so that the size limit is checked in between.
        let mut room = (&mut self.buffer).limit(READ_BYTES);
        self.stream.read_buf(&mut room).await
    }

    fn take_request(&mut self, end: usize, bytes_max: usize) -> ArchyInput {
        if end > bytes_max {
            return ArchyInput::Invalid(REQUEST_TOO_LARGE.to_owned());
        }
        let document = self.buffer.split_to(end);
        // Serde would accept an array as the fields of the struct, in order.
        if document.first() != Some(&b'{') {
            return ArchyInput::Invalid(invalid_json("a request is an object"));
        }
        match serde_json::from_slice(&document) {
            Ok(request) => ArchyInput::Request(request),
            Err(error) => ArchyInput::Invalid(invalid_json(error)),
        }
    }

    /// The result when no more bytes will come.
    fn end_of_input(&self) -> ArchyInput {
        if !self.buffer.is_empty() {
            let cut = serde_json::from_slice::<ArchyRequest>(&self.buffer).err();
            let cut = cut.map_or_else(String::new, |error| error.to_string());
            return ArchyInput::Invalid(invalid_json(cut));
        }
        if self.answered > 0 {
            return ArchyInput::End;
        }
        ArchyInput::Invalid(EMPTY_REQUEST.to_owned())
    }

    fn skip_blanks(&mut self) {
        let blanks = self.buffer.iter().take_while(|it| it.is_ascii_whitespace());
        let blanks = blanks.count();
        self.buffer.advance(blanks);
    }

    /// Returns true if the peer has sent more than the answered request.
    fn has_more(&mut self) -> bool {
        let mut room = (&mut self.buffer).limit(READ_BYTES);
        let read = self.stream.try_read_buf(&mut room);
        self.ended |= matches!(read, Ok(0));
        self.skip_blanks();
        !self.buffer.is_empty()
    }

    /// Writes an answer. On a connection that stays open each answer is a line; a single answer has
    /// no line break, as with Archy itself.
    async fn write_answer(&mut self, answer: &ArchyAnswer, more: bool) -> Option<()> {
        let mut bytes = serde_json::to_vec(answer).ok()?;
        if more || self.answered > 0 {
            bytes.push(b'\n');
        }
        self.answered += 1;
        let written = timeout(REQUEST_TIMEOUT, self.stream.write_all(&bytes)).await;
        written.ok()?.ok()
    }

    /// Shuts down the sending side and reads what the peer still sends.
    async fn close(&mut self) {
        let parting = async {
            self.stream.shutdown().await?;
            let mut discarded = [0; READ_BYTES];
            while !self.ended && self.stream.read(&mut discarded).await? > 0 {}
            Ok::<(), io::Error>(())
        };
        let _ = timeout(CLOSE_TIMEOUT, parting).await;
    }
}

/// Returns an error if these bytes cannot be the beginning of a request.
fn parse_failure(bytes: &[u8]) -> Option<String> {
    if bytes.is_empty() {
        return None;
    }
    let error = serde_json::from_slice::<ArchyRequest>(bytes).err()?;
    (!error.is_eof()).then(|| invalid_json(error))
}

fn invalid_json(why: impl std::fmt::Display) -> String {
    format!("Invalid JSON: {why}")
}
