//! `hob chat` at a prompt, and fed by a script.

use super::house_with;
use crate::services::without_model;
use crate::support::{Tty, wait_until};
use hob_sim::{Answer, Gate, Sim};

fn echo() -> Sim {
    Sim::start(|asked| Answer::words(format!("You said: {}", asked.last_user())))
}

#[test]
fn a_conversation_goes_on_and_is_remembered() {
    let sim = echo();
    let house = house_with(&sim);
    let mut tty = Tty::start(&house, "chat");
    tty.wait_for("hob chat · chat:main");
    tty.press("good morning\r");
    tty.wait_for("You said: good morning");
    tty.wait_for("sim/sim-small · 1 call");
    tty.press("/cost\r");
    tty.wait_for("This session: 1 call");
    tty.press("/hlep\r");
    tty.wait_for("Did you mean /help?");
    tty.press("/model sim/sim-large\r");
    tty.wait_for("Using sim/sim-large from now on.");
    tty.press("and you?\r");
    tty.wait_for("You said: and you?");
    tty.wait_for("sim/sim-large · 1 call");
    tty.press("/new\r");
    tty.wait_for("hob chat · chat:0");
    tty.press("/quit\r");
    assert_eq!(tty.end().0, Some(0));
    assert_eq!(
        sim.asked()[1].messages.len(),
        3,
        "the second turn sees the first"
    );
    assert_eq!(sim.asked()[1].model, "sim-large");
    let mut again = Tty::start(&house, "chat");
    again.wait_for("hob  You said: and you?");
    // The arrow brings back what was typed last.
    again.wait_for("> ");
    again.press("\u{1b}[A\u{1b}[A\u{1b}[A\r");
    again.wait_for("You said: and you?\n");
    again.press("/quit\r");
    assert_eq!(again.end().0, Some(0));
}

#[test]
fn a_paste_of_several_lines_is_one_message() {
    let sim = echo();
    let house = house_with(&sim);
    let mut tty = Tty::start(&house, "chat");
    tty.wait_for("> ");
    tty.press("\u{1b}[200~first line\rsecond line\r\u{1b}[201~\r");
    tty.wait_for("You said: first line");
    tty.wait_for("sim/sim-small · 1 call");
    tty.press("a line \\\rthat goes on\r");
    tty.wait_for("You said: a line");
    tty.press("/quit\r");
    assert_eq!(tty.end().0, Some(0));
    let asked = sim.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0].last_user(), "first line\nsecond line");
    assert_eq!(asked[1].last_user(), "a line \nthat goes on");
}

#[test]
fn ctrl_c_stops_the_run_and_a_second_one_leaves() {
    let gate = Gate::new();
    let held = gate.clone();
    let sim = Sim::start(move |_| Answer::words("one two three four").held_after(2, &held));
    let house = house_with(&sim);
    let mut tty = Tty::start(&house, "chat");
    tty.wait_for("> ");
    tty.press("count\r");
    wait_until("the answer stands still", || gate.waiting() == 1);
    tty.wait_for("one");
    tty.press("\u{3}");
    tty.wait_for("Stopped at step 1");
    wait_until("the provider was hung up on", || sim.cut_streams() == 1);
    tty.wait_for("> ");
    tty.press("\u{3}");
    assert_eq!(tty.end().0, Some(130));
}

#[test]
fn a_script_gets_answers_and_nothing_else() {
    let sim = echo();
    let house = house_with(&sim);
    let done = house.hob_with_input(&["chat", "--session", "s"], "one\n\ntwo\n/quit\nthree\n");
    assert_eq!(done.stderr, "");
    assert_eq!(done.success(), "You said: one\nYou said: two\n");
}

#[test]
fn without_a_model_a_chat_says_what_to_do_and_stays() {
    let (_bin, builder) = without_model("");
    let house = builder.start();
    let mut tty = Tty::start(&house, "chat");
    tty.wait_for("> ");
    tty.press("hello\r");
    tty.wait_for("Which one?");
    tty.press(&crate::newcomer::number_of(&house, "demo"));
    tty.wait_for("Install it?");
    tty.press("n");
    tty.wait_for("hob model add");
    tty.press("/quit\r");
    assert_eq!(tty.end().0, Some(0));
}
