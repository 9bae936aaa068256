//! The event log the bus needs, and the way committed events reach it. The store implements the
//! log; the daemon joins the two. Invariant: events are published in the order of their `seq`.

use crate::event::{LoggedEvent, NewEvent};
use hob_wire::WireError;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::mpsc;

pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Batches of committed events waiting for the bus. The store's batches hold at most 4 MiB.
const PUBLISHED_BATCHES_MAX: usize = 64;

/// The log of events, as far as the bus needs it.
pub trait EventLog: Send + Sync + 'static {
    /// The ends of the log; cheap, from memory.
    fn bounds(&self) -> LogBounds;

    /// Names the log as it is written now. A number of an event means something only together
    /// with it: files that were restored from an older copy give numbers again.
    fn id(&self) -> Arc<str>;

    /// The last event that this log shares with the log of that id, which may be beyond its end;
    /// none when the id is unknown.
    fn shared_until(&self, id: &str) -> Option<u64>;

    /// At most `limit` events after `after`, ascending.
    fn page(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<LoggedEvent>, WireError>>;

    /// Makes an event durable, hands it to the [`Publisher`] in commit order, answers its `seq`.
    fn append(&self, event: NewEvent) -> BoxFuture<'_, Result<u64, WireError>>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogBounds {
    /// The oldest `seq` still kept; `last + 1` when nothing is.
    pub first: u64,
    /// The newest `seq` ever given; 0 when none was.
    pub last: u64,
}

/// Hands committed events to the bus.
#[derive(Clone, Debug)]
pub struct Publisher(mpsc::Sender<Vec<LoggedEvent>>);

/// The bus's end of a [`Publisher`].
#[derive(Debug)]
pub struct PublisherInbox(pub(crate) mpsc::Receiver<Vec<LoggedEvent>>);

/// A bounded way from the log's writer to the bus.
pub fn publisher() -> (Publisher, PublisherInbox) {
    let (sender, receiver) = mpsc::channel(PUBLISHED_BATCHES_MAX);
    (Publisher(sender), PublisherInbox(receiver))
}

impl Publisher {
    /// Hands over a committed batch, waiting while the bus is behind. Called on the writer's own
    /// thread after each commit, in `seq` order; never from an async task, which it would block.
    pub fn publish(&self, batch: Vec<LoggedEvent>) {
        // A bus that is gone has no subscribers to miss the events, and the log keeps them.
        let _ = self.0.blocking_send(batch);
    }

    /// A place for one batch, for a log whose writer is an async task.
    pub(crate) async fn reserve(&self) -> Option<mpsc::Permit<'_, Vec<LoggedEvent>>> {
        self.0.reserve().await.ok()
    }
}

impl PublisherInbox {
    /// The next committed batch; none when every [`Publisher`] is gone.
    pub async fn next(&mut self) -> Option<Vec<LoggedEvent>> {
        self.0.recv().await
    }
}
