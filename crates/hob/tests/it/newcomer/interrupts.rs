//! Ctrl-C at each step of the choice: the command ends, nothing is changed, and the choice comes
//! again.

use super::{KEY, assert_untouched, newcomer, number_of, provider};
use crate::support::{House, Tty};

/// Goes through these prompts, each answered by these keys, and presses Ctrl-C at the last.
fn interrupt(house: &House, steps: &[(&str, &str)]) {
    let mut tty = Tty::start(house, "ask good morning");
    for (prompt, keys) in steps {
        tty.wait_for(prompt);
        tty.press(keys);
    }
    let (code, seen) = tty.end();
    assert_eq!(code, Some(130), "{seen}");
    assert!(!seen.contains(KEY), "{seen}");
    assert_untouched(house);
}

#[test]
fn ctrl_c_at_each_prompt_changes_nothing() {
    let sim = provider();
    let (_bin, house) = newcomer(&sim, &[]);
    let (paste, demo) = (number_of(&house, "paste"), number_of(&house, "demo"));
    let (paste, demo) = (paste.as_str(), demo.as_str());
    interrupt(&house, &[("Which one?", "\u{3}")]);
    interrupt(&house, &[("Which one?", paste), ("Whose key?", "\u{3}")]);
    interrupt(
        &house,
        &[
            ("Which one?", paste),
            ("Whose key?", "1"),
            ("it is not shown", "\u{3}"),
        ],
    );
    // In the middle of a key.
    interrupt(
        &house,
        &[
            ("Which one?", paste),
            ("Whose key?", "1"),
            ("it is not shown", &format!("{KEY}\u{3}")),
        ],
    );
    interrupt(
        &house,
        &[("Which one?", demo), ("Install it? [Y/n]", "\u{3}")],
    );
    assert!(sim.asked().is_empty());
}

#[test]
fn going_back_shows_the_list_again() {
    let sim = provider();
    let (_bin, house) = newcomer(&sim, &[]);
    let paste = number_of(&house, "paste");
    let mut tty = Tty::start(&house, "ask good morning");
    tty.wait_for("Which one?");
    tty.press(&paste);
    tty.wait_for("Whose key?");
    tty.press("n");
    let lists = |tty: &Tty, count| tty.seen().matches("Which one?").count() == count;
    crate::support::wait_until("the second list", || lists(&tty, 2));
    tty.press(&paste);
    crate::support::wait_until("the providers", || {
        tty.seen().matches("Whose key?").count() == 2
    });
    tty.press("1");
    tty.wait_for("it is not shown");
    // An empty line goes back, too.
    tty.press("\n");
    crate::support::wait_until("the third list", || lists(&tty, 3));
    tty.press("\u{3}");
    assert_eq!(tty.end().0, Some(130));
    assert_untouched(&house);
}
