//! [`EventStream`]: events that resume after a lost connection.
//!
//! Each stream has its own connection, because a resumption point belongs to a connection.
//! Invariants: every matching logged event is yielded exactly once and in order, across restarts of
//! the daemon, or [`StreamItem::Gap`] names the missing ones. Volatile events are not resumed. A
//! consumer that stops reading blocks only its own connection.

use crate::client::ConnectionState;
use crate::connection::DaemonConnection;
use crate::connector::Connector;
use crate::error::ClientError;
use bytes::Bytes;
use hob_kit::tasks::TaskGroup;
use hob_wire::EventTopic;
use hob_wire::frame::{self, Envelope, EventEnvelope};
use hob_wire::rooms::gateway::{Gap, GapRange, GapReason, GatewaySubscribeParams, Subscribe};
use std::sync::Arc;
use tokio::sync::{mpsc, watch};

/// Items queued for the consumer.
const ITEMS_MAX: usize = 256;

/// The events of an [`EventStream`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubscribeOptions {
    /// Topics or patterns: `session.message`, `run.*`, `*`.
    pub topics: Vec<String>,
    /// Only events of this session, by key or id.
    pub session: Option<String>,
    /// Replays the logged events after this one first.
    pub since: Option<u64>,
    /// The log in which `since` was received, see [`BusEvent::log_id`]. It detects a daemon whose
    /// files were restored from an older copy.
    pub log_id: Option<String>,
}

impl SubscribeOptions {
    pub fn to<T: Into<String>>(topics: impl IntoIterator<Item = T>) -> Self {
        SubscribeOptions {
            topics: topics.into_iter().map(Into::into).collect(),
            ..SubscribeOptions::default()
        }
    }
}

/// An item of an [`EventStream`].
#[derive(Clone, Debug, PartialEq)]
pub enum StreamItem {
    Event(BusEvent),
    /// Logged events that cannot be delivered. Read state that depends on them again.
    Gap(GapRange),
}

/// A received event.
#[derive(Clone, Debug, PartialEq)]
pub struct BusEvent {
    pub source: String,
    pub topic: String,
    /// The number of this logged event, or of the last one before a volatile event.
    pub seq: u64,
    /// The position of a volatile event after `seq`; none for a logged event.
    pub sub: Option<u64>,
    /// JSON text.
    pub payload: Option<Bytes>,
    /// The id of the log that `seq` belongs to; none from an old daemon.
    pub log_id: Option<Arc<str>>,
}

impl BusEvent {
    /// Returns the payload if this event has the topic `T` and its payload fits.
    pub fn read<T: EventTopic>(&self) -> Option<T::Payload> {
        if self.topic != T::SPEC.topic {
            return None;
        }
        serde_json::from_slice(self.payload.as_deref().unwrap_or(b"null")).ok()
    }

    pub fn is_volatile(&self) -> bool {
        self.sub.is_some()
    }
}

/// A subscription that ends when it is dropped.
#[derive(Debug)]
pub struct EventStream {
    items: mpsc::Receiver<Result<StreamItem, ClientError>>,
    state: watch::Receiver<ConnectionState>,
    tasks: TaskGroup,
    /// The last logged event before the stream's first.
    start_seq: u64,
}

impl Drop for EventStream {
    fn drop(&mut self) {
        self.tasks.stop();
    }
}

impl EventStream {
    pub(crate) async fn open(
        connector: Connector,
        subscription: SubscribeOptions,
    ) -> Result<EventStream, ClientError> {
        let mut connection = connector.open().await?;
        let mut cursor = StreamCursor::new(subscription);
        cursor.subscribe(&mut connection).await?;
        let start_seq = cursor.last_seq.unwrap_or_default();
        let (items_in, items) = mpsc::channel(ITEMS_MAX);
        let (state_out, state) = watch::channel(ConnectionState::Connected);
        let task = StreamTask {
            connector,
            cursor,
            items: items_in,
            state: state_out,
        };
        let tasks = TaskGroup::new();
        tasks.spawn_until_stop("events", task.run(connection));
        Ok(EventStream {
            items,
            state,
            tasks,
            start_seq,
        })
    }

