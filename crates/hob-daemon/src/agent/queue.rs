//! The run queue: one task schedules sessions onto slots. The runs of a session are driven one
//! after the other in the order of the store; sessions take turns.
//!
//! Invariant: no more runs are active than there are slots, resumed ones included.

use super::agent_context::AgentContext;
use super::session_turn::SessionTurn;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, select_all};
use hob_core::child_runs::DEPTH_MAX;
use hob_store::RunRow;
use hob_wire::{RunId, SessionId};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

/// Messages queued for the owner task.
const QUEUE_INBOX_MAX: usize = 1_024;
/// Wait after a driver's first crash; it doubles.
pub(super) const CRASH_WAIT: Duration = Duration::from_millis(200);

/// Handle to the owner task.
#[derive(Clone, Debug)]
pub(crate) struct RunQueue {
    sender: mpsc::Sender<QueueMessage>,
}

#[derive(Debug)]
enum QueueMessage {
    /// A session may have something to run.
    Wake(QueuedSession),
    /// A session's turn has ended.
    TurnEnded {
        queued: QueuedSession,
        turn: TurnOutcome,
    },
}

/// A session and its generation: how many runs are above it.
#[derive(Clone, Copy, Debug)]
struct QueuedSession {
    session: SessionId,
    depth: usize,
}

impl QueuedSession {
    fn of(row: &RunRow) -> Self {
        QueuedSession {
            session: row.session_id,
            depth: hob_core::child_runs::depth(&row.session_key).min(DEPTH_MAX),
        }
    }
}

/// The outcome of a session's turn.
#[derive(Debug)]
pub(super) enum TurnOutcome {
    /// It had nothing to run.
    Idle,
    /// A run ended, or another writer has it now.
    Ended,
    /// The driver of this run crashed.
    Crashed(RunId),
    /// hob is stopping, or this daemon cannot continue the run: it waits for the next start.
    Stuck,
}

/// The scheduling state of a session.
#[derive(Debug, PartialEq, Eq)]
enum SessionLane {
    Ready,
    Busy { wake_again: bool },
    Stuck,
}

/// The task that owns the scheduling state.
pub(crate) struct QueueOwner {
    shared: Arc<AgentContext>,
    queue: RunQueue,
    inbox: mpsc::Receiver<QueueMessage>,
    lanes: HashMap<SessionId, SessionLane>,
    /// Sessions ready to run, by generation.
    ready: [VecDeque<QueuedSession>; DEPTH_MAX + 1],
    /// The run of a session whose driver crashed, and how often.
    crashes: HashMap<SessionId, (RunId, u32)>,
}

impl RunQueue {
    pub(crate) fn new(shared: &Arc<AgentContext>) -> (RunQueue, QueueOwner) {
        let (sender, inbox) = mpsc::channel(QUEUE_INBOX_MAX);
        let queue = RunQueue { sender };
        let owner = QueueOwner {
            shared: Arc::clone(shared),
            queue: queue.clone(),
            inbox,
            lanes: HashMap::new(),
            ready: Default::default(),
            crashes: HashMap::new(),
        };
        (queue, owner)
    }

    /// Tells the queue that the session of this run has something to run.
    pub(crate) async fn wake(&self, row: &RunRow) {
        // Sending fails only when hob is stopping.
        let _ = self
            .sender
            .send(QueueMessage::Wake(QueuedSession::of(row)))
            .await;
    }
}

impl QueueOwner {
    /// Queues what the former daemon left, in its order, then schedules until hob stops.
    pub(crate) async fn run(mut self) {
        self.enqueue_unfinished().await;
        let drain = self.shared.deps.tasks.drain_token();
        loop {
            let wanted = (0..self.ready.len()).filter(|depth| !self.ready[*depth].is_empty());
            let slots: Vec<_> = wanted.map(|depth| self.slot(depth)).collect();
            let is_wanted = !slots.is_empty();
            tokio::select! {
                biased;
                // Waiting runs stay queued in the store and get their turn at the next start.
                () = drain.cancelled() => return,
                message = self.inbox.recv() => match message {
                    Some(message) => self.handle_message(message),
                    None => return,
                },
                (depth, slot) = first_ready(slots), if is_wanted => match slot {
                    Some(slot) => self.start_next(depth, slot),
                    None => return,
                },
            }
        }
    }

