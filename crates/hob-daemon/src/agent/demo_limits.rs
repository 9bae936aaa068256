//! What the demo model cannot do, refused before the run is accepted. Pure.

use hob_models::ModelCandidate;
use hob_wire::rooms::agent::AgentRunParams;
use hob_wire::{ContentPart, ErrorCode, WireError};

/// The tokens of the system prompt and of the protocol around a task.
const AROUND_TOKENS: u64 = 64;

/// Refuses a task that the demo model cannot do: one that needs tools, or one beyond its window.
pub(super) fn check(candidate: &ModelCandidate, params: &AgentRunParams) -> Result<(), WireError> {
    let facts = candidate.facts();
    let Some(profile) = facts.profile else {
        return Ok(());
    };
    let needs_tools = params.tools.as_ref().is_some_and(|it| !it.is_empty());
    if needs_tools && !profile.tools {
        return Err(refusal(
            "The demo model uses no tools, so it cannot do this; `hob onboard` offers a model that can.",
        ));
    }
    let answer = u64::from(profile.output_tokens);
    let room = profile
        .context_tokens
        .saturating_sub(answer + AROUND_TOKENS);
    let text = params.task.clone();
    let tokens = candidate.count_tokens(&[ContentPart::Text { text }]);
    if tokens > room {
        return Err(refusal(format!(
            "This is about {tokens} tokens of text and the demo model reads at most {room}; `hob onboard` offers a model that reads more."
        )));
    }
    Ok(())
}

/// The refusal of something that needs a better model than the demo.
pub(crate) fn refusal(sentence: impl Into<String>) -> WireError {
    let error = WireError::new(ErrorCode::Conflict, sentence);
    // The reason code lets user interfaces recognise the demo.
    error.with_details(serde_json::json!({ "reason": "demo-model" }))
}
