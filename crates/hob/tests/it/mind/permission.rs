//! `hob permission`: rules stored, listed and taken away; questions answered from elsewhere.

use super::{house_with, is_refused};
use crate::support::{Tty, wait_until};
use hob_sim::{Answer, Sim};
use serde_json::json;

#[test]
fn a_person_who_types_when_a_question_comes_has_not_answered_it() {
    let sim = Sim::start(|asked| match asked.results_of_task().first() {
        None => Answer::words("one moment please")
            .pace(1, std::time::Duration::from_millis(100))
            .call("write", json!({ "path": "notes.txt", "content": "new\n" })),
        Some(result) if is_refused(&result.text) => Answer::words("Then not."),
        Some(_) => Answer::words("It is done."),
    });
    let house = house_with(&sim);
    let mut tty = Tty::start(&house, "ask 'note it'");
    tty.wait_for("one");
    // Every key that could be an answer, over and over, until the question is on the screen.
    wait_until("the question comes", || {
        for key in ["y", "a", "f", "s", "r"] {
            tty.press(key);
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
        tty.seen().contains("May it?")
    });
    tty.press("yyyaaa");
    tty.wait_for("[y] yes, once");
    tty.press("n");
    tty.wait_for("Then not.");
    assert_eq!(tty.end().0, Some(0));
    assert!(!house.work().join("notes.txt").exists());
}
