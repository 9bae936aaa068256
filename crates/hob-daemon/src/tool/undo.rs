//! Undoes the file changes of a run.
//!
//! Invariants: only for a run that has ended; an undone change is not undone again; what could not
//! be undone is reported with its reason, and so are commands, whose changes are not recorded.

use super::ToolRoomContext;
use super::executor::ToolExecutor;
use super::own_act;
use hob_bus::RequestContext;
use hob_store::FileChange;
use hob_tools::undo::{UndoOutcome, undo as undo_change};
use hob_wire::content::ToolCall;
use hob_wire::id::RunId;
use hob_wire::rooms::agent::{RunSelector, RunState, Status, ToolCallState};
use hob_wire::rooms::tool::{NeedKind, ToolUndoParams, ToolUndoResult, UndoneChange};
use hob_wire::{ErrorCode, WireError};

/// Most commands listed for a run.
const COMMANDS_SHOWN_MAX: usize = 20;
/// Most characters of each.
const COMMAND_CHARS_MAX: usize = 120;

/// Undoes all recorded changes of a run and its descendants, newest first.
pub(super) async fn undo(
    executor: &ToolExecutor,
    call: RequestContext,
    params: ToolUndoParams,
) -> Result<ToolUndoResult, WireError> {
    let (shared, run) = (&executor.shared, params.run_id);
    own_act::record_undo(shared, &call.caller, run).await?;
    let row = shared.deps.store.run(&run).await?;
    // An active run could change the files again while they are restored.
    if row.summary.state != RunState::Done {
        let message = "This run has not ended; stop it first, then undo it.";
        return Err(WireError::new(ErrorCode::Conflict, message));
    }
    let _lock = shared.undo_lock.lock().await;
    let mut undone = ToolUndoResult::default();
    let mut changes = Vec::new();
    for member in run_and_descendants(shared, run).await? {
        changes.extend(shared.deps.store.changes(&member).await?);
        undone.notes.extend(command_notes(shared, member).await);
    }
    // Newest first over all runs: a later change may build on an earlier one to the same file.
    changes.sort_by_key(|change| std::cmp::Reverse(change.id));
    if changes.is_empty() {
        let note = "No changes are stored for this run: it changed no file, or it is too long ago.";
        undone.notes.push(note.to_owned());
        return Ok(undone);
    }
    let mut settled = Vec::new();
    for change in changes.into_iter().filter(|change| !change.is_undone) {
        let id = change.id;
        let (place, undoing) = undo_one(shared, change).await;
        match undoing {
            UndoOutcome::Kept { reason } => undone.kept.push(undone_change(place, reason)),
            UndoOutcome::Restored { what } => {
                undone.restored.push(undone_change(place, what.to_owned()));
                settled.push(id);
            }
            UndoOutcome::AlreadyUndone => settled.push(id),
        }
    }
    // Marked after the files: if this fails, the next undo finds them restored already.
    shared.deps.store.mark_changes_undone(settled).await?;
    if undone.restored.is_empty() && undone.kept.is_empty() {
        let note = "Already undone.";
        undone.notes.push(note.to_owned());
    }
    Ok(undone)
}

/// The run and all its descendants.
async fn run_and_descendants(
    shared: &ToolRoomContext,
    run: RunId,
) -> Result<Vec<RunId>, WireError> {
    let mut runs = vec![run];
    let mut visited = 0;
    // The list grows while it is walked: the children of each run are appended.
    while let Some(member) = runs.get(visited) {
        let children = shared.deps.store.children(member).await?;
        runs.extend(children.iter().map(|child| child.id));
        visited += 1;
    }
    Ok(runs)
}

/// Notes about the commands of a run, whose changes are not recorded.
async fn command_notes(shared: &ToolRoomContext, run: RunId) -> Vec<String> {
    let selector = RunSelector {
        session_key: None,
        run_id: Some(run),
    };
    let Ok(view) = shared.caller.call::<Status>(&selector).await else {
        return Vec::new();
    };
    let begun = view
        .calls
        .iter()
        .filter(|call| !matches!(call.state, ToolCallState::Asked | ToolCallState::Denied));
    let mut lines: Vec<String> = begun
        .filter_map(|call| command_line(shared, &call.call))
        .collect();
    if lines.is_empty() {
        return lines;
    }
    let more = lines.len().saturating_sub(COMMANDS_SHOWN_MAX);
    lines.truncate(COMMANDS_SHOWN_MAX);
    if more > 0 {
        lines.push(format!("… and {more} more"));
    }
    let lines = lines.join("; ");
    vec![format!(
        "Changes made by commands are not recorded and cannot be undone here. This run ran: {lines}"
    )]
}

/// The command that a call runs, as one short line.
fn command_line(shared: &ToolRoomContext, call: &ToolCall) -> Option<String> {
    let tool = shared.registry.find(&call.name)?;
    let mut needs = tool.spec.needs.iter();
    let need = needs.find(|need| need.kind == NeedKind::Command)?;
    let command = call.args[&need.arg].as_str()?;
    let mut line: String = command.chars().take(COMMAND_CHARS_MAX).collect();
    if line.len() < command.len() {
        line.push('…');
    }
    Some(format!("`{}`", line.replace(['\n', '\r'], " ")))
}

async fn undo_one(shared: &ToolRoomContext, change: FileChange) -> ((String, String), UndoOutcome) {
    let place = (change.workspace.clone(), change.path.clone());
    let former = match shared.deps.store.previous_entry(&change).await {
        Ok(former) => former,
        Err(error) => {
            let reason = error.to_string();
            return (place, UndoOutcome::Kept { reason });
        }
    };
    let tool_env = shared.tool_env.clone();
    let undone = tokio::task::spawn_blocking(move || undo_change(&change, &former, &tool_env));
    let undoing = undone.await.unwrap_or_else(|_| UndoOutcome::Kept {
        reason: "Undoing it was interrupted.".to_owned(),
    });
    (place, undoing)
}

fn undone_change((workspace, path): (String, String), what: String) -> UndoneChange {
    UndoneChange {
        workspace,
        path,
        what,
    }
}
