//! Decides if a text may be added to a run in progress. Pure.
//!
//! Invariant: a text is acted on only within the limits of its sender. A text from a channel, or
//! with a ceiling, is never added to a run that may do more; it becomes a run of its own.

use hob_wire::rooms::agent::AgentRunParams;

/// True if `sender` may do everything that `run` may do.
pub(crate) fn may_join(sender: &AgentRunParams, run: &AgentRunParams) -> bool {
    let by_channel = sender.channel.is_none() || sender.channel == run.channel;
    let within_ceiling = match (sender.ceiling, run.ceiling) {
        (None, _) => true,
        (Some(sender), Some(run)) => run <= sender,
        (Some(_), None) => false,
    };
    let within_tools = match (&sender.tools, &run.tools) {
        (None, _) => true,
        (Some(sender), Some(run)) => run.iter().all(|tool| sender.contains(tool)),
        (Some(_), None) => false,
    };
    // A sender that may only read has folders of its own; the run's folder may not be one of them.
    let within_folder =
        sender.ceiling.is_none() || run.workspace.is_none() || sender.workspace == run.workspace;
    by_channel && within_ceiling && within_tools && within_folder
}

#[cfg(test)]
#[path = "steering_tests.rs"]
mod tests;