    /// Returns the next item. An error is final; after it, returns `None`.
    pub async fn next(&mut self) -> Option<Result<StreamItem, ClientError>> {
        self.items.recv().await
    }

    /// Returns the number of the last logged event before this stream's first.
    pub fn start_seq(&self) -> u64 {
        self.start_seq
    }

    /// Returns a watch on the state of the connection.
    pub fn state(&self) -> watch::Receiver<ConnectionState> {
        self.state.clone()
    }
}

struct StreamTask {
    connector: Connector,
    cursor: StreamCursor,
    items: mpsc::Sender<Result<StreamItem, ClientError>>,
    state: watch::Sender<ConnectionState>,
}

impl StreamTask {
    async fn run(mut self, mut connection: DaemonConnection) {
        loop {
            ConnectionState::Connected.publish(&self.state);
            if self.serve_connection(&mut connection).await.is_err() {
                return;
            }
            // Close now: the wait for the consumer below can be long.
            drop(connection);
            ConnectionState::Searching.publish(&self.state);
            // Subscribe again only when the consumer has caught up; else the new connection would
            // queue events that nobody reads.
            let Ok(room) = self.items.reserve().await else {
                return;
            };
            drop(room);
            connection = match self.resume().await {
                Ok(resumed) => resumed,
                Err(error) => {
                    ConnectionState::Ended.publish(&self.state);
                    drop(self.items.send(Err(error)).await);
                    return;
                }
            };
        }
    }

    /// Yields events until the connection breaks (`Ok`) or the consumer is gone (`Err`).
    async fn serve_connection(
        &mut self,
        connection: &mut DaemonConnection,
    ) -> Result<(), ConsumerGone> {
        loop {
            // Reserve before reading: a frame is read only when its item has space, so a slow
            // consumer blocks its own socket and no event is lost in between.
            let room = self.items.reserve().await.map_err(|_| ConsumerGone)?;
            let frame = tokio::select! {
                frame = connection.next() => frame,
                () = self.items.closed() => return Err(ConsumerGone),
            };
            let Ok(frame) = frame else {
                return Ok(());
            };
            match self.cursor.read(&frame) {
                ReadOutcome::Item(item) => room.send(Ok(item)),
                ReadOutcome::Nothing => {}
                ReadOutcome::Broken => return Ok(()),
            }
        }
    }

    async fn resume(&mut self) -> Result<DaemonConnection, ClientError> {
        loop {
            let mut connection = self.connector.reconnect().await?;
            match self.cursor.subscribe(&mut connection).await {
                Ok(()) => return Ok(connection),
                Err(error) => self.connector.after_failure(error).await?,
            }
        }
    }
}

struct ConsumerGone;

/// The meaning of a frame for the stream.
#[derive(Debug, PartialEq)]
enum ReadOutcome {
    Item(StreamItem),
    Nothing,
    /// Events are missing that the log still has. The stream reconnects and resumes.
    Broken,
}

/// The position of one stream in the event order, across its connections. Its only I/O is the
/// subscription request.
#[derive(Debug)]
struct StreamCursor {
    subscription: SubscribeOptions,
    /// The last logged event that the consumer has, once known.
    last_seq: Option<u64>,
    /// The log of `last_seq`.
    log_id: Option<Arc<str>>,
    /// The log of this connection. It becomes `log_id` with the first frame: until then the daemon
    /// may still send a gap, because it is another log.
    connected_log_id: Option<Arc<str>>,
    /// True until a logged event arrives on this connection.
    is_fresh: bool,
}

