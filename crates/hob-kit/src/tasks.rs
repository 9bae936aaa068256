//! The one door through which tasks are spawned: named, counted, cancelled together, awaited at
//! shutdown. A task that panics is reported by name and takes nothing else with it.
//!
//! A group ends in two stages: it drains (nothing new begins, what is under way may end), then it
//! stops. Invariant: a group that stops has drained before, so whoever finds a failure and no
//! drain knows that the end of the group did not cause it.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A group of tasks; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    drain: CancellationToken,
    stop: CancellationToken,
    panics: Arc<AtomicU64>,
}

impl Tasks {
    pub fn new() -> Self {
        Tasks::default()
    }

    /// Runs `work` until it ends by itself. It should watch [`Tasks::stopping`] if it is long.
    #[expect(clippy::disallowed_methods, reason = "this is the door")]
    pub fn spawn<F>(&self, name: &'static str, work: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let panics = Arc::clone(&self.panics);
        let handle = tokio::spawn(self.tracker.track_future(work));
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

    /// Runs `work` until it ends or the group stops, whichever is first: for tasks that may be
    /// dropped at any await.
    pub fn spawn_until_stop<F>(&self, name: &'static str, work: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let stop = self.stop.clone();
        self.spawn(name, async move {
            tokio::select! {
                // The stop first: what fails because of it is never taken for an outcome.
                biased;
                () = stop.cancelled() => {}
                () = work => {}
            }
        });
    }

    /// Ends when the group is told to stop.
    pub async fn stopping(&self) {
        self.stop.cancelled().await;
    }

    pub fn is_stopping(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Whether the end of the group has begun: nothing new is started, and a failure from now on
    /// may come from the end itself.
    pub fn is_draining(&self) -> bool {
        self.drain.is_cancelled()
    }

    /// A token that is cancelled when the group begins to drain.
    pub fn drain_token(&self) -> CancellationToken {
        self.drain.clone()
    }

    /// Tells every task that nothing new is to begin. Called before anything is closed.
    pub fn begin_drain(&self) {
        self.drain.cancel();
    }

    /// A token that is cancelled when the group stops; children of it may be cancelled alone.
    pub fn stop_token(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Tells every task to stop.
    pub fn stop(&self) {
        self.begin_drain();
        self.stop.cancel();
    }

    /// Stops and waits until every task has ended; false if some had not by the deadline.
    pub async fn finish(&self, within: Duration) -> bool {
        self.stop();
        self.tracker.close();
        tokio::time::timeout(within, self.tracker.wait())
            .await
            .is_ok()
    }

    /// Tasks that have not ended.
    pub fn running(&self) -> usize {
        self.tracker.len()
    }

    /// Tasks that panicked so far.
    pub fn panics(&self) -> u64 {
        self.panics.load(Ordering::Relaxed)
    }
}
