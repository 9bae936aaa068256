//! A stream whose writes time out. Without it, a peer that stops reading would keep its connection,
//! and the run behind it, for ever.
//!
//! Invariant: the timeout runs only while bytes wait and the peer accepts none.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

#[derive(Debug)]
pub(crate) struct WriteTimeoutStream<S> {
    stream: S,
    wait_max: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteTimeoutStream<S> {
    pub(crate) fn new(stream: S, wait_max: Duration) -> Self {
        WriteTimeoutStream {
            stream,
            wait_max,
            stalled: None,
        }
    }

    /// Returns the inner stream, for a protocol with its own timeouts.
    pub(crate) fn into_inner(self) -> S {
        self.stream
    }

    /// Passes a write's result on, or fails it if the peer accepted nothing in time.
    fn with_timeout<T>(
        &mut self,
        wrote: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if wrote.is_ready() {
            self.stalled = None;
            return wrote;
        }
        let wait_max = self.wait_max;
        // The timer is created at the first stall: most writes succeed at once and need none.
        let stalled = self
            .stalled
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(wait_max)));
        stalled.as_mut().poll(context).map(|()| {
            let message = "the peer does not read";
            Err(io::Error::new(io::ErrorKind::TimedOut, message))
        })
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeoutStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // Reads have no timeout here: an idle peer is legitimate, and the HTTP layer limits heads.
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeoutStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.with_timeout(wrote, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.with_timeout(wrote, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.with_timeout(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
#[path = "write_timeout_tests.rs"]
mod tests;
