//! Finds out whether a call that a crash interrupted took effect: the stored previous content is
//! compared with the current content.
//!
//! Invariant: the answer is yes only if every file is as the call would have left it, and no only
//! if every file is as before; a person decides anything in between.

use crate::workspace_path::WorkspacePath;
use crate::{ProbeFuture, ToolEnv, moved_entry};
use hob_core::permission::PreparedCall;
use hob_store::{FileChange, PreviousEntry};
use hob_wire::rooms::tool::{ToolExecuteResult, ToolProbeResult};

/// Rebuilds the answer that the interrupted call would have given.
pub(crate) type AnswerFn = fn(&PreparedCall) -> Option<ToolExecuteResult>;

pub(crate) fn probe(work: PreparedCall, env: ToolEnv, answer: AnswerFn) -> ProbeFuture {
    Box::pin(async move {
        match compare_changes(&work, &env).await {
            Ok(Some(true)) => match answer(&work) {
                Some(outcome) => ToolProbeResult::Yes { outcome },
                None => unknown("its arguments do not fit"),
            },
            Ok(Some(false)) => ToolProbeResult::No,
            Ok(None) => unknown(
                "what is there now is neither what was there before nor what it would have left",
            ),
            Err(reason) => unknown(&reason),
        }
    })
}

fn unknown(reason: &str) -> ToolProbeResult {
    ToolProbeResult::Unknown {
        known: format!("It is unknown whether it took effect: {reason}."),
    }
}

async fn compare_changes(work: &PreparedCall, env: &ToolEnv) -> Result<Option<bool>, String> {
    let (Some(run), Some(call), Some(store)) =
        (&work.context.run_id, &work.context.call_id, env.store())
    else {
        return Err("it is no call of a run".to_owned());
    };
    let changes = store
        .changes(run)
        .await
        .map_err(|error| error.to_string())?;
    let ours: Vec<FileChange> = changes.into_iter().filter(|it| it.call == *call).collect();
    if ours.is_empty() {
        // The previous content is recorded before any change, so no record means no change.
        return Ok(Some(false));
    }
    let (mut happened, mut did_not) = (true, true);
    for change in ours {
        let former = store
            .previous_entry(&change)
            .await
            .map_err(|error| error.to_string())?;
        // A created parent folder proves nothing: creating it again is harmless.
        if former == PreviousEntry::Nothing && change.becomes == "folder" {
            continue;
        }
        let seen = env.clone();
        let compared = tokio::task::spawn_blocking(move || compare(&change, &former, &seen));
        let (is_after, is_before) = compared.await.map_err(|error| error.to_string())?;
        happened &= is_after;
        did_not &= is_before;
    }
    // Both are true if the change was a no-op; then the call counts as done.
    Ok(match (happened, did_not) {
        (true, _) => Some(true),
        (false, true) => Some(false),
        (false, false) => None,
    })
}

/// Compares a file with the state after the change and the state before it, in this order.
fn compare(change: &FileChange, former: &PreviousEntry, env: &ToolEnv) -> (bool, bool) {
    let mark = |path: &str| {
        let place = WorkspacePath::resolve(Some(&change.workspace), path, env).ok()?;
        Some(place.read_node().ok()?.fingerprint())
    };
    let now = mark(&change.path);
    let is_after = now.as_ref() == Some(&change.becomes);
    match former {
        PreviousEntry::Moved { from } => {
            let is_it = |path: &str| {
                let place = WorkspacePath::resolve(Some(&change.workspace), path, env).ok()?;
                let node = place.read_node().ok()?;
                moved_entry::is_same_entry(&place, &node, &change.becomes).ok()
            };
            let source = mark(from);
            let nothing = Some("nothing".to_owned());
            (
                source == nothing && is_it(&change.path) == Some(true),
                now == nothing && is_it(from) == Some(true),
            )
        }
        former => (
            is_after,
            now == Some(crate::undo::previous_fingerprint(former)),
        ),
    }
}
