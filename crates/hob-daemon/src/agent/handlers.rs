//! Handlers of the room's methods: run, wait, abort, status, list, stats, resolve, allow.

use super::agent_context::AgentContext;
use super::authority;
use super::child_runs::{end_children, end_run};
use super::folder_runs;
use super::live_runs::{RunAction, WaitOutcome};
use super::queue::RunQueue;
use super::views;
use crate::reserved_sessions::{self, SessionTarget};
use hob_bus::RequestContext;
use hob_store::RunRow;
use hob_wire::id::SessionRef;
use hob_wire::limits::PAGE_ROWS_MAX;
use hob_wire::rooms::agent::{
    AgentAbortResult, AgentAllowParams, AgentListParams, AgentListResult, AgentResolveParams,
    AgentRunParams, AgentRunResult, AgentStats, AgentStatsParams, AgentWaitParams, RunSelector,
    RunState, RunView,
};
use hob_wire::{ErrorCode, RunId, WireError};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Most requests that wait for the end of a run.
const WAITERS_MAX: usize = 4_096;
/// Longest wait for the end of a run. Below the silence after which a caller assumes a failure.
const WAIT_MS_MAX: u64 = 240_000;
/// Retry delay for a run between queue and driver.
pub(super) const RETRY_AFTER_MS: u64 = 500;

/// The room's handlers.
#[derive(Debug)]
pub(crate) struct AgentHandlers {
    pub(crate) shared: Arc<AgentContext>,
    pub(crate) queue: RunQueue,
    waiters: Semaphore,
}

impl AgentHandlers {
    pub(crate) fn new(shared: Arc<AgentContext>, queue: RunQueue) -> Self {
        AgentHandlers {
            shared,
            queue,
            waiters: Semaphore::new(WAITERS_MAX),
        }
    }

    pub(crate) async fn run(
        &self,
        call: RequestContext,
        params: AgentRunParams,
    ) -> Result<AgentRunResult, WireError> {
        let wait = params.wait;
        let row = if let Some(parent) = params.parent {
            self.spawn_child(&call, parent, params).await?
        } else {
            let target = SessionTarget {
                session: Some(&params.session_key),
                kind: params.kind.as_deref(),
                parent: None,
            };
            reserved_sessions::check_session_access(&call, &self.shared.deps.store, target).await?;
            let params = authority::narrow_run(&self.shared, &call, params).await?;
            self.check_params(&params)?;
            match self.try_steer(&params).await? {
                Some(row) => row,
                None => self.accept_run(params).await?,
            }
        };
        if !wait {
            return Ok(views::accepted_reply(&row));
        }
        self.wait_until_abandoned(&call, row).await
    }

    pub(crate) async fn abort(&self, selector: RunSelector) -> Result<AgentAbortResult, WireError> {
        if let Some(chat) = selector.run_id.and_then(|id| self.find_open_chat(id)) {
            chat.cancel();
            return Ok(AgentAbortResult { runs: Vec::new() });
        }
        let rows = match selector.run_id {
            Some(run) => vec![self.shared.deps.store.run(&run).await?],
            None => self.unfinished_runs(&selector).await?,
        };
        let mut runs = Vec::new();
        // Newest first, so that no waiting run starts when the active one ends.
        for row in rows {
            let ended = end_run(&self.shared, &self.queue, row.id);
            let below = end_children(&self.shared, &self.queue, row.id);
            let (ended, below) = tokio::join!(ended, below);
            runs.extend(ended?);
            runs.extend(below);
        }
        Ok(AgentAbortResult { runs })
    }

    pub(crate) async fn status(&self, selector: RunSelector) -> Result<RunView, WireError> {
        let store = &self.shared.deps.store;
        let row = match (selector.run_id, &selector.session_key) {
            (Some(run), _) => store.run(&run).await?,
            (None, Some(session)) => {
                let latest = store.latest_run(&SessionRef::parse(session)).await?;
                latest.ok_or_else(|| {
                    let message = format!("The session '{session}' has no run.");
                    WireError::new(ErrorCode::NotFound, message)
                })?
            }
            (None, None) => return Err(selector_missing()),
        };
        self.view(&row).await
    }

