//! The screen beside a real tmux pane: fed the bytes the pane printed, it shows the same text.

mod chance;
mod pane;

use hob_core::terminal::screen::TerminalScreen;
use pane::Pane;

/// More lines of the past than any of these prints.
const PAST: usize = 5_000;

/// Runs a script in a pane and compares, at its own size and then at others.
fn same(script: &str) {
    same_at(
        script,
        &[(80, 24), (57, 24), (57, 10), (120, 40), (33, 7), (80, 24)],
    );
}

fn same_at(script: &str, sizes: &[(u16, u16)]) {
    let ((columns, rows), others) = (sizes[0], &sizes[1..]);
    let pane = Pane::run(script, columns, rows);
    let mut screen = TerminalScreen::new(columns, rows, PAST);
    screen.feed(&pane.recorded());
    compare(&pane, &screen, script);
    for &(columns, rows) in others {
        pane.resize(columns, rows);
        screen.resize(columns, rows);
        compare(&pane, &screen, script);
    }
}

fn compare(pane: &Pane, screen: &TerminalScreen, script: &str) {
    let seen = pane.capture();
    let (shown, place) = (pane::lines(&screen.capture(PAST)), (screen.size(), script));
    assert_eq!(shown, seen.text, "{place:?}");
    assert_eq!(screen.capture(0), seen.visible, "{place:?}");
    assert_eq!(screen.cursor(), seen.cursor, "{place:?}");
    assert_eq!(screen.is_full_screen(), seen.full_screen, "{place:?}");
    assert_eq!(screen.scrollback_lines(), seen.past_lines, "{place:?}");
}

#[test]
fn lines() {
    same("seq 1 300");
    same("seq 1 10; printf 'no newline at the end'");
    same("printf '%0200d\\n' 1 2 3; printf 'a\\tb\\tc\\n'; seq 1 30 | tr '\\n' ' '");
}

#[test]
fn progress() {
    same(
        "for i in 1 20 55 100; do printf '\\r[%-20s] %3d%%' \"$(seq -s= $((i/8+1)))\" $i; done; echo",
    );
    same("for i in 1 2 3; do printf 'a: %d\\nb: %d\\n\\033[2A' $i $i; done; printf '\\033[2B'done");
    same(
        "printf 'working |'; for c in / - '|'; do printf '\\b%s' $c; done; printf '\\r\\033[Kdone\\n'",
    );
}

#[test]
fn wide_characters() {
    same(
        "for i in $(seq 40); do printf 'a日本語'; done; echo; printf '한국어 🚀 e\\314\\201 ñ é\\n'",
    );
    same("printf '日本語\\033[3Gx\\033[5G\\033[K\\n日本\\033[1Gy\\n'");
}

#[test]
fn colours() {
    same(
        "printf '\\033[1;31mred\\033[0m \\033[38;5;200mpink\\033[m\\033[K\\n'; ls -la --color=always /etc",
    );
}

#[test]
fn clearing() {
    same("seq 1 50; clear; echo after; seq 1 5");
    same("seq 1 5; printf '\\033[2J'; echo here; printf '\\033[H\\033[J'; echo there");
    same("seq 1 100; printf '\\033[H\\033[J\\033[3J'; echo alone");
    same("seq 1 30; printf '\\033[10;5H\\033[J\\033[5;3H\\033[1J'");
}

#[test]
fn places() {
    same("tput cup 5 10; printf x; tput cup 0 0; printf y; tput cup 23 79; printf z; tput home");
    same(
        "seq 1 30; tput csr 5 10; tput cup 10 0; seq 100 130; tput csr 0 23; tput cup 23 0; echo end",
    );
    same("seq 1 20; tput cup 4 0; tput il 3; tput cup 10 0; tput dl 2; tput cup 15 1; tput ech 1");
    same(
        "printf abcdefgh; tput cup 0 3; tput ich 2; tput cup 0 6; tput dch 1; tput ri; printf '\\n!'",
    );
    same(
        "tput sc; seq 1 3; tput rc; printf saved; tput cud 5; tput cuf 7; printf moved; tput cbt; printf '<'",
    );
}

#[test]
fn whole_screens() {
    let draw = "tput smcup; tput clear; seq 1 24 | head -c -1; tput cup 23 0; printf ':wq'";
    same(draw);
    same(&format!("seq 1 40; {draw}; tput rmcup; echo back"));
    same("seq 1 9; tput smcup; printf x; printf '\\033c'; echo y");
    same("seq 1 60; tput clear; for i in 1 2 3; do tput home; seq $i $((i+20)); done");
}

/// What an editor and a pager printed once, on a screen of 80×24.
#[test]
fn programs() {
    for name in ["editor", "pager"] {
        let file = format!("{}/tests/it/mirror/{name}.out", env!("CARGO_MANIFEST_DIR"));
        same_at(&format!("stty raw -echo; cat {file}"), &[(80, 24)]);
    }
}
