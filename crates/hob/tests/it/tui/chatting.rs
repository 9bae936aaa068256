//! A conversation: answers as they come, questions, and what goes wrong meanwhile.

use super::{ANSWER, LEAVE, open, send};
use crate::mind::{house_with, is_refused};
use crate::support::{House, Pane, wait_until};
use hob_sim::{Answer, Gate, Sim};
use serde_json::{Value, json};
use std::time::Duration;

/// A model that wants to write a file first.
fn writer() -> Sim {
    Sim::start(|asked| match asked.results_of_task().first() {
        None => Answer::words("Let me **note** it.")
            .call("write", json!({ "path": "notes.txt", "content": "one\n" })),
        Some(result) if is_refused(&result.text) => Answer::words("Then not."),
        Some(_) => Answer::words("# Done\n\nIt is *written*."),
    })
}

/// The ids of the open questions.
fn open_questions(house: &House) -> Vec<String> {
    let text = house
        .hob(&["--json", "rpc", "permission.pending"])
        .success();
    let page: Value = serde_json::from_str(&text).expect("one document");
    let questions = page["questions"].as_array().expect("a list").iter();
    questions
        .filter_map(|it| it["id"].as_str().map(str::to_owned))
        .collect()
}

#[test]
fn a_tool_is_approved_on_its_card_and_the_answer_stays_behind() {
    let sim = writer();
    let house = house_with(&sim);
    let pane = Pane::open(&house, 80, 24);
    open(&pane);
    send(&pane, "note this");
    pane.wait_for("Permission · write");
    let card = pane.wait_for("❯ note this");
    for words in ["notes.txt", "+one", "[y] yes, once", "[n] no", "note this"] {
        assert!(card.contains(words), "no {words:?} on:\n{card}");
    }
    pane.press(ANSWER);
    pane.wait_until_gone("goes to this question");
    pane.press("y");
    let screen = pane.wait_for("It is written.");
    assert!(screen.contains("● write notes.txt"), "{screen}");
    assert!(
        !screen.contains("Permission"),
        "the card is gone:\n{screen}"
    );
    let written = std::fs::read_to_string(house.work().join("notes.txt"));
    assert_eq!(written.expect("it was written"), "one\n");
    pane.wait_until_gone("working");
    pane.press(LEAVE);
    let left = pane.wait_for("hob goes on here.");
    for words in ["❯ note this", "Let me note it.", "Done", "It is written."] {
        assert!(left.contains(words), "no {words:?} on:\n{left}");
    }
}

#[test]
fn a_card_closes_when_it_is_answered_in_another_terminal() {
    let sim = writer();
    let house = house_with(&sim);
    let pane = Pane::open(&house, 100, 30);
    open(&pane);
    send(&pane, "note this");
    pane.wait_for("Permission · write");
    let id = open_questions(&house).pop().expect("a question");
    house
        .shell(&format!("hob permission answer {id} n"))
        .success();
    let screen = pane.wait_for("Then not.");
    assert!(!screen.contains("Permission · write"), "{screen}");
    assert!(screen.contains("✗ write"), "{screen}");
}

#[test]
fn keys_typed_before_a_card_do_not_answer_it() {
    let sim = writer();
    let house = house_with(&sim);
    let pane = Pane::open(&house, 80, 24);
    open(&pane);
    pane.press("note this");
    pane.wait_for("❯ note this");
    pane.press("\r");
    // The hand types on while the card comes.
    for _ in 0..12 {
        pane.press("y");
        std::thread::sleep(Duration::from_millis(60));
    }
    pane.wait_for("Permission · write");
    std::thread::sleep(Duration::from_millis(900));
    pane.press("y");
    assert_eq!(open_questions(&house).len(), 1, "nothing was answered");
    assert!(!house.work().join("notes.txt").exists());
}

#[test]
fn a_daemon_killed_in_mid_answer_comes_back_and_nothing_is_doubled() {
    let gate = Gate::new();
    let held = gate.clone();
    let words: Vec<String> = (1..=30).map(|number| format!("w{number:02}")).collect();
    let answer = words.join(" ");
    let sim = Sim::start(move |_| {
        Answer::words(answer.clone())
            .pace(1, Duration::from_millis(2))
            .held_after(12, &held)
    });
    let mut house = house_with(&sim);
    let pane = Pane::open(&house, 80, 24);
    open(&pane);
    send(&pane, "count");
    pane.wait_for("w05");
    let detached = pane.detach();
    house.kill();
    gate.open();
    house.start_daemon();
    let pane = Pane::attach(&house, detached);
    let screen = pane.wait_for("w30");
    pane.wait_until_gone("working");
    let text = screen.replace('\n', " ");
    for word in &words {
        assert_eq!(
            text.matches(word.as_str()).count(),
            1,
            "{word} on:\n{screen}"
        );
    }
    pane.press(LEAVE);
    pane.wait_for("hob goes on here.");
}

#[test]
fn hostile_text_gives_no_orders() {
    let words =
        "\u{1b}[2J\u{1b}[1;1HOWNED \u{1b}]0;evil\u{7}\u{9b}31m\u{1b}c then \u{202e}calm\u{202c}";
    let sim = Sim::start(move |_| Answer::words(words));
    let house = house_with(&sim);
    let pane = Pane::open(&house, 80, 24);
    open(&pane);
    send(&pane, "attack");
    let screen = pane.wait_for("then ⟨202E⟩calm");
    assert!(screen.starts_with("hob · "), "{screen}");
    assert!(screen.contains("❯ attack"), "{screen}");
    assert!(pane.title().starts_with("hob · "), "{}", pane.title());
}

#[test]
fn two_terminals_show_one_session() {
    let gate = Gate::new();
    let held = gate.clone();
    let sim = Sim::start(move |_| Answer::words("first second").held_after(1, &held));
    let house = house_with(&sim);
    let (one, other) = (Pane::open(&house, 80, 24), Pane::open(&house, 60, 20));
    open(&one);
    open(&other);
    send(&one, "both");
    for pane in [&one, &other] {
        pane.wait_for("❯ both");
        pane.wait_for("working");
    }
    wait_until("the model answers", || gate.waiting() == 1);
    gate.open();
    for pane in [&one, &other] {
        pane.wait_for("first second");
        pane.wait_until_gone("working");
    }
}

#[test]
fn screens_are_lists_of_what_there_is() {
    let sim = writer();
    let house = house_with(&sim);
    house.hob(&["session", "create", "chat:other"]).success();
    house
        .hob(&["session", "send", "chat:other", "hello there"])
        .success();
    let pane = Pane::open(&house, 80, 24);
    open(&pane);
    pane.press("\u{1b}2");
    pane.wait_for("hello there");
    pane.press("\r");
    pane.wait_for("❯ hello there");
    pane.wait_for("chat:other");
    pane.press("/services");
    pane.wait_for("Show the services");
    pane.press("\r");
    pane.wait_for("SERVICE");
    pane.press("\u{1b}0");
    pane.wait_for("listens");
    // Without a person who asks, nothing is sent.
    assert!(sim.asked().is_empty());
}
