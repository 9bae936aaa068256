//! The choice as a screen of the terminal UI: a key is pasted, and the first answer comes.

use super::{KEY, WRONG_KEY, newcomer, number_of, options, provider};
use crate::support::Pane;

const DOWN: &str = "\u{1b}[B";

#[test]
fn a_newcomer_pastes_a_key_and_gets_an_answer() {
    let sim = provider();
    let (_bin, house) = newcomer(&sim, &[]);
    let rows: usize = number_of(&house, "paste").parse().expect("a number");
    let pane = Pane::open(&house, 100, 40);
    pane.run("hob");
    pane.wait_for("Which model shall answer?");
    pane.wait_for("❯ ");
    for _ in 1..rows {
        pane.press(DOWN);
    }
    for (key, words) in [
        (WRONG_KEY, "does not accept the key"),
        (KEY, "A model is ready"),
    ] {
        pane.press("\r");
        pane.wait_for("Paste its key:");
        for _ in 0..20 {
            if pane.screen().contains("Provider: anthropic") {
                break;
            }
            pane.press(DOWN);
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        pane.press(key);
        pane.wait_for("••••••••");
        assert!(!pane.screen().contains(key), "a key is never shown");
        pane.press("\r");
        pane.wait_for(words);
    }
    assert_eq!(options(&house)["offer"], false);
    pane.press("good morning");
    pane.wait_for("❯ good morning");
    pane.press("\r");
    pane.wait_for("Good morning to you.");
}
