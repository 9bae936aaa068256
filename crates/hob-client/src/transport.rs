//! [`FrameTransport`]: frames as lines on a unix socket, or as text messages on a WebSocket.
//!
//! [`FrameTransport::next`] reads and writes at the same time, so that two peers that both write
//! cannot block each other. `next` is cancel safe: it may be dropped at any await without losing a
//! byte.

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
/// The time without a WebSocket message after which a ping is sent. After the same time without an
/// answer the connection counts as lost.
const PING_AFTER: Duration = Duration::from_millis(PING_INTERVAL_MS);

pub(crate) enum FrameTransport {
    Lines(Box<LineTransport>),
    WebSocket(Box<WebSocketTransport>),
}

impl FrameTransport {
    pub(crate) fn unix(stream: UnixStream) -> Self {
        FrameTransport::Lines(Box::new(LineTransport {
            stream,
            inbox: BytesMut::new(),
            scanned: 0,
            outbox: BytesMut::new(),
            scratch: vec![0; READ_BYTES],
        }))
    }

    pub(crate) fn web_socket(stream: WebSocketStream<TcpStream>) -> Self {
        FrameTransport::WebSocket(Box::new(WebSocketTransport {
            stream,
            outbox: VecDeque::new(),
            outbox_bytes: 0,
            last_received_at: Instant::now(),
            ping_pending: false,
        }))
    }

    /// Adds a frame to the outbox. [`FrameTransport::next`] and [`FrameTransport::flush`] write it.
    pub(crate) fn queue(&mut self, frame: Vec<u8>) {
        match self {
            FrameTransport::Lines(lines) => lines.queue(frame),
            FrameTransport::WebSocket(socket) => socket.queue(frame),
        }
    }

    /// Returns the number of bytes in the outbox.
    pub(crate) fn queued_bytes(&self) -> usize {
        match self {
            FrameTransport::Lines(lines) => lines.outbox.len(),
            FrameTransport::WebSocket(socket) => socket.outbox_bytes,
        }
    }

    /// Returns the next frame. Writes queued frames meanwhile. An error means that the connection
    /// is lost.
    pub(crate) async fn next(&mut self) -> io::Result<Bytes> {
        match self {
            FrameTransport::Lines(lines) => poll_fn(|cx| lines.poll_next(cx)).await,
            FrameTransport::WebSocket(socket) => socket.next().await,
        }
    }

    /// Writes all queued frames.
    pub(crate) async fn flush(&mut self) -> io::Result<()> {
        match self {
            FrameTransport::Lines(lines) => poll_fn(|cx| lines.poll_write(cx)).await,
            FrameTransport::WebSocket(socket) => poll_fn(|cx| socket.poll_write(cx)).await,
        }
    }
}

pub(crate) struct LineTransport {
    stream: UnixStream,
    inbox: BytesMut,
    /// The length of the start of `inbox` that contains no line break.
    scanned: usize,
    outbox: BytesMut,
    scratch: Vec<u8>,
}

impl LineTransport {
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
        // A write error is returned only after reading: a peer that has closed may have sent frames
        // that are still unread.
        let write = self.poll_write(cx);
        loop {
            if let Some(line) = self.take_line() {
                return Poll::Ready(Ok(line));
            }
            // Without this check a peer that never ends its line would use up the memory.
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
            let fresh = &self.inbox[self.scanned..];
            let Some(offset) = fresh.iter().position(|byte| *byte == b'\n') else {
                self.scanned = self.inbox.len();
                return None;
            };
            let line = self.inbox.split_to(self.scanned + offset + 1).freeze();
            self.scanned = 0;
            let end = line.len() - 1;
            if end > 0 {
                return Some(line.slice(..end));
            }
        }
    }
}

pub(crate) struct WebSocketTransport {
    stream: WebSocketStream<TcpStream>,
    outbox: VecDeque<Message>,
    outbox_bytes: usize,
    last_received_at: Instant,
    /// True while a ping is unanswered.
    ping_pending: bool,
}

impl WebSocketTransport {
    fn queue(&mut self, frame: Vec<u8>) {
        self.outbox_bytes += frame.len();
        // Frames are JSON text, so this conversion always succeeds.
        let text = String::from_utf8(frame)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        self.outbox.push_back(Message::text(text));
    }

    async fn next(&mut self) -> io::Result<Bytes> {
        loop {
            let deadline = self.last_received_at + PING_AFTER;
            let message = tokio::select! {
                message = poll_fn(|cx| self.poll_message(cx)) => message?,
                () = tokio::time::sleep_until(deadline) => {
                    if self.ping_pending {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                    self.ping_pending = true;
                    self.last_received_at = Instant::now();
                    self.outbox.push_back(Message::Ping(Bytes::new()));
                    continue;
                }
            };
            self.last_received_at = Instant::now();
            self.ping_pending = false;
            match message {
                Message::Text(text) => return Ok(text.into()),
                Message::Close(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
                // The wire uses text messages only. Tungstenite answers pings by itself.
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
