//! [`EventStream`]: events that resume where they stopped.
//!
//! Each stream has a connection of its own, because a resumption point belongs to a connection.
//! Invariants: every logged event that matches is yielded exactly once and in order, across
//! restarts of the daemon, or the missing ones are named by [`Item::Gap`]; volatile events just
//! continue. A consumer that stops reading stops its own connection and nobody else.

use crate::calls::LinkState;
use crate::connector::Connector;
use crate::error::ClientError;
use crate::link::Link;
use bytes::Bytes;
use hob_kit::tasks::Tasks;
use hob_wire::Topic;
use hob_wire::frame::{self, Envelope, EventEnvelope};
use hob_wire::rooms::gateway::{Gap, GapRange, GapReason, Subscribe, SubscribeParams};
use std::sync::Arc;
use tokio::sync::{mpsc, watch};

/// Items that wait for their consumer.
const ITEMS_MAX: usize = 256;

/// What to listen to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subscription {
    /// Topics or patterns: `session.message`, `run.*`, `*`.
    pub topics: Vec<String>,
    /// Only events of this session, by key or id.
    pub session: Option<String>,
    /// Replay the logged events after this one first.
    pub since: Option<u64>,
    /// The log in which `since` was received, see [`Event::log_id`]. With it a daemon whose files
    /// were restored from an older copy is noticed.
    pub log_id: Option<String>,
}

impl Subscription {
    pub fn to<T: Into<String>>(topics: impl IntoIterator<Item = T>) -> Self {
        Subscription {
            topics: topics.into_iter().map(Into::into).collect(),
            ..Subscription::default()
        }
    }
}

/// What a stream yields.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    Event(Event),
    /// These logged events can no longer be delivered: what depends on them must be read anew.
    Gap(GapRange),
}

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub source: String,
    pub topic: String,
    /// The number of this logged event, or of the last one before a volatile event.
    pub seq: u64,
    /// The place of a volatile event after `seq`; none for a logged one.
    pub sub: Option<u64>,
    /// JSON text.
    pub payload: Option<Bytes>,
    /// Names the log that `seq` belongs to; none from a daemon that does not say.
    pub log_id: Option<Arc<str>>,
}

impl Event {
    /// The payload, if this event is of topic `T` and fits it.
    pub fn read<T: Topic>(&self) -> Option<T::Payload> {
        if self.topic != T::SPEC.topic {
            return None;
        }
        serde_json::from_slice(self.payload.as_deref().unwrap_or(b"null")).ok()
    }

    pub fn is_volatile(&self) -> bool {
        self.sub.is_some()
    }
}

/// A subscription that lives until it is dropped.
#[derive(Debug)]
pub struct EventStream {
    items: mpsc::Receiver<Result<Item, ClientError>>,
    state: watch::Receiver<LinkState>,
    tasks: Tasks,
    /// Where the stream began: the last logged event before its first.
    began: u64,
}

impl Drop for EventStream {
    fn drop(&mut self) {
        self.tasks.stop();
    }
}

impl EventStream {
    pub(crate) async fn open(
        connector: Connector,
        subscription: Subscription,
    ) -> Result<EventStream, ClientError> {
        let mut link = connector.open().await?;
        let mut reader = Reader::new(subscription);
        reader.begin(&mut link).await?;
        let began = reader.cursor.unwrap_or_default();
        let (items_in, items) = mpsc::channel(ITEMS_MAX);
        let (state_out, state) = watch::channel(LinkState::Connected);
        let owner = Owner {
            connector,
            reader,
            items: items_in,
            state: state_out,
        };
        let tasks = Tasks::new();
        tasks.spawn_until_stop("events", owner.run(link));
        Ok(EventStream {
            items,
            state,
            tasks,
            began,
        })
    }

    /// The next item; `None` after an error, which is final.
    pub async fn next(&mut self) -> Option<Result<Item, ClientError>> {
        self.items.recv().await
    }

    /// The last logged event before this stream's first.
    pub fn began(&self) -> u64 {
        self.began
    }

    /// Whether the connection stands, as it changes.
    pub fn state(&self) -> watch::Receiver<LinkState> {
        self.state.clone()
    }
}

struct Owner {
    connector: Connector,
    reader: Reader,
    items: mpsc::Sender<Result<Item, ClientError>>,
    state: watch::Sender<LinkState>,
}

impl Owner {
    async fn run(mut self, mut link: Link) {
        loop {
            LinkState::Connected.tell(&self.state);
            if self.work(&mut link).await.is_err() {
                return;
            }
            drop(link);
            LinkState::Searching.tell(&self.state);
            // Nothing is asked of a daemon before the consumer has taken what it was given.
            let Ok(room) = self.items.reserve().await else {
                return;
            };
            drop(room);
            link = match self.resume().await {
                Ok(resumed) => resumed,
                Err(error) => {
                    LinkState::Ended.tell(&self.state);
                    drop(self.items.send(Err(error)).await);
                    return;
                }
            };
        }
    }

