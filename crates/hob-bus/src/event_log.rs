//! The event log as the bus needs it, and the channel by which committed events reach the bus. The
//! store implements the log. Invariant: events are published in the order of their `seq`.

use crate::event::{LoggedEvent, NewEvent};
use hob_wire::WireError;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::mpsc;

pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Batches of committed events that may wait for the bus. The store's batches hold at most 4 MiB.
const PUBLISHED_BATCHES_MAX: usize = 64;

/// The event log, as far as the bus needs it.
pub trait EventLog: Send + Sync + 'static {
    /// The first and last event of the log. Cheap: read from memory.
    fn bounds(&self) -> LogBounds;

    /// The id of the log as it is written now. A `seq` is valid only together with it: files that
    /// were restored from an older copy assign the same numbers again.
    fn id(&self) -> Arc<str>;

    /// The last event that this log shares with the log `id`. It may be beyond the end of this log.
    /// `None` if the id is unknown.
    fn shared_until(&self, id: &str) -> Option<u64>;

    /// Reads at most `limit` events after `after`, in ascending order.
    fn page(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<LoggedEvent>, WireError>>;

    /// Makes an event durable, hands it to the [`Publisher`] in commit order and returns its `seq`.
    fn append(&self, event: NewEvent) -> BoxFuture<'_, Result<u64, WireError>>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogBounds {
    /// The oldest `seq` still kept; `last + 1` if none is.
    pub first: u64,
    /// The newest `seq` ever assigned; 0 if none was.
    pub last: u64,
}

/// Hands committed events to the bus.
#[derive(Clone, Debug)]
pub struct Publisher(mpsc::Sender<Vec<LoggedEvent>>);

/// The receiving end of a [`Publisher`].
#[derive(Debug)]
pub struct PublisherInbox(pub(crate) mpsc::Receiver<Vec<LoggedEvent>>);

/// Creates the bounded channel from the log's writer to the bus.
pub fn publisher() -> (Publisher, PublisherInbox) {
    let (sender, receiver) = mpsc::channel(PUBLISHED_BATCHES_MAX);
    (Publisher(sender), PublisherInbox(receiver))
}

impl Publisher {
    /// Hands over a committed batch; blocks while the inbox is full. Called on the writer's own
    /// thread after each commit, in `seq` order, and never from an async task.
    pub fn publish(&self, batch: Vec<LoggedEvent>) {
        // If the bus has stopped, no subscriber misses the events, and the log keeps them.
        let _ = self.0.blocking_send(batch);
    }

    /// Reserves a place for one batch, for a log whose writer is an async task.
    pub(crate) async fn reserve(&self) -> Option<mpsc::Permit<'_, Vec<LoggedEvent>>> {
        self.0.reserve().await.ok()
    }
}

impl PublisherInbox {
    /// Waits for the next committed batch; `None` if every [`Publisher`] was dropped.
    pub async fn next(&mut self) -> Option<Vec<LoggedEvent>> {
        self.0.recv().await
    }
}
