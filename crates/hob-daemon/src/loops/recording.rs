//! What an owner puts on record at an end, and whom it tells: the store first, then the session
//! that is to hear of results; then what is too old goes.

use super::Shared;
use super::words::session_key;
use crate::answer::Answer;
use crate::notice;
use hob_store::{Ended, StoreError};
use hob_wire::rooms::loops::{LoopEnd, NotifyView};
use std::time::Duration;

/// Before a write is tried again that the store could not do.
const WRITE_AGAIN: Duration = Duration::from_secs(1);

/// Records the end of an iteration and tells `notify` of it.
pub(super) async fn end_iteration(
    shared: &Shared,
    ended: Ended,
    answer: &Answer,
    notify: Option<NotifyView>,
) {
    let store = &shared.parts.store;
    let (name, number) = (ended.name.clone(), ended.number);
    insist(&name, || store.end_iteration(ended.clone())).await;
    if let Some(notify) = notify {
        tell(shared, &name, number, answer, &notify).await;
    }
    forget_old(shared, &name, number).await;
}

/// Records the end of a loop between two iterations.
pub(super) async fn end_loop(shared: &Shared, name: &str, end: LoopEnd, message: &str) {
    let store = &shared.parts.store;
    insist(name, || store.end_loop(name, end, message)).await;
}

/// Writes until it is written: a loop that goes on without its record would count wrong.
async fn insist<F, Fut>(name: &str, write: F)
where
    F: Fn() -> Fut,
    Fut: Future<Output = Result<(), StoreError>>,
{
    let mut is_told = false;
    while let Err(error) = write().await {
        if matches!(error, StoreError::NotFound(_)) {
            // Somebody took the iteration or the loop away behind our back.
            tracing::warn!(name, "nothing to record the end on: {error}");
            return;
        }
        if !is_told {
            tracing::warn!(name, "the end is not on record yet: {error}");
            is_told = true;
        }
        tokio::time::sleep(WRITE_AGAIN).await;
    }
}

/// Tells the session that is to hear of results.
async fn tell(shared: &Shared, name: &str, number: u32, answer: &Answer, notify: &NotifyView) {
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
    if let Err(error) = notice::tell(&shared.caller, notify, &key, &text).await {
        let told = &notify.session_key;
        tracing::warn!(name, told, "a result was not told: {}", error.message);
    }
}

/// Drops iterations that are too old.
async fn forget_old(shared: &Shared, name: &str, number: u32) {
    let keep = shared.parts.library.settings().u64("loop.history");
    let keep = u32::try_from(keep).unwrap_or(u32::MAX);
    if number <= keep {
        return;
    }
    if let Err(error) = shared.parts.store.drop_iterations(name, keep).await {
        tracing::warn!(name, "old iterations stay for now: {error}");
    }
}
