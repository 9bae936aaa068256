//! The failure for a missing model, with the first steps. Pure.

use crate::failure::{CommandFailure, ExitStatus};

/// The `reason` in the details of the daemon's error when no model is configured.
const REASON: &str = "no-model";

/// The first steps of a new user: a local model, a key, or a server.
const FIRST_STEPS: &str = "\
A small model of your own:  hob ask --yes \"…\"   (installs it, then answers)
  With a key:                 ANTHROPIC_API_KEY=sk-… hob restart
  With Ollama:                ollama serve         (hob finds it by itself)
  Another server:             hob model add mine --kind openai --url URL
                              hob model set default mine/MODEL";

/// Returns true when the failure is a missing model.
pub fn lacks_model(failure: &CommandFailure) -> bool {
    let details = failure.details.as_deref();
    details.is_some_and(|details| details["reason"] == REASON)
}

/// Replaces the failure of a missing model by one with the first steps.
pub fn with_first_steps(failure: CommandFailure) -> CommandFailure {
    if lacks_model(&failure) {
        return no_model_failure("No model is configured yet.");
    }
    failure
}

/// The failure of a missing model with the first steps.
pub fn no_model_failure(sentence: impl Into<String>) -> CommandFailure {
    CommandFailure::new(ExitStatus::NoAnswer, "NO_MODEL", sentence).next(FIRST_STEPS)
}

#[cfg(test)]
#[path = "no_model_tests.rs"]
mod tests;
