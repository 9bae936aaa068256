//! A connection from outside: frames in by [`Link`], frames out by [`Outlet`].

use crate::peer::Closed;
use bytes::Bytes;
use hob_wire::WireError;

/// Where a connection's frames come in. Dropping it closes the link.
#[derive(Debug)]
pub struct Link {}

impl Link {
    /// Takes one frame, as its transport received it.
    pub async fn receive(&self, frame: Bytes) {
        let _ = frame;
    }

    pub fn id(&self) -> u64 {
        0
    }

    pub fn close(&self) {}

    /// Answers a message that is no frame at all, such as a binary one: `error` under the id
    /// `unknown`.
    pub fn refuse(&self, error: &WireError) {
        let _ = error;
    }

    /// Ends as soon as the link is closed by either side, while frames may still wait in its
    /// outlet: a transport whose peer does not read cannot wait for those.
    pub async fn closed(&self) -> Closed {
        std::future::pending().await
    }
}

/// Where a connection's frames go out.
#[derive(Debug)]
pub struct Outlet {}

impl Outlet {
    /// Waits for frames and adds them to `into`; `Some` once the link is closed and all its frames
    /// were taken.
    pub async fn next(&mut self, into: &mut Vec<Bytes>) -> Option<Closed> {
        let _ = into;
        Some(Closed::Normal)
    }
}