    /// Waits for a slot of this generation.
    fn slot(&self, depth: usize) -> BoxFuture<'static, (usize, Option<OwnedSemaphorePermit>)> {
        let slots = self.shared.slots(depth);
        async move { (depth, slots.acquire_owned().await.ok()) }.boxed()
    }

    /// Queues the runs that the last daemon left unfinished. Only their rows are read; each is
    /// loaded when it has a slot.
    async fn enqueue_unfinished(&mut self) {
        let mut wait = CRASH_WAIT;
        loop {
            // A run with a damaged row cannot be resumed; it is ended with that reason.
            let unfinished = async {
                self.shared.deps.store.end_damaged_runs().await?;
                self.shared.deps.store.unfinished_runs().await
            };
            match unfinished.await {
                Ok(runs) => {
                    if !runs.is_empty() {
                        tracing::info!(runs = runs.len(), "resuming unfinished runs");
                    }
                    for run in &runs {
                        self.wake(QueuedSession::of(run));
                    }
                    return;
                }
                Err(error) => tracing::error!("unfinished runs cannot be read yet: {error}"),
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(Duration::from_secs(10));
        }
    }

    fn handle_message(&mut self, message: QueueMessage) {
        match message {
            QueueMessage::Wake(queued) => self.wake(queued),
            QueueMessage::TurnEnded { queued, turn } => self.handle_turn_end(queued, &turn),
        }
    }

    fn wake(&mut self, queued: QueuedSession) {
        match self.lanes.get_mut(&queued.session) {
            // Noted for the end of the turn: a run accepted while the turn finds nothing to do
            // would be missed.
            Some(SessionLane::Busy { wake_again }) => *wake_again = true,
            Some(SessionLane::Ready) => {}
            Some(SessionLane::Stuck) | None => self.make_ready(queued),
        }
    }

    fn make_ready(&mut self, queued: QueuedSession) {
        self.lanes.insert(queued.session, SessionLane::Ready);
        self.ready[queued.depth].push_back(queued);
    }

    fn handle_turn_end(&mut self, queued: QueuedSession, turn: &TurnOutcome) {
        let session = queued.session;
        let woken = self.lanes.remove(&session) == Some(SessionLane::Busy { wake_again: true });
        match turn {
            TurnOutcome::Idle if !woken => {}
            TurnOutcome::Idle => self.make_ready(queued),
            TurnOutcome::Ended => {
                self.crashes.remove(&session);
                self.make_ready(queued);
            }
            TurnOutcome::Crashed(run) => {
                let crashed = self.crashes.entry(session).or_insert((*run, 0));
                let before = if crashed.0 == *run { crashed.1 } else { 0 };
                *crashed = (*run, before + 1);
                self.make_ready(queued);
            }
            TurnOutcome::Stuck => {
                self.lanes.insert(session, SessionLane::Stuck);
            }
        }
    }

    /// Gives a slot to the session of this generation that has waited longest.
    fn start_next(&mut self, depth: usize, slot: OwnedSemaphorePermit) {
        let Some(queued) = self.ready[depth].pop_front() else {
            return;
        };
        let session = queued.session;
        self.lanes
            .insert(session, SessionLane::Busy { wake_again: false });
        let turn = SessionTurn {
            shared: Arc::clone(&self.shared),
            queue: self.queue.clone(),
            session,
            crashed: self.crashes.get(&session).copied(),
        };
        let queue = self.queue.clone();
        let tasks = &self.shared.deps.tasks;
        tasks.spawn("agent run", async move {
            // Boxed, because the future of a whole run is large.
            let turn = Box::pin(turn.run_next(slot)).await;
            let _ = queue
                .sender
                .send(QueueMessage::TurnEnded { queued, turn })
                .await;
        });
    }
}

/// The first future that is ready. There must be at least one.
async fn first_ready<T>(some: Vec<BoxFuture<'static, T>>) -> T {
    select_all(some).await.0
}