    pub(crate) async fn wait_for(
        &self,
        call: RequestContext,
        params: AgentWaitParams,
    ) -> Result<RunView, WireError> {
        let row = self.shared.deps.store.run(&params.run_id).await?;
        let limit = params.wait_ms.unwrap_or(WAIT_MS_MAX).min(WAIT_MS_MAX);
        let wait = tokio::time::timeout(
            Duration::from_millis(limit),
            self.wait_until_abandoned(&call, row),
        );
        if let Ok(Err(refusal)) = wait.await {
            return Err(refusal);
        }
        let row = self.shared.deps.store.run(&params.run_id).await?;
        self.view(&row).await
    }

    pub(crate) async fn list(&self, params: AgentListParams) -> Result<AgentListResult, WireError> {
        let store = &self.shared.deps.store;
        let page = match params.folder.clone() {
            Some(folder) => folder_runs::find(store, params, &folder).await?,
            None => store.list_runs(params).await?,
        };
        let view = |row: &RunRow| {
            let live = self.shared.live.find(&row.id).and_then(|live| live.view());
            let mut view = live.unwrap_or_else(|| RunView {
                running: false,
                ..views::run_view(row, Vec::new())
            });
            // Calls may be large; `agent.status` shows them.
            view.calls.clear();
            view
        };
        Ok(AgentListResult {
            runs: page.runs.iter().map(view).collect(),
            next: page.next,
            damaged: page.damaged,
        })
    }

    pub(crate) async fn stats(&self, _: AgentStatsParams) -> Result<AgentStats, WireError> {
        let stats = self.shared.deps.store.run_stats().await?;
        Ok(AgentStats {
            runs: stats.runs,
            active: stats.active,
            waiting: stats.waiting,
            queued: stats.queued,
            cost: stats.cost,
        })
    }

    pub(crate) async fn resolve(&self, params: AgentResolveParams) -> Result<RunView, WireError> {
        let action = RunAction::Resolve {
            call: params.call_id,
            answer: params.answer,
            result: params.result,
        };
        self.send_action(params.run_id, action).await
    }

    pub(crate) async fn allow(&self, params: AgentAllowParams) -> Result<RunView, WireError> {
        let action = RunAction::Allow {
            micro_dollars: params.micro_dollars,
        };
        self.send_action(params.run_id, action).await
    }

    async fn send_action(&self, run: RunId, action: RunAction) -> Result<RunView, WireError> {
        if let Some(live) = self.shared.live.find(&run)
            && let Some(answer) = live.send_action(action).await
        {
            return answer;
        }
        let row = self.shared.deps.store.run(&run).await?;
        if row.summary.state == RunState::Done {
            let message = "The run has ended; there is nothing to answer.";
            return Err(WireError::new(ErrorCode::Conflict, message));
        }
        let message = "The run is being resumed. Try again in a moment.";
        Err(WireError::new(ErrorCode::ServiceUnavailable, message).retry_after(RETRY_AFTER_MS))
    }

    /// As [`AgentHandlers::wait_for_end`], until the caller disconnects.
    async fn wait_until_abandoned(
        &self,
        call: &RequestContext,
        row: RunRow,
    ) -> Result<AgentRunResult, WireError> {
        tokio::select! {
            reply = self.wait_for_end(row) => reply,
            () = call.abandoned.cancelled() => {
                Err(WireError::new(ErrorCode::Cancelled, "The caller has disconnected."))
            }
        }
    }

