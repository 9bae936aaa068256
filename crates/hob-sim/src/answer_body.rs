//! The response body: sends frame by frame, each token at its time, up to the end or the fault.
//!
//! Invariants: the k-th token is due at `begun + k * every` however late earlier ones were,
//! so a paced stream does not drift; a frame that is due alone leaves in one write.

use crate::answer::{Answer, AnswerHold, Gate};
use crate::draft::{STAMP, StreamFrame};
use crate::fault::Fault;
use crate::pacer::AnswerClock;
use crate::sim::StreamGuard;
use bytes::{Bytes, BytesMut};
use hyper::body::{Body, Frame as BodyFrame, SizeHint};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};

/// The body of an answer.
pub(crate) struct AnswerBody {
    frames: Vec<StreamFrame>,
    /// The frame that is next.
    at: usize,
    tokens: u32,
    /// When the first token left.
    begun: Option<Instant>,
    every: Duration,
    /// The frame to repeat from after the last one, for an endless answer.
    again: Option<usize>,
    /// The content length; without one the body is chunked.
    length: Option<u64>,
    /// Bytes left before the connection is cut.
    left: Option<usize>,
    cut: bool,
    /// Tokens after which nothing comes.
    stall: Option<u32>,
    hold: Option<(u32, Gate)>,
    /// The time and waker registered with the pacer.
    awaited: Option<(Instant, Waker)>,
    wait: Option<WaitFuture>,
    time: AnswerClock,
    watch: StreamGuard,
}

type WaitFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The server breaks the connection off.
#[derive(Debug)]
pub(crate) struct ConnectionCut;

impl fmt::Display for ConnectionCut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the script cuts the connection here")
    }
}

impl std::error::Error for ConnectionCut {}

impl AnswerBody {
    /// A body that is known as a whole.
    pub(crate) fn whole(
        bytes: impl Into<Bytes>,
        time: &AnswerClock,
        watch: StreamGuard,
    ) -> AnswerBody {
        let bytes = bytes.into();
        let length = u64::try_from(bytes.len()).ok();
        let mut feed = AnswerBody::new(vec![StreamFrame::around(bytes)], time, watch);
        feed.length = length;
        feed
    }

    /// A body of frames, sent as they come.
    pub(crate) fn new(
        frames: Vec<StreamFrame>,
        time: &AnswerClock,
        watch: StreamGuard,
    ) -> AnswerBody {
        AnswerBody {
            frames,
            at: 0,
            tokens: 0,
            begun: None,
            every: Duration::ZERO,
            again: None,
            length: None,
            left: None,
            cut: false,
            stall: None,
            hold: None,
            awaited: None,
            wait: None,
            time: time.clone(),
            watch,
        }
    }

    /// Applies the answer's pace, its gate, and the faults of timing and length.
    #[must_use]
    pub(crate) fn under(mut self, answer: &Answer) -> AnswerBody {
        self.every = answer.pace.every;
        if let Some(AnswerHold { gate, after }) = &answer.held
            && let Some(after) = after
        {
            self.hold = Some((count(*after), gate.clone()));
        }
        match answer.fault {
            Some(Fault::CutAt(bytes)) => self.left = Some(bytes),
            Some(Fault::Drip { every }) => self.every = every,
            Some(Fault::StallAfter(tokens)) => self.stall = Some(count(tokens)),
            Some(Fault::Silence { .. }) => self.stall = Some(0),
            Some(Fault::Endless) => {
                let first = self.frames.iter().position(|frame| frame.token);
                self.again = first;
                self.length = None;
            }
            _ => {}
        }
        self
    }

    /// True if every frame was sent.
    fn is_over(&self) -> bool {
        self.at >= self.frames.len() && self.again.is_none() && !self.cut && self.stall.is_none()
    }

    /// Returns the wait before the next frame, if any.
    fn obstacle(&mut self) -> Option<WaitFuture> {
        if self.stall.is_some_and(|stall| self.tokens >= stall) {
            return Some(Box::pin(std::future::pending()));
        }
        if self
            .hold
            .as_ref()
            .is_some_and(|(after, _)| self.tokens >= *after)
        {
            let (_, gate) = self.hold.take()?;
            return Some(Box::pin(gate.pass()));
        }
        None
    }

    /// Waits until the next token is due.
    fn poll_due(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.every.is_zero() {
            return Poll::Ready(());
        }
        let begun = *self.begun.get_or_insert_with(Instant::now);
        let due = begun + self.every.saturating_mul(self.tokens);
        if Instant::now() >= due {
            return Poll::Ready(());
        }
        // hyper polls the body more often than needed; register each wake-up only once.
        let asked = self
            .awaited
            .as_ref()
            .is_some_and(|(at, waker)| *at == due && waker.will_wake(cx.waker()));
        if !asked {
            self.time.pacer.wake_at(due, cx.waker().clone());
            self.awaited = Some((due, cx.waker().clone()));
        }
        Poll::Pending
    }

    /// Returns the bytes of the next frame, stamped, and truncated at the scripted cut.
    fn take(&mut self) -> Bytes {
        let Some(frame) = self.frames.get(self.at) else {
            return Bytes::new();
        };
        let mut bytes = match frame.stamp {
            Some(stamp) => stamped(&frame.bytes, stamp, self.time.clock.monotonic_us()),
            None => frame.bytes.clone(),
        };
        self.tokens = self.tokens.saturating_add(u32::from(frame.token));
        self.at += 1;
        if let Some(left) = &mut self.left {
            if bytes.len() >= *left {
                bytes.truncate(*left);
                self.cut = true;
                self.watch.done();
                // Yield once, so that hyper flushes the bytes before the connection closes.
                self.wait = Some(Box::pin(tokio::task::yield_now()));
            }
            *left -= bytes.len();
        }
        if self.is_over() {
            self.watch.done();
        }
        bytes
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = ConnectionCut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<BodyFrame<Bytes>, ConnectionCut>>> {
        loop {
            if let Some(wait) = &mut self.wait {
                ready!(wait.as_mut().poll(cx));
                self.wait = None;
            }
            if self.cut {
                return Poll::Ready(Some(Err(ConnectionCut)));
            }
            if let Some(obstacle) = self.obstacle() {
                self.wait = Some(obstacle);
                continue;
            }
            if self.at >= self.frames.len() {
                let Some(again) = self.again else {
                    return Poll::Ready(None);
                };
                self.at = again;
            }
            let is_token = self.frames.get(self.at).is_some_and(|frame| frame.token);
            if is_token {
                ready!(self.poll_due(cx));
            }
            let bytes = self.take();
            if !bytes.is_empty() {
                return Poll::Ready(Some(Ok(BodyFrame::data(bytes))));
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.is_over()
    }

    fn size_hint(&self) -> SizeHint {
        self.length
            .map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

fn stamped(bytes: &Bytes, at: usize, now_us: u64) -> Bytes {
    let mut bytes = BytesMut::from(bytes.as_ref());
    let digits = format!("{now_us:0width$}", width = STAMP.len());
    if let Some(place) = bytes.get_mut(at..at + STAMP.len())
        && digits.len() == STAMP.len()
    {
        place.copy_from_slice(digits.as_bytes());
    }
    bytes.freeze()
}

fn count(tokens: usize) -> u32 {
    u32::try_from(tokens).unwrap_or(u32::MAX)
}
