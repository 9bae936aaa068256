//! Stores the end of an iteration or a loop, then notifies a session, then drops old iterations.

use super::LoopContext;
use super::formatting::session_key;
use crate::notice;
use crate::run_outcome::RunOutcome;
use hob_store::{FinishedIteration, StoreError};
use hob_wire::rooms::loops::{LoopEnd, NotifyTargetView};
use std::time::Duration;

/// Time until a failed write is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Stores the end of an iteration and sends it to the session of `notify`.
pub(super) async fn record_iteration_end(
    context: &LoopContext,
    ended: FinishedIteration,
    answer: &RunOutcome,
    notify: Option<NotifyTargetView>,
) {
    let store = &context.deps.store;
    let (name, number) = (ended.name.clone(), ended.number);
    write_until_stored(&name, || store.end_iteration(ended.clone())).await;
    if let Some(notify) = notify {
        notify_session(context, &name, number, answer, &notify).await;
    }
    drop_old_iterations(context, &name, number).await;
}

/// Stores the end of a loop between two iterations.
pub(super) async fn record_loop_end(
    context: &LoopContext,
    name: &str,
    end: LoopEnd,
    message: &str,
) {
    let store = &context.deps.store;
    write_until_stored(name, || store.end_loop(name, end, message)).await;
}

/// Repeats a write until it succeeds. A loop that went on without it would count wrong.
async fn write_until_stored<F, Fut>(name: &str, write: F)
where
    F: Fn() -> Fut,
    Fut: Future<Output = Result<(), StoreError>>,
{
    let mut is_told = false;
    while let Err(error) = write().await {
        if matches!(error, StoreError::NotFound(_)) {
            // The iteration or the loop was deleted meanwhile, so there is nothing to end.
            tracing::warn!(name, "the end could not be stored: {error}");
            return;
        }
        // Reported once, because a full disk may last for hours.
        if !is_told {
            tracing::warn!(name, "the end is not stored yet: {error}");
            is_told = true;
        }
        tokio::time::sleep(RETRY_AFTER).await;
    }
}

/// Sends the result to the session that the loop names.
async fn notify_session(
    context: &LoopContext,
    name: &str,
    number: u32,
    answer: &RunOutcome,
    notify: &NotifyTargetView,
) {
    if answer.is_clean() && notify.failures_only {
        return;
    }
    let text = match (&answer.message, &answer.calls.note) {
        (None, None) => answer.text.clone(),
        (None, Some(note)) => {
            let text = format!(
                "{}\n\nIteration {number} of the loop '{name}': {note}",
                answer.text
            );
            text.trim_start().to_owned()
        }
        (Some(why), _) => format!("Iteration {number} of the loop '{name}' failed: {why}"),
    };
    if text.trim().is_empty() {
        return;
    }
    let key = session_key(name, number);
    if let Err(error) = notice::post_notice(&context.caller, notify, &key, &text).await {
        let session = &notify.session_key;
        tracing::warn!(
            name,
            session,
            "a result was not sent to its session: {}",
            error.message
        );
    }
}

/// Drops iterations beyond `loop.history`.
async fn drop_old_iterations(context: &LoopContext, name: &str, number: u32) {
    let keep = context.deps.settings().u64("loop.history");
    let keep = u32::try_from(keep).unwrap_or(u32::MAX);
    if number <= keep {
        return;
    }
    if let Err(error) = context.deps.store.delete_iterations(name, keep).await {
        tracing::warn!(name, "old iterations could not be dropped: {error}");
    }
}
