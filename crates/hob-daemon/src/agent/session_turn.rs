//! One turn of a session: its first unfinished run is loaded, driven and ended.
//!
//! Invariant: a run that fails inside hob is tried a few times and then ended; it blocks only its
//! own session.

use super::agent_context::AgentContext;
use super::child_runs;
use super::driver::{DriveOutcome, RunDriver};
use super::live_runs::WaitOutcome;
use super::queue::{CRASH_WAIT, RunQueue, TurnOutcome};
use super::step_draft::StepDraft;
use super::views;
use futures_util::FutureExt;
use hob_kit::failpoint;
use hob_store::{RunRow, StepWrite, StoreError};
use hob_wire::id::SessionRef;
use hob_wire::rooms::agent::{RunCompleted, RunCompletedPayload, RunRef, RunState, RunView};
use hob_wire::work::RunEndCause;
use hob_wire::{RunId, SessionId};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

/// Crashes of a driver after which its run is ended.
const CRASHES_MAX: u32 = 3;
/// End reason of a run whose driver crashed repeatedly.
const CRASHED_REPEATEDLY: &str = "It failed inside hob each time it was tried.";

/// One turn of a session: its first unfinished run.
pub(super) struct SessionTurn {
    pub(super) shared: Arc<AgentContext>,
    pub(super) queue: RunQueue,
    pub(super) session: SessionId,
    /// The run whose driver crashed before, and how often.
    pub(super) crashed: Option<(RunId, u32)>,
}

impl SessionTurn {
    pub(super) async fn run_next(self, slot: OwnedSemaphorePermit) -> TurnOutcome {
        if self.shared.deps.tasks.is_draining() {
            return TurnOutcome::Stuck;
        }
        let session = SessionRef::Id(self.session);
        let row = match self.shared.deps.store.next_run(&session).await {
            Ok(Some(row)) => row,
            Ok(None) | Err(StoreError::NotFound(_)) => return TurnOutcome::Idle,
            Err(StoreError::DamagedRow(_)) => {
                let ended = self.shared.deps.store.end_damaged_runs().await;
                return match ended {
                    Ok(ended) if !ended.is_empty() => TurnOutcome::Ended,
                    _ => TurnOutcome::Stuck,
                };
            }
            Err(error) => {
                tracing::error!("the next run of a session cannot be read: {error}");
                // Others use the slot while this session backs off.
                drop(slot);
                return self.back_off(1, TurnOutcome::Ended).await;
            }
        };
        let run = row.id;
        let former = self.crashed.filter(|(crashed, _)| *crashed == run);
        let crashes = former.map_or(0, |(_, crashes)| crashes);
        if crashes > CRASHES_MAX {
            return Box::pin(self.park(row, CRASHED_REPEATEDLY)).await;
        }
        // Its parent ended while no daemon ran or before this run had its turn.
        if child_runs::is_orphan(&self.shared, &row).await {
            let _ = child_runs::end_run(&self.shared, &self.queue, run).await;
            return TurnOutcome::Ended;
        }
        // A panic in one run must not take down the daemon. What the run wrote is consistent,
        // because each step is one transaction.
        let driven = AssertUnwindSafe(self.drive(row.clone(), slot)).catch_unwind();
        match driven.await {
            // Another try would find the same damage.
            Ok(Err(StoreError::DamagedRow(damaged))) => {
                self.shared.live.release_driver(&run);
                return self.end_unreadable(row, damaged.message).await;
            }
            Ok(Ok(DriveOutcome::Over)) => return TurnOutcome::Ended,
            Ok(Ok(DriveOutcome::Left)) => return self.leave_unfinished(run, WaitOutcome::Left),
            Ok(Err(error)) if is_final(&error) => {
                tracing::error!(%run, "the run cannot continue: {error}");
                return self.leave_unfinished(run, WaitOutcome::Stuck(error.to_string()));
            }
            // Another try would read the same damage: the run ends and its session is free.
            Ok(Err(error @ StoreError::Damaged { .. })) => {
                tracing::error!(%run, "a part of the run cannot be read: {error}");
                self.shared.live.release_driver(&run);
                self.shared.deps.transcripts.reset(&row.session_key);
                return Box::pin(self.park(row, &error.to_string())).await;
            }
            Ok(Err(error)) => tracing::warn!(%run, "the run's driver ended: {error}"),
            Err(_) => tracing::error!(%run, "the run's driver panicked; the run is resumed"),
        }
        self.shared.live.release_driver(&run);
        // What the driver wrote last was perhaps not shown.
        self.shared.deps.transcripts.reset(&row.session_key);
        self.back_off(crashes, TurnOutcome::Crashed(run)).await
    }

    /// Leaves a run to the next start and tells its waiters.
    fn leave_unfinished(&self, run: RunId, outcome: WaitOutcome) -> TurnOutcome {
        self.shared.live.resolve_waiters(&run, outcome);
        TurnOutcome::Stuck
    }

