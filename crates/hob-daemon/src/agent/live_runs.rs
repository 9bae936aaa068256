//! Runs in progress: the text of the current attempt, the channel to the driver, and the waiters
//! for the end.
//!
//! Invariants: a piece of text is in the view before its delta is on the bus, so that a client that
//! subscribes first and then asks has no gap; the text of a new attempt starts empty.

use super::journal::SteeringText;
use hob_bus::{EventEmitter, SessionTag};
use hob_models::ReplyDelta;
use hob_store::{RunRow, RunSummary};
use hob_wire::rooms::agent::{
    CallView, DeltaKind, DoubtAnswer, RunDelta, RunDeltaPayload, RunRef, RunServer,
    RunServerPayload, RunView,
};
use hob_wire::{RunId, SessionId, WireError};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{mpsc, oneshot, watch};

/// Commands queued for one driver.
const DRIVER_INBOX_MAX: usize = 64;

/// An action requested of a run's driver.
#[derive(Debug)]
pub(crate) enum RunAction {
    Abort,
    Steer(SteeringText),
    Resolve {
        call: String,
        answer: DoubtAnswer,
        result: Option<String>,
    },
    Allow {
        micro_dollars: u64,
    },
}

/// An action and the reply channel for the run's view after it.
#[derive(Debug)]
pub(crate) struct DriverCommand {
    pub(crate) action: RunAction,
    pub(crate) reply: oneshot::Sender<Result<RunView, WireError>>,
}

/// Every run that has a driver or a waiter.
#[derive(Debug, Default)]
pub(crate) struct LiveRuns {
    // A std mutex: held for a lookup, never across an await.
    runs: Mutex<HashMap<RunId, Arc<LiveRun>>>,
}

/// The outcome reported to waiters of a run.
#[derive(Clone, Debug)]
pub(crate) enum WaitOutcome {
    /// The run ended.
    Ended(Arc<RunView>),
    /// hob is stopping; the run resumes at the next start.
    Left,
    /// This daemon cannot continue the run, for this reason.
    Stuck(String),
}

/// Waits for the outcome of a run.
#[derive(Debug)]
pub(crate) struct EndWaiter(watch::Receiver<Option<WaitOutcome>>);

/// One run, as long as it has a driver or a waiter.
#[derive(Debug)]
pub(crate) struct LiveRun {
    outcome: watch::Sender<Option<WaitOutcome>>,
    driver: Mutex<Option<DriverHandle>>,
}

#[derive(Debug)]
struct DriverHandle {
    session: SessionId,
    inbox: mpsc::Sender<DriverCommand>,
    view: Arc<LiveView>,
}

impl LiveRuns {
    /// Registers a waiter; it receives every outcome reported after this call.
    pub(crate) fn wait_for(&self, run: RunId) -> EndWaiter {
        let mut runs = lock(&self.runs);
        // Under the lock, so that `release_driver` cannot remove the entry as one without waiters.
        EndWaiter(entry_for(&mut runs, run).outcome.subscribe())
    }

    pub(crate) fn find(&self, run: &RunId) -> Option<Arc<LiveRun>> {
        lock(&self.runs).get(run).cloned()
    }

    /// The run of this session that has a driver.
    pub(crate) fn find_by_session(&self, session: SessionId) -> Option<Arc<LiveRun>> {
        let runs = lock(&self.runs);
        let of_it = |live: &&Arc<LiveRun>| {
            let driver = lock(&live.driver);
            driver.as_ref().is_some_and(|it| it.session == session)
        };
        runs.values().find(of_it).cloned()
    }

    /// Registers the driver; returns its command receiver.
    pub(crate) fn register_driver(
        &self,
        row: &RunRow,
        view: &Arc<LiveView>,
    ) -> mpsc::Receiver<DriverCommand> {
        let (inbox, commands) = mpsc::channel(DRIVER_INBOX_MAX);
        let place = entry_for(&mut lock(&self.runs), row.id);
        *lock(&place.driver) = Some(DriverHandle {
            session: row.session_id,
            inbox,
            view: Arc::clone(view),
        });
        commands
    }

