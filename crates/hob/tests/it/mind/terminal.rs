//! `hob ask` on a terminal: questions answered with a key, words broken to fit, thinking shown.

use super::house_with;
use crate::support::Tty;
use hob_sim::{Answer, Sim};
use serde_json::json;

fn diligent() -> Sim {
    Sim::start(|asked| match asked.results_of_task().first() {
        None => Answer::asks("write", json!({ "path": "notes.txt", "content": "x" })),
        Some(result) if result.text.contains("denied this call") => Answer::words("Then not."),
        Some(_) => Answer::words("It is written."),
    })
}

#[test]
fn a_permission_is_one_key() {
    let sim = diligent();
    let house = house_with(&sim);
    for (key, answer, ends) in [("y", "It is written.", 0), ("n", "Then not.", 3)] {
        let mut tty = Tty::start(&house, "ask 'note this'");
        tty.wait_for("[y] yes, once");
        assert!(tty.seen().contains("notes.txt"), "{}", tty.seen());
        // Anything else is no answer.
        tty.press("x");
        tty.press(key);
        tty.wait_for(answer);
        let (code, seen) = tty.end();
        assert_eq!(code, Some(ends), "{seen}");
        assert!(seen.contains("sim/sim-small · 2 calls"), "{seen}");
    }
}

#[test]
fn keys_pressed_before_a_question_do_not_answer_it() {
    let sim = Sim::start(|asked| match asked.results_of_task().first() {
        None => Answer::words("one moment please")
            .pace(1, std::time::Duration::from_millis(200))
            .call("write", json!({ "path": "notes.txt", "content": "x" })),
        Some(_) => Answer::words("Then not."),
    });
    let house = house_with(&sim);
    let mut tty = Tty::start(&house, "ask 'note this'");
    tty.wait_for("one");
    tty.press("yyy");
    tty.wait_for("[y] yes, once");
    tty.press("n");
    tty.wait_for("Then not.");
    let (_, seen) = tty.end();
    assert!(!seen.contains("It is written."), "{seen}");
}

#[test]
fn words_are_broken_between_words_and_thinking_comes_first() {
    let words = "The quick brown fox jumps over the lazy dog. ".repeat(4);
    let said = words.clone();
    let sim = Sim::start(move |_| Answer::words(said.clone()).thinking("Foxes, then."));
    let house = house_with(&sim);
    let (code, seen) = Tty::start(&house, "ask 'tell me of foxes'").end();
    assert_eq!(code, Some(0), "{seen}");
    let lines: Vec<&str> = seen.lines().map(str::trim_end).collect();
    assert_eq!(lines[0], "Foxes, then.", "{seen}");
    assert!(
        lines.iter().all(|line| line.chars().count() <= 80),
        "{seen}"
    );
    let shown: Vec<&str> = lines[1..lines.len() - 1]
        .iter()
        .flat_map(|line| line.split(' '))
        .collect();
    let shown = shown.join(" ");
    assert_eq!(shown.trim(), words.trim(), "{seen}");
}

#[test]
fn whoever_lets_tools_work_in_all_they_have_is_told() {
    let sim = Sim::start(|_| Answer::words("Good morning."));
    let house = house_with(&sim);
    let note = "Tools work in your whole home folder here";
    let (_, seen) = Tty::start(&house, "ask --workspace $HOME 'good morning'").end();
    assert!(seen.contains(note), "{seen}");
    let (_, seen) = Tty::start(&house, "ask 'good morning'").end();
    assert!(!seen.contains(note), "{seen}");
    let scripted = house.shell("hob ask --workspace / 'good morning'");
    assert_eq!(scripted.stderr, "", "a script is not");
}
