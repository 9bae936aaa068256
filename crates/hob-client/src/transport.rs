//! Frames over a byte stream: canonical lines on a unix socket, text messages on a WebSocket.
//!
//! Reading and writing make progress together inside [`Transport::next`], so a peer that is busy
//! writing to us can never wait for us while we wait for it. `next` may be dropped at any await
//! without losing a byte.

use bytes::{Buf, Bytes, BytesMut};
use futures_util::{SinkExt, StreamExt};
use hob_wire::frame::flatten_line_breaks;
use hob_wire::limits::{FRAME_BYTES_MAX, PING_INTERVAL_MS};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::Instant;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{Error as WsError, Message};

/// Bytes read from a socket at once.
const READ_BYTES: usize = 64 * 1024;
/// Silence on a WebSocket after which we ask whether the peer is still there; the same again
/// without a sign of life and it counts as lost.
const SILENCE: Duration = Duration::from_millis(PING_INTERVAL_MS);

pub(crate) enum Transport {
    Lines(Box<Lines>),
    WebSocket(Box<Messages>),
}

impl Transport {
    pub(crate) fn unix(stream: UnixStream) -> Self {
        Transport::Lines(Box::new(Lines {
            stream,
            inbox: BytesMut::new(),
            searched: 0,
            outbox: BytesMut::new(),
            scratch: vec![0; READ_BYTES],
        }))
    }

    pub(crate) fn web_socket(stream: WebSocketStream<TcpStream>) -> Self {
        Transport::WebSocket(Box::new(Messages {
            stream,
            outbox: VecDeque::new(),
            outbox_bytes: 0,
            heard_at: Instant::now(),
            asked: false,
        }))
    }

    /// Puts a frame into the outbox; [`Transport::next`] and [`Transport::flush`] write it.
    pub(crate) fn queue(&mut self, frame: Vec<u8>) {
        match self {
            Transport::Lines(lines) => lines.queue(frame),
            Transport::WebSocket(messages) => messages.queue(frame),
        }
    }

    /// Bytes waiting in the outbox.
    pub(crate) fn queued_bytes(&self) -> usize {
        match self {
            Transport::Lines(lines) => lines.outbox.len(),
            Transport::WebSocket(messages) => messages.outbox_bytes,
        }
    }

    /// The next frame; writes what is queued meanwhile. An error means that the connection is
    /// gone.
    pub(crate) async fn next(&mut self) -> io::Result<Bytes> {
        match self {
            Transport::Lines(lines) => poll_fn(|cx| lines.poll_next(cx)).await,
            Transport::WebSocket(messages) => messages.next().await,
        }
    }

    /// Writes everything queued.
    pub(crate) async fn flush(&mut self) -> io::Result<()> {
        match self {
            Transport::Lines(lines) => poll_fn(|cx| lines.poll_write(cx)).await,
            Transport::WebSocket(messages) => poll_fn(|cx| messages.poll_write(cx)).await,
        }
    }
}

pub(crate) struct Lines {
    stream: UnixStream,
    inbox: BytesMut,
    /// How much of `inbox` is known to hold no line break.
    searched: usize,
    outbox: BytesMut,
    scratch: Vec<u8>,
}

impl Lines {
    fn queue(&mut self, mut frame: Vec<u8>) {
        flatten_line_breaks(&mut frame);
        self.outbox.extend_from_slice(&frame);
        self.outbox.extend_from_slice(b"\n");
    }

    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.outbox.is_empty() {
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, &self.outbox))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.outbox.advance(written);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        // A peer that closed after its last word is still read to the end.
        let write = self.poll_write(cx);
        loop {
            if let Some(line) = self.take_line() {
                return Poll::Ready(Ok(line));
            }
            if self.inbox.len() > FRAME_BYTES_MAX {
                return Poll::Ready(Err(too_large()));
            }
            let mut buffer = ReadBuf::new(&mut self.scratch);
            match Pin::new(&mut self.stream).poll_read(cx, &mut buffer) {
                Poll::Ready(Ok(())) if buffer.filled().is_empty() => {
                    return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
                }
                Poll::Ready(Ok(())) => self.inbox.extend_from_slice(buffer.filled()),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => break,
            }
        }
        match write {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            _ => Poll::Pending,
        }
    }

    fn take_line(&mut self) -> Option<Bytes> {
        loop {
            let fresh = &self.inbox[self.searched..];
            let Some(offset) = fresh.iter().position(|byte| *byte == b'\n') else {
                self.searched = self.inbox.len();
                return None;
            };
            let line = self.inbox.split_to(self.searched + offset + 1).freeze();
            self.searched = 0;
            let end = line.len() - 1;
            if end > 0 {
                return Some(line.slice(..end));
            }
        }
    }
}

pub(crate) struct Messages {
    stream: WebSocketStream<TcpStream>,
    outbox: VecDeque<Message>,
    outbox_bytes: usize,
    heard_at: Instant,
    /// Whether a ping of ours is out.
    asked: bool,
}

impl Messages {
    fn queue(&mut self, frame: Vec<u8>) {
        self.outbox_bytes += frame.len();
        // Frames are built from JSON text, so this conversion never falls back.
        let text = String::from_utf8(frame)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        self.outbox.push_back(Message::text(text));
    }

    async fn next(&mut self) -> io::Result<Bytes> {
        loop {
            let deadline = self.heard_at + SILENCE;
            let message = tokio::select! {
                message = poll_fn(|cx| self.poll_message(cx)) => message?,
                () = tokio::time::sleep_until(deadline) => {
                    if self.asked {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                    self.asked = true;
                    self.heard_at = Instant::now();
                    self.outbox.push_back(Message::Ping(Bytes::new()));
                    continue;
                }
            };
            self.heard_at = Instant::now();
            self.asked = false;
            match message {
                Message::Text(text) => return Ok(text.into()),
                Message::Close(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Message::Ping(_) | Message::Pong(_) | Message::Binary(_) | Message::Frame(_) => {}
            }
        }
    }

    fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Message>> {
        let write = self.poll_write(cx);
        match self.stream.poll_next_unpin(cx) {
            Poll::Ready(Some(Ok(message))) => return Poll::Ready(Ok(message)),
            Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(io_error(error))),
            Poll::Ready(None) => return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
            Poll::Pending => {}
        }
        match write {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            _ => Poll::Pending,
        }
    }

    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.outbox.is_empty() {
            ready!(self.stream.poll_ready_unpin(cx)).map_err(io_error)?;
            if let Some(message) = self.outbox.pop_front() {
                self.outbox_bytes -= message_bytes(&message);
                self.stream.start_send_unpin(message).map_err(io_error)?;
            }
        }
        self.stream.poll_flush_unpin(cx).map_err(io_error)
    }
}

fn message_bytes(message: &Message) -> usize {
    match message {
        Message::Text(text) => text.len(),
        _ => 0,
    }
}

fn io_error(error: WsError) -> io::Error {
    match error {
        WsError::Io(error) => error,
        WsError::Capacity(_) => too_large(),
        other => io::Error::other(other),
    }
}

fn too_large() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("a frame is larger than {FRAME_BYTES_MAX} bytes"),
    )
}

#[cfg(test)]
#[path = "transport_tests.rs"]
mod tests;
