//! What to do first when no model is there to answer. Pure.

use crate::failure::{Exit, Failure};

/// What the daemon says why: the detail of an error that means that no model is configured.
const REASON: &str = "no-model";

/// How a newcomer gets a first answer: a model of their own, a key, or a server.
const FIRST_STEPS: &str = "\
A small model of your own:  hob ask --yes \"…\"   (installs it, then answers)
  With a key:                 ANTHROPIC_API_KEY=sk-… hob restart
  With Ollama:                ollama serve         (hob finds it by itself)
  Another server:             hob model add mine --kind openai --url URL
                              hob model set default mine/MODEL";

/// Whether what is missing is a model.
pub fn lacks_model(failure: &Failure) -> bool {
    let details = failure.details.as_deref();
    details.is_some_and(|details| details["reason"] == REASON)
}

/// The failure with the first steps, if what is missing is a model.
pub fn with_first_steps(failure: Failure) -> Failure {
    if lacks_model(&failure) {
        return no_model("No model is configured yet.");
    }
    failure
}

/// Why there is no model, and every way to one.
pub fn no_model(sentence: impl Into<String>) -> Failure {
    Failure::new(Exit::NoAnswer, "NO_MODEL", sentence).next(FIRST_STEPS)
}

#[cfg(test)]
#[path = "advice_tests.rs"]
mod tests;