    /// Reports the end of a run to its waiters and removes it.
    pub(crate) fn finish(&self, run: &RunId, view: RunView) {
        self.resolve_waiters(run, WaitOutcome::Ended(Arc::new(view)));
    }

    /// Removes a run that has no driver any more and reports the outcome to its waiters.
    pub(crate) fn resolve_waiters(&self, run: &RunId, outcome: WaitOutcome) {
        let place = lock(&self.runs).remove(run);
        if let Some(place) = place {
            *lock(&place.driver) = None;
            place.outcome.send_replace(Some(outcome));
        }
    }

    /// Unregisters the driver of a run that has not ended. It will be driven again, so its waiters
    /// stay.
    pub(crate) fn release_driver(&self, run: &RunId) {
        let mut runs = lock(&self.runs);
        if let Some(place) = runs.get(run) {
            *lock(&place.driver) = None;
            if place.outcome.receiver_count() == 0 {
                runs.remove(run);
            }
        }
    }
}

impl LiveRun {
    /// The current view, if a driver has the run.
    pub(crate) fn view(&self) -> Option<RunView> {
        lock(&self.driver).as_ref().map(|driver| driver.view.view())
    }

    /// Sends an action to the driver. Returns `None` if the driver is gone.
    pub(crate) async fn send_action(
        &self,
        action: RunAction,
    ) -> Option<Result<RunView, WireError>> {
        let inbox = lock(&self.driver)
            .as_ref()
            .map(|driver| driver.inbox.clone())?;
        let (reply, answer) = oneshot::channel();
        inbox.send(DriverCommand { action, reply }).await.ok()?;
        answer.await.ok()
    }
}

impl EndWaiter {
    /// Waits for the outcome; `None` if the entry was dropped.
    pub(crate) async fn wait(&mut self) -> Option<WaitOutcome> {
        let outcome = self.0.wait_for(Option::is_some).await.ok()?;
        outcome.clone()
    }
}

/// The run's entry, created if it is missing.
fn entry_for(runs: &mut HashMap<RunId, Arc<LiveRun>>, run: RunId) -> Arc<LiveRun> {
    let made = runs.entry(run).or_insert_with(|| {
        let (outcome, _) = watch::channel(None);
        Arc::new(LiveRun {
            outcome,
            driver: Mutex::new(None),
        })
    });
    Arc::clone(made)
}

/// The current view of a run and the delta emitter of its current attempt.
#[derive(Debug)]
pub(crate) struct LiveView {
    deltas: Arc<DeltaEmitter>,
    last_write: Mutex<LastWrite>,
}

/// State after the last write.
#[derive(Debug)]
struct LastWrite {
    row: RunRow,
    calls: Vec<CallView>,
}

impl LiveView {
    pub(crate) fn new(row: RunRow, calls: Vec<CallView>, emitter: EventEmitter) -> Self {
        let of = RunRef {
            session_key: row.session_key.clone(),
            run_id: row.id,
        };
        let deltas = DeltaEmitter::new(emitter, of, row.session_id.to_string());
        deltas.begin_attempt(row.summary.step, row.summary.attempt);
        LiveView {
            deltas: Arc::new(deltas),
            last_write: Mutex::new(LastWrite { row, calls }),
        }
    }

    pub(crate) fn run_of(&self) -> &RunRef {
        &self.deltas.of
    }

    pub(crate) fn deltas(&self) -> &Arc<DeltaEmitter> {
        &self.deltas
    }

    /// Updates the view after a write.
    pub(crate) fn update(&self, summary: RunSummary, calls: Vec<CallView>) {
        let mut last_write = lock(&self.last_write);
        last_write.row.summary = summary;
        last_write.calls = calls;
    }

