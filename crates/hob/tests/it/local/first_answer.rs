//! The README's first command.

use super::builder;

#[test]
fn the_first_question_installs_a_model_and_is_answered_by_it() {
    let house = builder().start();
    let question = "What is the capital of France?";
    let asked = house.hob(&["ask", "--yes", question]);
    // Before the answer it says that it is a demo.
    assert!(asked.stderr.contains("is a demo model"), "{asked:?}");
    let said = asked.success();
    assert!(said.contains("Paris"), "{said}");
}
