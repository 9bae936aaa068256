//! Each branch of the choice, on a terminal.

use super::{KEY, WRONG_KEY, newcomer, number_of, ollama, options, provider};
use crate::support::Tty;

#[test]
fn a_pasted_key_is_tried_kept_and_used() {
    let sim = provider();
    let (_bin, house) = newcomer(&sim, &[]);
    let (paste, demo) = (number_of(&house, "paste"), number_of(&house, "demo"));
    let mut tty = Tty::start(&house, "ask good morning");
    tty.wait_for("Which one?");
    let seen = tty.seen();
    for words in [
        "No model is configured yet.",
        &format!("{paste}  A key of a provider, to paste"),
        "anthropic",
        &format!("{demo}  A demo model, to check that hob works"),
        "uses no tools",
    ] {
        assert!(seen.contains(words), "{words:?} in:\n{seen}");
    }
    tty.press(&paste);
    tty.wait_for("Whose key?");
    tty.press("1");
    tty.wait_for("it is not shown");
    tty.press(&format!("{WRONG_KEY}\n"));
    tty.wait_for("Asking anthropic");
    // Refused, so the prompt comes again.
    crate::support::wait_until("the second prompt", || {
        tty.seen().matches("it is not shown").count() == 2
    });
    tty.press(&format!("{KEY}\n"));
    let (code, seen) = tty.end();
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains("hob uses anthropic/"), "{seen}");
    assert!(seen.contains("Good morning to you."), "{seen}");
    assert!(!seen.contains(KEY) && !seen.contains(WRONG_KEY), "{seen}");

    // It is not asked again, and the next start has the key.
    let mut house = house;
    house.terminate();
    house.start_daemon();
    let (code, seen) = Tty::start(&house, "ask good morning").end();
    assert_eq!(code, Some(0), "{seen}");
    assert!(!seen.contains("Which one?"), "{seen}");
    assert_eq!(options(&house)["offer"], false);
}

#[test]
fn a_server_of_the_same_user_is_named_with_its_models_and_used() {
    let sim = provider();
    let address = ollama("Good morning from the machine.");
    let (_bin, house) = newcomer(&sim, std::slice::from_ref(&address));
    let mut tty = Tty::start(&house, "ask good morning");
    tty.wait_for("Which one?");
    let seen = tty.seen();
    assert!(
        seen.contains(&format!("1  Ollama 0.12.0 at {address}")),
        "{seen}"
    );
    assert!(seen.contains("llama3:8b, qwen3:4b"), "{seen}");
    // Where a server runs, there is no demo.
    assert!(!seen.contains("demo"), "{seen}");
    tty.press("\n");
    let (code, seen) = tty.end();
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains("hob uses llm/llama3:8b"), "{seen}");
    assert!(seen.contains("Good morning from the machine."), "{seen}");
    assert!(sim.asked().is_empty());
}

#[test]
fn the_demo_shows_its_plan_and_a_no_is_remembered() {
    let sim = provider();
    let (_bin, house) = newcomer(&sim, &[]);
    let mut tty = Tty::start(&house, "ask good morning");
    tty.wait_for("Which one?");
    tty.press(&number_of(&house, "demo"));
    tty.wait_for("Install it? [Y/n]");
    tty.press("n");
    let (code, seen) = tty.end();
    assert_eq!(code, Some(6), "{seen}");
    assert!(seen.contains("Nothing was installed."), "{seen}");
    let (code, seen) = Tty::start(&house, "ask good morning").end();
    assert_eq!(code, Some(6), "{seen}");
    assert!(!seen.contains("Which one?"), "{seen}");
    assert!(seen.contains("hob onboard"), "{seen}");
}

#[test]
fn none_of_them_is_remembered_and_onboard_repeats_the_choice() {
    let sim = provider();
    let (_bin, house) = newcomer(&sim, &[]);
    for command in ["ask good morning", "onboard"] {
        let mut tty = Tty::start(&house, command);
        tty.wait_for("Which one?");
        tty.press("n");
        let (code, seen) = tty.end();
        let expected = if command == "onboard" { 0 } else { 6 };
        assert_eq!(code, Some(expected), "{seen}");
        assert_eq!(options(&house)["offer"], false);
    }
    let (_, seen) = Tty::start(&house, "ask good morning").end();
    assert!(!seen.contains("Which one?"), "{seen}");
}

#[test]
fn plain_words_are_not_offered_a_model_without_tools() {
    let sim = provider();
    let (_bin, house) = newcomer(&sim, &[]);
    let mut tty = Tty::start(&house, "\"what is my uptime?\"");
    tty.wait_for("Which one?");
    let seen = tty.seen();
    assert!(
        seen.contains("to paste") && !seen.contains("demo"),
        "{seen}"
    );
    tty.press("n");
    assert_eq!(tty.end().0, Some(6));
}

#[test]
fn a_loop_and_a_job_offer_the_choice_too() {
    let sim = provider();
    let (_bin, house) = newcomer(&sim, &[]);
    house
        .hob(&["loop", "create", "diary", "--task", "Write."])
        .success();
    for command in ["loop start diary", "cron add tidy --every 1h --task Tidy"] {
        let mut tty = Tty::start(&house, command);
        tty.wait_for("Which one?");
        tty.press("\u{3}");
        assert_eq!(tty.end().0, Some(130), "{command}");
    }
    assert_eq!(options(&house)["offer"], true);
}
