//! Whether words may be handed to a run that is under way. Pure.
//!
//! Invariant: words are acted on within what their own bringer was held to. What came by a channel,
//! or with a ceiling, never speaks inside a run that may do more; it becomes a run of its own.

use hob_wire::rooms::agent::RunParams;

/// Whether everything that `run` may do, the bringer of `words` may have done.
pub(crate) fn may_join(words: &RunParams, run: &RunParams) -> bool {
    let by_channel = words.channel.is_none() || words.channel == run.channel;
    let within_ceiling = match (words.ceiling, run.ceiling) {
        (None, _) => true,
        (Some(words), Some(run)) => run <= words,
        (Some(_), None) => false,
    };
    let within_tools = match (&words.tools, &run.tools) {
        (None, _) => true,
        (Some(words), Some(run)) => run.iter().all(|tool| words.contains(tool)),
        (Some(_), None) => false,
    };
    // Words that only look look where their bringer may, which is not the run's folder by itself.
    let within_folder =
        words.ceiling.is_none() || run.workspace.is_none() || words.workspace == run.workspace;
    by_channel && within_ceiling && within_tools && within_folder
}

#[cfg(test)]
#[path = "steering_tests.rs"]
mod tests;
