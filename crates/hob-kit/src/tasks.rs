//! The only way to spawn tasks: named, counted, cancelled together and awaited at shutdown. A panic
//! is reported with the name of its task and affects no other task.
//!
//! A group ends in two stages. It drains (nothing new starts, running work may finish), then it
//! stops. Invariant: a group drains before it stops, so a failure without a drain was not caused by
//! the shutdown.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A group of tasks; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct TaskGroup {
    tracker: TaskTracker,
    drain: CancellationToken,
    stop: CancellationToken,
    panics: Arc<AtomicU64>,
}

impl TaskGroup {
    pub fn new() -> Self {
        TaskGroup::default()
    }

    /// Spawns `work`, which runs until it ends. A long task should watch [`TaskGroup::stopping`].
    #[expect(clippy::disallowed_methods, reason = "this is the door")]
    pub fn spawn<F>(&self, name: &'static str, work: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let panics = Arc::clone(&self.panics);
        let handle = tokio::spawn(self.tracker.track_future(work));
        // A second task awaits the first, because a panicked task cannot report itself.
        let report = async move {
            if let Err(failure) = handle.await
                && failure.is_panic()
            {
                panics.fetch_add(1, Ordering::Relaxed);
                tracing::error!(task = name, "a task panicked: {failure}");
            }
        };
        tokio::spawn(self.tracker.track_future(report));
    }

    /// Spawns `work`, which is dropped when the group stops. For tasks that may be dropped at any
    /// await.
    pub fn spawn_until_stop<F>(&self, name: &'static str, work: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let stop = self.stop.clone();
        self.spawn(name, async move {
            tokio::select! {
                // The stop is checked first, so that a failure caused by it is never seen as a result.
                biased;
                () = stop.cancelled() => {}
                () = work => {}
            }
        });
    }

    /// Waits until the group stops.
    pub async fn stopping(&self) {
        self.stop.cancelled().await;
    }

    pub fn is_stopping(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Returns true once the shutdown has begun. From then on nothing new starts, and a failure may
    /// be caused by the shutdown.
    pub fn is_draining(&self) -> bool {
        self.drain.is_cancelled()
    }

    /// A token that is cancelled when the group begins to drain.
    pub fn drain_token(&self) -> CancellationToken {
        self.drain.clone()
    }

    /// Signals every task to start nothing new. Called before anything is closed.
    pub fn begin_drain(&self) {
        self.drain.cancel();
    }

    /// A token that is cancelled when the group stops; children of it may be cancelled alone.
    pub fn stop_token(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Signals every task to stop.
    pub fn stop(&self) {
        self.begin_drain();
        self.stop.cancel();
    }

    /// Stops the group and waits until every task has ended. Returns false on timeout.
    pub async fn finish(&self, within: Duration) -> bool {
        self.stop();
        // `wait` ends only for a closed tracker. Tasks can still be spawned, and are waited for.
        self.tracker.close();
        tokio::time::timeout(within, self.tracker.wait())
            .await
            .is_ok()
    }

    /// The number of tasks that have not ended.
    pub fn running(&self) -> usize {
        self.tracker.len()
    }

    /// The number of tasks that panicked so far.
    pub fn panics(&self) -> u64 {
        self.panics.load(Ordering::Relaxed)
    }
}
