//! Taking back what a run changed in files.
//!
//! Invariants: only of a run that has ended; a change that was undone is not undone again; what
//! could not be undone is told, each with its reason; so are commands, whose changes nobody keeps.

use super::Shared;
use hob_store::Change;
use hob_tools::undo::{Undoing, undo as undo_change};
use hob_wire::id::RunId;
use hob_wire::rooms::agent::{CallState, RunSelector, RunState, Status};
use hob_wire::rooms::tool::{Undone, UndoneChange};
use hob_wire::{ErrorCode, WireError};

/// Tools that run command lines.
const COMMANDERS: [&str; 3] = ["exec", "process", hob_tools::terminal::NAME];
/// Commands of a run that are named.
const COMMANDS_SHOWN_MAX: usize = 20;
/// Letters of each.
const COMMAND_CHARS_MAX: usize = 120;

/// Undoes everything that is kept of a run and of those it started, the newest first.
pub(super) async fn undo(shared: &Shared, run: RunId) -> Result<Undone, WireError> {
    let row = shared.store.run(&run).await?;
    if row.summary.state != RunState::Done {
        let message = "This run has not ended; stop it first, then undo it.";
        return Err(WireError::new(ErrorCode::Conflict, message));
    }
    let _turn = shared.undo.lock().await;
    let mut undone = Undone::default();
    let mut changes = Vec::new();
    for member in family(shared, run).await? {
        changes.extend(shared.store.changes(&member).await?);
        undone.notes.extend(commands_note(shared, member).await);
    }
    changes.sort_by_key(|change| std::cmp::Reverse(change.id));
    if changes.is_empty() {
        let note = "Nothing is kept of this run: it changed no file, or it is too long ago.";
        undone.notes.push(note.to_owned());
        return Ok(undone);
    }
    let mut settled = Vec::new();
    for change in changes.into_iter().filter(|change| !change.is_undone) {
        let id = change.id;
        let (place, undoing) = undo_one(shared, change).await;
        match undoing {
            Undoing::Kept { reason } => undone.kept.push(told(place, reason)),
            Undoing::Restored { what } => {
                undone.restored.push(told(place, what.to_owned()));
                settled.push(id);
            }
            Undoing::AlreadySo => settled.push(id),
        }
    }
    shared.store.changes_undone(settled).await?;
    if undone.restored.is_empty() && undone.kept.is_empty() {
        let note = "Everything this run changed in files is as it was before already.";
        undone.notes.push(note.to_owned());
    }
    Ok(undone)
}

/// The run and all that were started for it.
async fn family(shared: &Shared, run: RunId) -> Result<Vec<RunId>, WireError> {
    let mut family = vec![run];
    let mut looked = 0;
    while let Some(member) = family.get(looked) {
        let children = shared.store.children(member).await?;
        family.extend(children.iter().map(|child| child.id));
        looked += 1;
    }
    Ok(family)
}

/// What a person must know of the commands a run ran: nobody keeps what they change.
async fn commands_note(shared: &Shared, run: RunId) -> Vec<String> {
    let selector = RunSelector {
        session_key: None,
        run_id: Some(run),
    };
    let Ok(view) = shared.caller.call::<Status>(&selector).await else {
        return Vec::new();
    };
    let ran = view.calls.iter().filter(|call| {
        let is_begun = !matches!(call.state, CallState::Asked | CallState::Denied);
        is_begun && COMMANDERS.contains(&call.call.name.as_str())
    });
    let mut lines: Vec<String> = ran.filter_map(|call| command(&call.call.args)).collect();
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
        "What commands changed is not kept and cannot be undone here. This run ran: {lines}"
    )]
}

/// The command line of a call, in one short line.
fn command(args: &serde_json::Value) -> Option<String> {
    let command = args["command"].as_str()?;
    let mut line: String = command.chars().take(COMMAND_CHARS_MAX).collect();
    if line.len() < command.len() {
        line.push('…');
    }
    Some(format!("`{}`", line.replace(['\n', '\r'], " ")))
}

async fn undo_one(shared: &Shared, change: Change) -> ((String, String), Undoing) {
    let place = (change.workspace.clone(), change.path.clone());
    let former = match shared.store.former(&change).await {
        Ok(former) => former,
        Err(error) => {
            let reason = error.to_string();
            return (place, Undoing::Kept { reason });
        }
    };
    let ground = shared.ground.clone();
    let undone = tokio::task::spawn_blocking(move || undo_change(&change, &former, &ground));
    let undoing = undone.await.unwrap_or_else(|_| Undoing::Kept {
        reason: "Undoing it was interrupted.".to_owned(),
    });
    (place, undoing)
}

fn told((workspace, path): (String, String), what: String) -> UndoneChange {
    UndoneChange {
        workspace,
        path,
        what,
    }
}
