//! One connection: reads a document, answers it, and closes; or goes on, for a client that asks to
//! keep the connection or has sent more already.
//!
//! Invariants: a document is whole within its bytes and its time or its sender is told so; answers
//! come in the order of their requests; what a client sent is read before the connection ends, so
//! that it reads the answer and not a reset.

use crate::archy::actions;
use crate::archy::client::{Client, Failure};
use crate::archy::framing::Framing;
use crate::settings;
use crate::shared::Shared;
use bytes::{Buf, BufMut, BytesMut};
use hob_bus::Caller;
use hob_wire::archy::{
    Answer, CONNECTION_TIMEOUT, EMPTY_REQUEST, REQUEST_TOO_LARGE, Request, Response,
};
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::{Instant, timeout, timeout_at};

/// Time for one request to come whole, and for one answer to be taken.
const PATIENCE: Duration = Duration::from_secs(30);
const READ_BYTES: usize = 8 * 1024;
/// Time that a peer has to read the last answer and close.
const PARTING: Duration = Duration::from_secs(1);

/// Answers what comes on `stream` until it ends.
pub(crate) async fn hold(stream: UnixStream, caller: &Caller, shared: &Shared) {
    let mut talk = Talk {
        stream,
        buffer: BytesMut::new(),
        ended: false,
        answered: 0,
    };
    if talk.go_on(caller, shared).await.is_some() {
        talk.part().await;
    }
}

struct Talk {
    stream: UnixStream,
    /// What was read and belongs to no request yet.
    buffer: BytesMut,
    /// Whether the peer sends no more.
    ended: bool,
    answered: u64,
}

/// What came.
enum Came {
    Request(Request),
    /// Nothing more, from a peer that was answered before.
    Nothing,
    /// What its sender is told.
    Wrong(String),
}

impl Talk {
    /// None when the peer is gone, or hob goes, and there is no farewell.
    async fn go_on(&mut self, caller: &Caller, shared: &Shared) -> Option<()> {
        loop {
            let request = tokio::select! {
                came = self.next(shared) => match came.ok()? {
                    Came::Request(request) => request,
                    Came::Nothing => return Some(()),
                    Came::Wrong(why) => {
                        let wrong = Response::failed(why).into();
                        return self.say(&wrong, false).await;
                    }
                },
                () = shared.accepting.cancelled() => return None,
            };
            let keep = request.keep;
            let client = Client::new(caller, shared, &self.stream);
            let answer = match actions::answer(&client, request).await {
                Ok(answer) => answer,
                Err(Failure::Said(why)) => Response::failed(why).into(),
                Err(Failure::Gone) => return None,
            };
            let more = keep || self.has_more();
            self.say(&answer, more).await?;
            if !more {
                return Some(());
            }
        }
    }

    /// The next request. May be dropped while it waits.
    async fn next(&mut self, shared: &Shared) -> io::Result<Came> {
        let bytes_max = settings::archy_request_bytes(&shared.settings.borrow());
        let until = Instant::now() + PATIENCE;
        let mut framing = Framing::default();
        let mut judged = 0;
        loop {
            self.skip_blanks();
            if let Some(end) = framing.find(&self.buffer) {
                return Ok(self.take(end, bytes_max));
            }
            if self.buffer.len() > bytes_max {
                return Ok(Came::Wrong(REQUEST_TOO_LARGE.to_owned()));
            }
            // What can become no request is told at once, without reading it again for each byte.
            if self.buffer.len() >= 2 * judged {
                judged = self.buffer.len();
                if let Some(why) = never_a_request(&self.buffer) {
                    return Ok(Came::Wrong(why));
                }
            }
            if self.ended {
                return Ok(self.unfinished());
            }
            match timeout_at(until, self.read()).await {
                Ok(read) => self.ended = read? == 0,
                Err(_) if self.buffer.is_empty() && self.answered == 0 => {
                    return Ok(Came::Wrong(CONNECTION_TIMEOUT.to_owned()));
                }
                Err(_) => return Ok(self.unfinished()),
            }
        }
    }

    async fn read(&mut self) -> io::Result<usize> {
        let mut room = (&mut self.buffer).limit(READ_BYTES);
        self.stream.read_buf(&mut room).await
    }

    fn take(&mut self, end: usize, bytes_max: usize) -> Came {
        if end > bytes_max {
            return Came::Wrong(REQUEST_TOO_LARGE.to_owned());
        }
        let document = self.buffer.split_to(end);
        if document.first() != Some(&b'{') {
            return Came::Wrong(invalid("a request is an object"));
        }
        match serde_json::from_slice(&document) {
            Ok(request) => Came::Request(request),
            Err(error) => Came::Wrong(invalid(error)),
        }
    }

    /// What there is when no more will come.
    fn unfinished(&self) -> Came {
        if !self.buffer.is_empty() {
            let cut = serde_json::from_slice::<Request>(&self.buffer).err();
            let cut = cut.map_or_else(String::new, |error| error.to_string());
            return Came::Wrong(invalid(cut));
        }
        if self.answered > 0 {
            return Came::Nothing;
        }
        Came::Wrong(EMPTY_REQUEST.to_owned())
    }

    fn skip_blanks(&mut self) {
        let blanks = self.buffer.iter().take_while(|it| it.is_ascii_whitespace());
        let blanks = blanks.count();
        self.buffer.advance(blanks);
    }

    /// Whether the peer has sent more than the request that was answered.
    fn has_more(&mut self) -> bool {
        let mut room = (&mut self.buffer).limit(READ_BYTES);
        let read = self.stream.try_read_buf(&mut room);
        self.ended |= matches!(read, Ok(0));
        self.skip_blanks();
        !self.buffer.is_empty()
    }

    /// Where a connection goes on, each answer is a line; one alone is as Archy's own.
    async fn say(&mut self, answer: &Answer, more: bool) -> Option<()> {
        let mut bytes = serde_json::to_vec(answer).ok()?;
        if more || self.answered > 0 {
            bytes.push(b'\n');
        }
        self.answered += 1;
        let written = timeout(PATIENCE, self.stream.write_all(&bytes)).await;
        written.ok()?.ok()
    }

    /// Says that no more comes, and reads what the peer still sends.
    async fn part(&mut self) {
        let parting = async {
            self.stream.shutdown().await?;
            let mut thrown_away = [0; READ_BYTES];
            while !self.ended && self.stream.read(&mut thrown_away).await? > 0 {}
            Ok::<(), io::Error>(())
        };
        let _ = timeout(PARTING, parting).await;
    }
}

/// Why these bytes can begin no request, whatever follows.
fn never_a_request(bytes: &[u8]) -> Option<String> {
    if bytes.is_empty() {
        return None;
    }
    let error = serde_json::from_slice::<Request>(bytes).err()?;
    (!error.is_eof()).then(|| invalid(error))
}

fn invalid(why: impl std::fmt::Display) -> String {
    format!("Invalid JSON: {why}")
}