impl StreamCursor {
    fn new(subscription: SubscribeOptions) -> Self {
        StreamCursor {
            last_seq: subscription.since,
            log_id: subscription.log_id.as_deref().map(Arc::from),
            connected_log_id: None,
            subscription,
            is_fresh: true,
        }
    }

    /// Subscribes on a new connection, after the last event that the consumer has.
    async fn subscribe(&mut self, connection: &mut DaemonConnection) -> Result<(), ClientError> {
        let params = GatewaySubscribeParams {
            events: self.subscription.topics.clone(),
            session_key: self.subscription.session.clone(),
            since: self.last_seq,
            log_id: self.log_id.as_deref().map(str::to_owned),
        };
        let answer = connection.call::<Subscribe>(&params).await?;
        self.connected_log_id = answer.log_id.map(Arc::from);
        match self.last_seq {
            // A daemon that names its log sends a gap instead.
            Some(since) if answer.seq < since && self.connected_log_id.is_none() => {
                let last = answer.seq;
                return Err(ClientError::CursorAhead { since, last });
            }
            Some(_) => {}
            None => {
                self.last_seq = Some(answer.seq);
                self.log_id.clone_from(&self.connected_log_id);
            }
        }
        self.is_fresh = true;
        Ok(())
    }

    fn read(&mut self, frame: &Bytes) -> ReadOutcome {
        let Ok(text) = std::str::from_utf8(frame) else {
            return ReadOutcome::Nothing;
        };
        let Ok(Envelope::Event(event)) = frame::read(text) else {
            return ReadOutcome::Nothing;
        };
        if event.event == Gap::SPEC.topic {
            return self.read_gap(&event);
        }
        self.log_id.clone_from(&self.connected_log_id);
        let seq = event.seq.unwrap_or_default();
        let whole = BusEvent {
            source: event.source.into_owned(),
            topic: event.event.into_owned(),
            seq,
            sub: event.sub,
            // Shares the frame's buffer; large payloads are not copied.
            payload: event
                .payload
                .map(|raw| frame.slice_ref(raw.get().as_bytes())),
            log_id: self.log_id.clone(),
        };
        if whole.is_volatile() {
            return ReadOutcome::Item(StreamItem::Event(whole));
        }
        self.read_logged(whole, event.prev)
    }

    fn read_logged(&mut self, event: BusEvent, prev: Option<u64>) -> ReadOutcome {
        let last_seq = self.last_seq.unwrap_or_default();
        // A replay may start before the last event that the consumer has.
        if event.seq <= last_seq {
            return ReadOutcome::Nothing;
        }
        // `prev` is the previous event on this connection. If the consumer does not have it,
        // an event was dropped on the way.
        if prev.is_some_and(|prev| prev > last_seq) && !self.is_fresh {
            return ReadOutcome::Broken;
        }
        self.last_seq = Some(event.seq);
        self.is_fresh = false;
        ReadOutcome::Item(StreamItem::Event(event))
    }

    /// Handles a gap. Right after the subscription it means that the log no longer has those
    /// events, or that it is another log. Later it means that this consumer was too slow; the log
    /// still has the events.
    fn read_gap(&mut self, event: &EventEnvelope<'_>) -> ReadOutcome {
        if !self.is_fresh {
            return ReadOutcome::Broken;
        }
        let range = event
            .payload
            .and_then(|raw| serde_json::from_str::<GapRange>(raw.get()).ok());
        let Some(range) = range else {
            return ReadOutcome::Broken;
        };
        let is_other_log = range.reason == Some(GapReason::OtherLog);
        let last_seq = self.last_seq.filter(|_| !is_other_log);
        // The numbers of another log start at `range.to`, which may be lower than ours.
        self.last_seq = Some(range.to.max(last_seq.unwrap_or_default()));
        self.log_id.clone_from(&self.connected_log_id);
        ReadOutcome::Item(StreamItem::Gap(range))
    }
}

#[cfg(test)]
#[path = "events_tests.rs"]
mod tests;