    /// Replies at the end of the run.
    async fn wait_for_end(&self, row: RunRow) -> Result<AgentRunResult, WireError> {
        let _waiting = self.waiters.try_acquire().map_err(|_| {
            let message = format!(
                "Already {WAITERS_MAX} requests wait for runs. Run {} continues; ask for its status.",
                row.id
            );
            WireError::new(ErrorCode::Overloaded, message).retry_after(RETRY_AFTER_MS)
        })?;
        let run = row.id;
        let mut waiter = self.shared.live.wait_for(run);
        // Read after the waiter is registered, so that an end in between is not missed.
        let row = self.shared.deps.store.run(&run).await?;
        if row.summary.state == RunState::Done {
            drop(waiter);
            self.shared.live.release_driver(&run);
            return Ok(views::ended_reply(&views::run_view(&row, Vec::new())));
        }
        let outcome = tokio::select! {
            outcome = waiter.wait() => outcome,
            () = self.wait_for_last_turn(run) => Some(WaitOutcome::Left),
        };
        match outcome {
            Some(WaitOutcome::Ended(view)) => Ok(views::ended_reply(&view)),
            Some(WaitOutcome::Stuck(reason)) => {
                let message = format!("Run {run} cannot continue now: {reason}");
                Err(WireError::new(ErrorCode::Internal, message))
            }
            Some(WaitOutcome::Left) | None => {
                let message =
                    format!("hob is stopping. Run {run} is saved and resumes at the next start.");
                Err(WireError::new(ErrorCode::ServiceUnavailable, message)
                    .retry_after(RETRY_AFTER_MS))
            }
        }
    }

    /// Returns when hob stops and the run has no driver: it gets no turn any more.
    async fn wait_for_last_turn(&self, run: RunId) {
        let tasks = &self.shared.deps.tasks;
        tasks.drain_token().cancelled().await;
        let live = self.shared.live.find(&run);
        if live.is_some_and(|live| live.view().is_some()) {
            // The driver reports its outcome as long as there is time.
            tasks.stopping().await;
        }
    }

    async fn view(&self, row: &RunRow) -> Result<RunView, WireError> {
        let store = &self.shared.deps.store;
        let mut row = row.clone();
        while row.summary.state != RunState::Done {
            if let Some(view) = self.shared.live.find(&row.id).and_then(|live| live.view()) {
                return Ok(view);
            }
            // A driver may have come and gone since the row was read, and the row of a run in
            // progress lacks the text that the driver had.
            let current = store.run(&row.id).await?;
            let is_unchanged = current.journal_len == row.journal_len;
            row = current;
            if is_unchanged {
                break;
            }
        }
        Ok(views::view_from_store(store, &row).await?)
    }

    /// The unfinished runs of a session, newest first.
    async fn unfinished_runs(&self, selector: &RunSelector) -> Result<Vec<RunRow>, WireError> {
        let Some(session_key) = selector.session_key.clone() else {
            return Err(selector_missing());
        };
        let mut params = AgentListParams {
            session_key: Some(session_key),
            limit: Some(PAGE_ROWS_MAX),
            ..AgentListParams::default()
        };
        let mut rows = Vec::new();
        loop {
            let page = self.shared.deps.store.list_runs(params.clone()).await?;
            let live = |row: &RunRow| row.summary.state != RunState::Done;
            // Runs of a session end in order, so all runs before an ended one have ended too.
            let all_live = page.runs.iter().all(live);
            rows.extend(page.runs.into_iter().filter(live));
            match page.next.filter(|_| all_live) {
                Some(next) => params.before = Some(next),
                None => return Ok(rows),
            }
        }
    }

    fn find_open_chat(&self, id: RunId) -> Option<tokio_util::sync::CancellationToken> {
        let chats = self.shared.chats.lock();
        let chats = chats.unwrap_or_else(PoisonError::into_inner);
        chats.get(&id).cloned()
    }
}

fn selector_missing() -> WireError {
    let message = "Name a run (`runId`) or a session (`sessionKey`).";
    WireError::new(ErrorCode::InvalidParams, message)
}
