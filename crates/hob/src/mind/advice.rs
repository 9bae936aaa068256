//! What to do first when no model is there to answer. Pure.

use crate::failure::{Exit, Failure};

/// What the daemon says why: the detail of an error that means that no model is configured.
const REASON: &str = "no-model";

/// How a newcomer gets a first answer: a key, or a server of their own.
const FIRST_STEPS: &str = "\
With a key:  ANTHROPIC_API_KEY=sk-… hob restart
  A server:    hob model add mine --kind openai --url http://127.0.0.1:8080/v1
               hob model set default mine/MODEL
  Then `hob model list` shows what is ready.";

/// The failure with the first steps, if what is missing is a model.
pub fn with_first_steps(failure: Failure) -> Failure {
    let details = failure.details.as_deref();
    let reason = details.and_then(|details| details["reason"].as_str());
    if reason != Some(REASON) {
        return failure;
    }
    Failure::new(Exit::NoAnswer, "NO_MODEL", "No model is configured yet.").next(FIRST_STEPS)
}

#[cfg(test)]
#[path = "advice_tests.rs"]
mod tests;
