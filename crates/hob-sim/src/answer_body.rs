//! How an answer's bytes leave: frame by frame, each token at its time, up to its end or its
//! fault.
//!
//! Invariants: the k-th token is due at `begun + k * every` however late the ones before were,
//! so a paced stream does not drift; a frame that is due alone leaves in one write.

use crate::answer::{Answer, Gate, Hold};
use crate::draft::{Frame, STAMP};
use crate::fault::Fault;
use crate::pacer::Time;
use crate::sim::Watch;
use bytes::{Bytes, BytesMut};
use hyper::body::{Body, Frame as BodyFrame, SizeHint};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};

/// The body of an answer.
pub(crate) struct Feed {
    frames: Vec<Frame>,
    /// The frame that is next.
    at: usize,
    tokens: u32,
    /// When the first token left.
    begun: Option<Instant>,
    every: Duration,
    /// Where to go on after the last frame, for words that never end.
    again: Option<usize>,
    /// The length the head promises; without, the body is chunked.
    length: Option<u64>,
    /// Bytes left before the connection is cut.
    left: Option<usize>,
    cut: bool,
    /// Tokens after which nothing comes.
    stall: Option<u32>,
    hold: Option<(u32, Gate)>,
    /// The moment the pacer was asked for, and whom it wakes then.
    awaited: Option<(Instant, Waker)>,
    wait: Option<Wait>,
    time: Time,
    watch: Watch,
}

type Wait = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The server breaks the connection off.
#[derive(Debug)]
pub(crate) struct Cut;

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the script cuts the connection here")
    }
}

impl std::error::Error for Cut {}

impl Feed {
    /// A body that is known as a whole.
    pub(crate) fn whole(bytes: impl Into<Bytes>, time: &Time, watch: Watch) -> Feed {
        let bytes = bytes.into();
        let length = u64::try_from(bytes.len()).ok();
        let mut feed = Feed::new(vec![Frame::around(bytes)], time, watch);
        feed.length = length;
        feed
    }

    /// A body of frames, sent as they come.
    pub(crate) fn new(frames: Vec<Frame>, time: &Time, watch: Watch) -> Feed {
        Feed {
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

    /// Takes on the answer's pace, its gate, and those faults that are a matter of time and bytes.
    #[must_use]
    pub(crate) fn under(mut self, answer: &Answer) -> Feed {
        self.every = answer.pace.every;
        if let Some(Hold { gate, after }) = &answer.held
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

    /// Whether all has been handed over.
    fn is_over(&self) -> bool {
        self.at >= self.frames.len() && self.again.is_none() && !self.cut && self.stall.is_none()
    }

    /// What has to pass before the next frame, if anything.
    fn obstacle(&mut self) -> Option<Wait> {
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
        // A connection polls its body more often than once a moment.
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

    /// The next frame's bytes, stamped, and cut short where the script cuts.
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
                // What was written has to leave before the connection does.
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

impl Body for Feed {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<BodyFrame<Bytes>, Cut>>> {
        loop {
            if let Some(wait) = &mut self.wait {
                ready!(wait.as_mut().poll(cx));
                self.wait = None;
            }
            if self.cut {
                return Poll::Ready(Some(Err(Cut)));
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
