//! The README's first command.

use super::builder;

#[test]
fn the_first_question_installs_a_model_and_is_answered_by_it() {
    let house = builder().start();
    let question = "What is the capital of France?";
    let said = house.hob(&["ask", "--yes", question]).success();
    assert!(said.contains("Paris"), "{said}");
}
