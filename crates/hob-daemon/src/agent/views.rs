//! Views of runs, built from row and journal.

use super::journal::JournalEntry;
use super::replayed_run::ReplayedRun;
use hob_store::{RunRow, Store, StoreError};
use hob_wire::rooms::agent::{AgentRunResult, CallView, RunState, RunView};

/// The view of a row and its calls.
pub(crate) fn run_view(row: &RunRow, calls: Vec<CallView>) -> RunView {
    let summary = &row.summary;
    RunView {
        run_id: row.id,
        parent: row.parent,
        session_key: row.session_key.clone(),
        state: summary.state,
        running: summary.state == RunState::Running,
        task: row.task.clone(),
        model: summary.model.clone(),
        step: summary.step,
        attempt: summary.attempt,
        text: summary.text.clone(),
        cost: summary.cost,
        cause: summary.cause,
        message: summary.message.clone(),
        notes: summary.notes.clone(),
        calls,
        queued_at: row.queued_at,
        started_at: summary.started_at,
        ended_at: summary.ended_at,
    }
}

/// The view of a run without a driver; its calls are read from the journal.
pub(crate) async fn view_from_store(store: &Store, row: &RunRow) -> Result<RunView, StoreError> {
    let mut shown = match replay(store, row).await {
        Ok(replayed) => run_view(row, replayed.calls),
        // The row is intact: it is shown with a note that the calls cannot be read.
        Err(StoreError::DamagedRow(damaged)) => {
            let mut shown = run_view(row, Vec::new());
            shown.notes.push(damaged.message);
            shown
        }
        // The row alone is enough to stop the run or to see how it ended.
        Err(error @ (StoreError::Damaged { .. } | StoreError::Internal(_))) => {
            let mut shown = run_view(row, Vec::new());
            let note = format!("The stored data of the run cannot be read. {error}");
            shown.notes.push(note);
            shown
        }
        Err(error) => return Err(error),
    };
    // It will run again, but has no driver now.
    shown.running = false;
    Ok(shown)
}

/// Replays the journal of a run.
pub(crate) async fn replay(store: &Store, row: &RunRow) -> Result<ReplayedRun, StoreError> {
    let mut replayed = ReplayedRun::new(row.limits);
    if row.journal_len == 0 {
        // Not begun: most runs are loaded like this, and need no read of the journal.
        return Ok(replayed);
    }
    let mut effects = Vec::new();
    for json in store.journal(&row.id).await? {
        let entry = JournalEntry::from_json(json).map_err(|error| {
            StoreError::Internal(format!(
                "the journal of run {} cannot be read: {error}",
                row.id
            ))
        })?;
        replayed.apply(&entry, &mut effects);
        effects.clear();
    }
    // Due texts were written in the same step as these entries.
    replayed.due_steering.clear();
    Ok(replayed)
}

/// The reply of `agent.run` without `wait`.
pub(crate) fn accepted_reply(row: &RunRow) -> AgentRunResult {
    AgentRunResult {
        run_id: row.id,
        session_key: row.session_key.clone(),
        state: row.summary.state,
        response: None,
        success: None,
        cause: None,
        cost: None,
        model: None,
    }
}

/// The reply of `agent.run` with `wait`.
pub(crate) fn ended_reply(view: &RunView) -> AgentRunResult {
    use hob_wire::work::RunEndCause;
    AgentRunResult {
        run_id: view.run_id,
        session_key: view.session_key.clone(),
        state: view.state,
        response: Some(view.text.clone()),
        success: Some(view.cause == Some(RunEndCause::Answered)),
        cause: view.cause,
        cost: Some(view.cost),
        model: view.model.clone(),
    }
}