    /// Yields events until the connection breaks (`Ok`) or the consumer is gone (`Err`).
    async fn work(&mut self, link: &mut Link) -> Result<(), ConsumerGone> {
        loop {
            // Room first: a frame is only taken when its item has a place, so a slow consumer
            // holds back its own socket and nothing is lost in between.
            let room = self.items.reserve().await.map_err(|_| ConsumerGone)?;
            let frame = tokio::select! {
                frame = link.next() => frame,
                () = self.items.closed() => return Err(ConsumerGone),
            };
            let Ok(frame) = frame else {
                return Ok(());
            };
            match self.reader.read(&frame) {
                Read::Item(item) => room.send(Ok(item)),
                Read::Nothing => {}
                Read::Broken => return Ok(()),
            }
        }
    }

    async fn resume(&mut self) -> Result<Link, ClientError> {
        loop {
            let mut link = self.connector.again().await?;
            match self.reader.begin(&mut link).await {
                Ok(()) => return Ok(link),
                Err(error) => self.connector.after_failure(error).await?,
            }
        }
    }
}

struct ConsumerGone;

/// What a frame means for the stream.
#[derive(Debug, PartialEq)]
enum Read {
    Item(Item),
    Nothing,
    /// Events are missing that the log can still give: connect again and resume.
    Broken,
}

/// The order of events on one stream, across its connections. Does no I/O of its own but the
/// subscription request.
#[derive(Debug)]
struct Reader {
    subscription: Subscription,
    /// The last logged event the consumer has, once known.
    cursor: Option<u64>,
    /// The log that the cursor was received from.
    log_id: Option<Arc<str>>,
    /// The log of this connection. It becomes the cursor's with the first frame that came: until
    /// then the daemon may be about to tell that it is another one.
    connected_log_id: Option<Arc<str>>,
    /// Whether a logged event came since the subscription of this connection.
    fresh: bool,
}

impl Reader {
    fn new(subscription: Subscription) -> Self {
        Reader {
            cursor: subscription.since,
            log_id: subscription.log_id.as_deref().map(Arc::from),
            connected_log_id: None,
            subscription,
            fresh: true,
        }
    }

    /// Subscribes on a new connection, after the last event the consumer has.
    async fn begin(&mut self, link: &mut Link) -> Result<(), ClientError> {
        let params = SubscribeParams {
            events: self.subscription.topics.clone(),
            session_key: self.subscription.session.clone(),
            since: self.cursor,
            log_id: self.log_id.as_deref().map(str::to_owned),
        };
        let answer = link.ask::<Subscribe>(&params).await?;
        self.connected_log_id = answer.log_id.map(Arc::from);
        match self.cursor {
            // A daemon that names its log tells a gap instead.
            Some(since) if answer.seq < since && self.connected_log_id.is_none() => {
                let last = answer.seq;
                return Err(ClientError::CursorAhead { since, last });
            }
            Some(_) => {}
            None => {
                self.cursor = Some(answer.seq);
                self.log_id.clone_from(&self.connected_log_id);
            }
        }
        self.fresh = true;
        Ok(())
    }

    fn read(&mut self, frame: &Bytes) -> Read {
        let Ok(text) = std::str::from_utf8(frame) else {
            return Read::Nothing;
        };
        let Ok(Envelope::Event(event)) = frame::read(text) else {
            return Read::Nothing;
        };
        if event.event == Gap::SPEC.topic {
            return self.read_gap(&event);
        }
        self.log_id.clone_from(&self.connected_log_id);
        let seq = event.seq.unwrap_or_default();
        let whole = Event {
            source: event.source.into_owned(),
            topic: event.event.into_owned(),
            seq,
            sub: event.sub,
            payload: event
                .payload
                .map(|raw| frame.slice_ref(raw.get().as_bytes())),
            log_id: self.log_id.clone(),
        };
        if whole.is_volatile() {
            return Read::Item(Item::Event(whole));
        }
        self.read_logged(whole, event.prev)
    }

    fn read_logged(&mut self, event: Event, prev: Option<u64>) -> Read {
        let cursor = self.cursor.unwrap_or_default();
        if event.seq <= cursor {
            return Read::Nothing;
        }
        // `prev` names the event before this one on this connection. If that is one the consumer
        // does not have, something was dropped on the way.
        if prev.is_some_and(|prev| prev > cursor) && !self.fresh {
            return Read::Broken;
        }
        self.cursor = Some(event.seq);
        self.fresh = false;
        Read::Item(Item::Event(event))
    }

    /// Right after a subscription a gap means that the log no longer has those events, or that it
    /// is another log. Later it means that this consumer was too slow for its connection; the log
    /// still has them.
    fn read_gap(&mut self, event: &EventEnvelope<'_>) -> Read {
        if !self.fresh {
            return Read::Broken;
        }
        let range = event
            .payload
            .and_then(|raw| serde_json::from_str::<GapRange>(raw.get()).ok());
        let Some(range) = range else {
            return Read::Broken;
        };
        let is_other_log = range.reason == Some(GapReason::OtherLog);
        let cursor = self.cursor.filter(|_| !is_other_log);
        // The numbers of another log begin where it says, which may be before ours.
        self.cursor = Some(range.to.max(cursor.unwrap_or_default()));
        self.log_id.clone_from(&self.connected_log_id);
        Read::Item(Item::Gap(range))
    }
}

#[cfg(test)]
#[path = "events_tests.rs"]
mod tests;