    pub(crate) fn view(&self) -> RunView {
        let last_write = lock(&self.last_write);
        let mut view = super::views::run_view(&last_write.row, last_write.calls.clone());
        if view.cause.is_none() {
            // The stored text lags behind: the text of the attempt is only in memory.
            let attempt_text = lock(&self.deltas.attempt_text);
            view.step = attempt_text.step;
            view.attempt = attempt_text.attempt;
            view.text.clone_from(&attempt_text.text);
        }
        view
    }
}

/// Emits an answer piece by piece as deltas.
#[derive(Debug)]
pub(crate) struct DeltaEmitter {
    emitter: EventEmitter,
    of: RunRef,
    tag: SessionTag,
    attempt_text: Mutex<AttemptText>,
}

/// Text and offsets of the current attempt.
#[derive(Debug, Default)]
struct AttemptText {
    step: u32,
    attempt: u32,
    text: String,
    thinking_bytes: u64,
    tool_bytes: u64,
    tool_index: Option<usize>,
}

impl DeltaEmitter {
    /// Creates an emitter for the session with this id.
    pub(crate) fn new(emitter: EventEmitter, of: RunRef, session: String) -> Self {
        let named = of.session_key != session;
        DeltaEmitter {
            emitter,
            tag: SessionTag {
                key: named.then(|| of.session_key.as_str().into()),
                id: session.into(),
            },
            of,
            attempt_text: Mutex::default(),
        }
    }

    /// Begins an attempt and discards the text of the former one.
    pub(crate) fn begin_attempt(&self, step: u32, attempt: u32) {
        *lock(&self.attempt_text) = AttemptText {
            step,
            attempt,
            ..AttemptText::default()
        };
    }

    /// The text of the current attempt.
    pub(crate) fn text(&self) -> String {
        lock(&self.attempt_text).text.clone()
    }

    /// Announces which server of this machine gets the prompt, before it does.
    pub(crate) fn announce_server(&self, server: String, model: String, demo: bool) {
        let payload = RunServerPayload {
            run: self.of.clone(),
            server,
            model,
            demo,
        };
        self.emitter
            .emit::<RunServer>(Some(self.tag.clone()), &payload);
    }

    /// Emits a piece of the answer.
    pub(crate) fn emit_piece(&self, piece: ReplyDelta) {
        let mut attempt_text = lock(&self.attempt_text);
        let Some((kind, offset, delta)) = attempt_text.append(piece) else {
            return;
        };
        let payload = RunDeltaPayload {
            run: self.of.clone(),
            step: attempt_text.step,
            attempt: attempt_text.attempt,
            offset,
            kind,
            delta,
            cost: None,
        };
        // Under the lock, so that deltas are emitted in the order of their offsets.
        self.emitter
            .emit::<RunDelta>(Some(self.tag.clone()), &payload);
    }
}

impl AttemptText {
    /// Appends a piece and returns its delta; `None` if it is no part of the answer.
    fn append(&mut self, piece: ReplyDelta) -> Option<(DeltaKind, u64, String)> {
        let taken = match piece {
            ReplyDelta::Server { .. } => return None,
            ReplyDelta::Text(text) => {
                let offset = self.text.len() as u64;
                self.text.push_str(&text);
                (DeltaKind::Text, offset, text)
            }
            ReplyDelta::Thinking(text) => {
                let offset = self.thinking_bytes;
                self.thinking_bytes += text.len() as u64;
                (DeltaKind::Thinking, offset, text)
            }
            ReplyDelta::Tool { index, name, delta } => {
                let offset = self.tool_bytes;
                let text = match self.tool_index.replace(index) {
                    Some(before) if before == index => delta,
                    Some(_) => format!("\n{name} {delta}"),
                    None => format!("{name} {delta}"),
                };
                self.tool_bytes += text.len() as u64;
                (DeltaKind::Tool, offset, text)
            }
        };
        Some(taken)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "live_runs_tests.rs"]
mod tests;
