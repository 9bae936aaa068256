//! The daemon's side of a child's own network. The listening socket is created inside the child's
//! namespace and sent over a socket pair that exists for this one message.
//!
//! Invariant: a child with such a network either sends its socket before its program runs, or
//! counts as not started.

use crate::child::Child;
use crate::error::ExecError;
use rustix::fd::OwnedFd;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::UnixStream;

/// Time to wait for the socket. A sandbox takes milliseconds; a loaded machine may take longer.
const RECEIVE_TIME_MAX: Duration = Duration::from_secs(20);
/// Time to wait for the error of a child that closed the pair without sending a socket.
const ENDING_TIME_MAX: Duration = Duration::from_secs(5);

/// A listening socket that the child has yet to send.
#[derive(Debug)]
pub(crate) struct PendingListener {
    ours: UnixStream,
    theirs: Option<OwnedFd>,
}

impl PendingListener {
    pub(crate) fn new() -> io::Result<PendingListener> {
        let (ours, theirs) = StdUnixStream::pair()?;
        ours.set_nonblocking(true)?;
        Ok(PendingListener {
            ours: UnixStream::from_std(ours)?,
            theirs: Some(OwnedFd::from(theirs)),
        })
    }

    /// Takes the child's end of the pair.
    pub(crate) fn take_theirs(&mut self) -> Option<OwnedFd> {
        self.theirs.take()
    }

    /// Waits for the socket. Ends the child if it does not arrive.
    pub(crate) async fn receive(self, child: &Child) -> Result<TcpListener, ExecError> {
        let received = tokio::time::timeout(RECEIVE_TIME_MAX, receive(&self.ours)).await;
        let reason = match received {
            Ok(Ok(listener)) => return Ok(listener),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it took too long".to_owned(),
        };
        // The child's own error output explains best why the sandbox failed.
        let ended = match tokio::time::timeout(ENDING_TIME_MAX, child.wait()).await {
            Ok(ended) => ended,
            Err(_) => child.cancel().await,
        };
        let error_output = ended?.stderr.text();
        let reason = if error_output.is_empty() {
            &reason
        } else {
            error_output.trim()
        };
        Err(ExecError::Start(format!(
            "a network of its own cannot be made here: {reason}"
        )))
    }
}

async fn receive(ours: &UnixStream) -> io::Result<TcpListener> {
    let found = ours.async_io(Interest::READABLE, || {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0_u8; 1];
        let mut parts = [IoSliceMut::new(&mut byte)];
        rustix::net::recvmsg(ours, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
        let mut descriptors = ancillary.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
            _ => None,
        });
        Ok(descriptors.next().and_then(|mut all| all.next()))
    });
    let missing = || io::Error::other("its socket was not handed over");
    let listener = TcpListener::from(found.await?.ok_or_else(missing)?);
    // tokio accepts only sockets in non-blocking mode.
    listener.set_nonblocking(true)?;
    Ok(listener)
}
