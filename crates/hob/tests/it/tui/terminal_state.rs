//! The terminal: as it was before, however the UI ends; and what is written to it meanwhile.

use super::{LEAVE, open, send};
use crate::mind::house_with;
use crate::support::{House, Pane, wait_until};
use hob_sim::{Answer, Sim};
use std::time::Duration;

fn talker() -> Sim {
    let paragraphs: Vec<String> = (1..=40)
        .map(|number| format!("Paragraph {number} of the answer, with `code` and 漢字."))
        .collect();
    let text = paragraphs.join("\n\n");
    Sim::start(move |_| Answer::words(text.clone()).pace(8, Duration::from_millis(4)))
}

/// Compares the modes of the terminal with those before.
fn modes_are_as_before(pane: &Pane<'_>) {
    // The typed line itself must not hold the words that are waited for.
    pane.run("stty -a > after; cmp before after && echo same\\ modes");
    pane.wait_for("same modes");
}

fn remember_modes(pane: &Pane<'_>) {
    pane.run("stty -a > before; echo remember\\ed");
    pane.wait_for("remembered");
}

/// The process of the UI: the child of the pane's shell.
fn ui_process(house: &House, pane: &Pane<'_>) -> String {
    let shell = pane.shell_pid();
    let output = house.command_of("pgrep", &["-P", &shell]).output();
    let output = output.expect("pgrep(1) runs");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
fn quitting_and_signals_restore_the_terminal() {
    let sim = talker();
    let house = house_with(&sim);
    let pane = Pane::open(&house, 80, 24);
    remember_modes(&pane);
    open(&pane);
    pane.press(LEAVE);
    pane.wait_for("$");
    modes_are_as_before(&pane);
    for signal in ["TERM", "HUP", "INT"] {
        open(&pane);
        let process = ui_process(&house, &pane);
        house
            .command_of("kill", &[&format!("-{signal}"), &process])
            .status()
            .expect("kill(1) runs");
        pane.wait_until_gone("Write a message");
        modes_are_as_before(&pane);
    }
    // At any moment of the start, too.
    for wait_ms in [5, 40, 90, 140, 220] {
        pane.run("hob");
        wait_until("it starts", || !ui_process(&house, &pane).is_empty());
        std::thread::sleep(Duration::from_millis(wait_ms));
        let process = ui_process(&house, &pane);
        let _ = house.command_of("kill", &["-TERM", &process]).status();
        wait_until("it ends", || ui_process(&house, &pane).is_empty());
        modes_are_as_before(&pane);
    }
}

#[test]
fn it_is_suspended_and_comes_back_as_it_was() {
    let sim = talker();
    let house = house_with(&sim);
    let pane = Pane::open(&house, 80, 24);
    remember_modes(&pane);
    open(&pane);
    pane.press("half a message");
    pane.wait_for("half a message");
    pane.press("\u{1a}");
    pane.wait_for("Stopped");
    modes_are_as_before(&pane);
    pane.run("fg");
    pane.wait_for("❯ half a message");
    pane.press("!");
    pane.wait_for("half a message!");
    pane.press(LEAVE);
    pane.wait_until_gone("half a message!");
    modes_are_as_before(&pane);
}

#[test]
fn resizes_keep_the_screen_whole() {
    let sim = talker();
    let house = house_with(&sim);
    let pane = Pane::open(&house, 80, 24);
    open(&pane);
    send(&pane, "tell");
    pane.wait_for("Paragraph 40");
    for (columns, rows) in [(40, 12), (120, 40), (23, 9), (200, 50), (80, 24)] {
        pane.resize(columns, rows);
        std::thread::sleep(Duration::from_millis(60));
    }
    pane.wait_until_gone("working");
    // The terminal shows its own cut of the screen until the last size is drawn.
    wait_until("the whole screen is drawn", || {
        let screen = pane.screen();
        let last = screen.trim_end().lines().last().unwrap_or_default();
        screen.starts_with("hob · ") && last.contains("? help")
    });
    let screen = pane.wait_for("Paragraph 40");
    assert_eq!(screen.matches("Paragraph 40").count(), 1, "{screen}");
    // What is read stays where it is.
    pane.press("\u{1b}[5~");
    pane.wait_for("not at the end");
    let read = pane.screen();
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(pane.screen(), read);
}

#[test]
fn no_byte_erases_the_screen_or_sets_a_scroll_region() {
    let sim = talker();
    let house = house_with(&sim);
    let pane = Pane::open(&house, 80, 24);
    let log = house.work().join("bytes");
    pane.record(&log);
    open(&pane);
    send(&pane, "tell");
    pane.wait_for("Paragraph 40");
    pane.wait_until_gone("working");
    for key in [
        "\u{1b}[5~",
        "\u{1b}[6~",
        "\u{10}",
        "\u{1b}",
        "\u{1b}2",
        "\u{1b}1",
        "\u{f}",
    ] {
        pane.press(key);
        std::thread::sleep(Duration::from_millis(80));
    }
    pane.resize(60, 20);
    std::thread::sleep(Duration::from_millis(200));
    pane.press(LEAVE);
    pane.wait_for("hob goes on here.");
    let bytes = std::fs::read(&log).expect("it was recorded");
    let text = String::from_utf8_lossy(&bytes);
    let start = text.find("\u{1b}[?1049h").expect("it took the screen");
    let end = text.rfind("\u{1b}[?1049l").expect("it gave it back");
    let inside = &text[start..end];
    assert!(inside.len() > 2_000, "something was drawn");
    for order in [
        "\u{1b}[2J",
        "\u{1b}[3J",
        "\u{1b}[J",
        "\u{1b}[0J",
        "\u{1b}[1J",
        "\u{1b}c",
    ] {
        assert!(!inside.contains(order), "{order:?} was written");
    }
    let mut orders = inside.split('\u{1b}');
    let is_region = |order: &str| {
        let inner = order.strip_prefix('[').unwrap_or_default();
        let end = inner.find(|it: char| !it.is_ascii_digit() && it != ';');
        end.is_some_and(|end| inner[end..].starts_with('r'))
    };
    assert!(!orders.any(is_region), "a scroll region was set");
    // Nothing changes any more, so nothing is written.
    open(&pane);
    std::thread::sleep(Duration::from_secs(7));
    let before = std::fs::metadata(&log).expect("recorded").len();
    std::thread::sleep(Duration::from_millis(1_500));
    assert_eq!(std::fs::metadata(&log).expect("recorded").len(), before);
}

#[test]
fn a_keymap_with_a_conflict_is_refused_with_both_names() {
    let sim = talker();
    let house = house_with(&sim);
    let keys = house.home().join("tui.keys");
    std::fs::write(&keys, "palette = ctrl-r\n").expect("written");
    let pane = Pane::open(&house, 120, 24);
    pane.run("hob");
    let said = pane.wait_for("Correct the file");
    for words in ["`palette`", "`history-search`", "ctrl-r"] {
        assert!(said.contains(words), "no {words:?} on:\n{said}");
    }
    std::fs::write(&keys, "preset pryx\npalette = ctrl-g\n").expect("written");
    open(&pane);
    pane.press("\u{7}");
    pane.wait_for("Actions");
}