    async fn drive(
        &self,
        row: RunRow,
        slot: OwnedSemaphorePermit,
    ) -> Result<DriveOutcome, StoreError> {
        let run = row.id;
        failpoint::reach_with("run.drive", &row.task);
        let mut driver = RunDriver::load(&self.shared, row).await?;
        let ending = driver.drive(slot).await?;
        if ending == DriveOutcome::Over {
            let view = driver.view();
            drop(driver);
            // A run without tool calls started no children.
            let has_calls = !view.calls.is_empty();
            self.shared.live.finish(&run, view);
            if has_calls {
                child_runs::end_children(&self.shared, &self.queue, run).await;
            }
        }
        Ok(ending)
    }

    /// Ends a run that cannot be driven, with this reason.
    async fn park(&self, row: RunRow, reason: &str) -> TurnOutcome {
        let run = row.id;
        let parked = async {
            match RunDriver::load(&self.shared, row.clone()).await {
                Ok(driver) => driver.park(reason).await,
                // The run cannot be read any more, but its end can still be written.
                Err(error) => {
                    fail_unreadable(
                        &self.shared,
                        row,
                        RunEndCause::Parked,
                        unreadable_message(&error),
                    )
                    .await
                }
            }
        };
        Box::pin(self.finish_ending(run, parked)).await
    }

    /// Ends a run with damaged data in the store.
    async fn end_unreadable(&self, row: RunRow, message: String) -> TurnOutcome {
        let run = row.id;
        let mut shown = row.clone();
        shown.summary.state = RunState::Done;
        shown.summary.cause = Some(RunEndCause::Parked);
        shown.summary.message = Some(message.clone());
        let ended = async {
            match fail_unreadable(&self.shared, row, RunEndCause::Parked, message).await {
                // The run's own row is damaged and takes no step; only the store can end it.
                Err(StoreError::DamagedRow(_)) => {
                    self.shared.deps.store.end_damaged_runs().await?;
                    Ok(views::run_view(&shown, Vec::new()))
                }
                ended => ended,
            }
        };
        self.finish_ending(run, ended).await
    }

    async fn finish_ending(
        &self,
        run: RunId,
        parked: impl Future<Output = Result<RunView, StoreError>>,
    ) -> TurnOutcome {
        match AssertUnwindSafe(parked).catch_unwind().await {
            Ok(Ok(view)) => {
                self.shared.live.finish(&run, view);
                TurnOutcome::Ended
            }
            Ok(Err(error)) => {
                tracing::error!(%run, "the run cannot even be ended: {error}");
                self.leave_unfinished(run, WaitOutcome::Stuck(error.to_string()))
            }
            Err(_) => {
                tracing::error!(%run, "ending the run panicked; it is left until the next start");
                self.leave_unfinished(run, WaitOutcome::Stuck("ending it failed".to_owned()))
            }
        }
    }

    async fn back_off(&self, crashes: u32, turn: TurnOutcome) -> TurnOutcome {
        let stop = self.shared.deps.tasks.stop_token();
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(CRASH_WAIT * 2_u32.pow(crashes.min(6))) => {}
        }
        turn
    }
}

/// Ends a run whose journal or parameters cannot be read.
pub(super) async fn fail_unreadable(
    shared: &AgentContext,
    mut row: RunRow,
    cause: RunEndCause,
    message: String,
) -> Result<RunView, StoreError> {
    let summary = &mut row.summary;
    summary.state = RunState::Done;
    summary.cause = Some(cause);
    summary.message = Some(message);
    summary.ended_at = Some(shared.now_ms());
    let completed = RunCompletedPayload {
        run: RunRef {
            session_key: row.session_key.clone(),
            run_id: row.id,
        },
        response: summary.text.clone(),
        success: false,
        cause,
        message: summary.message.clone(),
        cost: summary.cost,
        model: summary.model.clone(),
        notes: summary.notes.clone(),
        denied: Vec::new(),
    };
    let mut draft = StepDraft::default();
    draft.event::<RunCompleted>(&completed);
    let mut write = StepWrite::new(row.id, row.journal_len, summary.clone());
    // No journal entry: the state cannot be replayed, only the row and the event say that the run
    // ended.
    write.events = draft.events;
    shared.deps.store.write_step(write).await?;
    shared.deps.transcripts.reset(&row.session_key);
    Ok(views::run_view(&row, Vec::new()))
}

/// The reason why a run cannot be read any more.
pub(super) fn unreadable_message(error: &StoreError) -> String {
    match error {
        StoreError::DamagedRow(damaged) => damaged.message.clone(),
        error => format!("The stored data of the run cannot be read: {error}"),
    }
}

/// True if this daemon cannot write any run any more.
fn is_final(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Closed | StoreError::Fenced { .. } | StoreError::Replaced { .. }
    )
}
