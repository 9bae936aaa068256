//! A run as its callers see it, from its row and its journal.

use super::journal::Entry;
use super::story::Story;
use hob_store::{RunRow, Store, StoreError};
use hob_wire::rooms::agent::{CallView, RunReply, RunState, RunView};

/// The view of a row.
pub(crate) fn view(row: &RunRow, calls: Vec<CallView>) -> RunView {
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

/// The view of a run nobody drives, its calls read from its journal.
pub(crate) async fn from_store(kept: &Store, row: &RunRow) -> Result<RunView, StoreError> {
    let mut shown = match replay(kept, row).await {
        Ok(story) => view(row, story.calls),
        // Its row is whole: what it says is shown, and that its calls cannot be.
        Err(StoreError::DamagedRow(damaged)) => {
            let mut shown = view(row, Vec::new());
            shown.notes.push(damaged.message);
            shown
        }
        // The row alone says enough to stop the run, or to see how it ended.
        Err(error @ (StoreError::Damaged { .. } | StoreError::Internal(_))) => {
            let mut shown = view(row, Vec::new());
            let note = format!("What the run had written cannot be read any more. {error}");
            shown.notes.push(note);
            shown
        }
        Err(error) => return Err(error),
    };
    // It will be, but is not now.
    shown.running = false;
    Ok(shown)
}

/// The story its journal tells.
pub(crate) async fn replay(kept: &Store, row: &RunRow) -> Result<Story, StoreError> {
    let mut story = Story::new(row.limits);
    if row.journal_len == 0 {
        // It has not begun; most runs are taken up so, and need no look at the disk for it.
        return Ok(story);
    }
    let mut effects = Vec::new();
    for json in kept.journal(&row.id).await? {
        let entry = Entry::read(json).map_err(|error| {
            StoreError::Internal(format!(
                "the journal of run {} cannot be read: {error}",
                row.id
            ))
        })?;
        story.take(&entry, &mut effects);
        effects.clear();
    }
    // They were written with the entries that were read.
    story.due.clear();
    Ok(story)
}

/// The answer of `agent.run` without waiting.
pub(crate) fn accepted(row: &RunRow) -> RunReply {
    RunReply {
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

/// The answer of `agent.run` at the end.
pub(crate) fn ended(view: &RunView) -> RunReply {
    use hob_wire::work::Cause;
    RunReply {
        run_id: view.run_id,
        session_key: view.session_key.clone(),
        state: view.state,
        response: Some(view.text.clone()),
        success: Some(view.cause == Some(Cause::Answered)),
        cause: view.cause,
        cost: Some(view.cost),
        model: view.model.clone(),
    }
}
