//! The first steps, where they help.

use super::*;
use hob_wire::{ErrorCode, WireError};
use serde_json::json;

#[test]
fn only_a_missing_model_gets_the_first_steps() {
    let missing = WireError::new(ErrorCode::Conflict, "No model is set.")
        .with_details(json!({ "reason": "no-model" }));
    let failure = with_first_steps(missing.into());
    assert_eq!(failure.exit, ExitStatus::NoAnswer);
    let text = failure.text();
    assert!(
        text.contains("hob model add") && text.contains("API_KEY"),
        "{text}"
    );
    assert!(text.contains("hob onboard"), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let busy: CommandFailure = WireError::new(ErrorCode::Conflict, "The session is busy.").into();
    assert_eq!(with_first_steps(busy.clone()), busy);
}
