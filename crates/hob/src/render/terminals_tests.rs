//! Terminals on a screen.

use super::*;
use crate::render::text::width;
use hob_wire::rooms::terminal::TerminalInfo;

const NOW: u64 = 1_794_800_000_000;

fn terminal(name: &str, state: TerminalState) -> TerminalInfo {
    TerminalInfo {
        name: name.to_owned(),
        state,
        detail: Some("Its shell ended.".to_owned()),
        shell: "bash".to_owned(),
        folder: Some("/home/ada/lab\u{1b}[2J".to_owned()),
        pid: Some(7),
        columns: 120,
        rows: 30,
        queued: 3,
        running: None,
        attached: 0,
        created_at: NOW,
    }
}

fn of(number: u8, by: CommandOrigin, state: CommandState) -> TerminalCommand {
    let id = format!("00000000-0000-7000-8000-0000000000{number:02x}");
    TerminalCommand {
        id: id.parse().expect("is an id"),
        terminal: "main".to_owned(),
        by,
        command: Some("make\ttest\u{7}".to_owned()),
        reason: None,
        state,
        exit_code: (state == CommandState::Done).then_some(i32::from(number)),
        duration_ms: Some(1_500),
        queued_at: NOW,
        started_at: Some(NOW),
        ended_at: None,
        output: Some("one\r\ntwo\u{1b}]0;x\u{7}\n".to_owned()),
        output_bytes: 2_048,
        recorded: None,
        truncated: false,
        detail: None,
    }
}

#[test]
fn the_list_fits_and_says_why_a_terminal_is_gone() {
    let found = TerminalListResult {
        terminals: vec![
            terminal("main", TerminalState::Idle),
            terminal("build", TerminalState::Lost),
        ],
        socket: "/run/tmux.sock".to_owned(),
        tmux: Some("3.3a".to_owned()),
        problem: None,
    };
    let lines = list(&found, &ScreenStyle::plain(NOW));
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[1].starts_with("main ") && lines[1].contains("/home/ada/lab"));
    assert!(lines[2].contains("lost") && lines[2].ends_with("Its shell ended."));
    let narrow = ScreenStyle {
        width: Some(40),
        ..ScreenStyle::plain(NOW)
    };
    for line in list(&found, &narrow) {
        assert!(width(&line) <= 40 && !line.contains('\u{1b}'), "{line:?}");
    }
    let none = TerminalListResult {
        terminals: Vec::new(),
        problem: Some("tmux is not here. Install it: sudo apt install tmux".to_owned()),
        ..found
    };
    let lines = list(&none, &ScreenStyle::plain(NOW));
    assert_eq!(
        lines,
        ["tmux is not here. Install it: sudo apt install tmux"]
    );
}

#[test]
fn the_history_reads_downwards_and_says_who_and_how() {
    let page = TerminalHistoryResult {
        commands: vec![
            of(2, CommandOrigin::Person, CommandState::Done),
            of(0, CommandOrigin::Model, CommandState::Done),
            of(9, CommandOrigin::Client, CommandState::Running),
        ],
        more: true,
    };
    let lines = history(&page, &ScreenStyle::plain(NOW));
    assert!(
        lines[1].contains("client") && lines[1].contains("runs"),
        "{lines:?}"
    );
    assert!(lines[2].contains("model") && lines[2].contains("ok"));
    assert!(lines[3].contains("you") && lines[3].contains("exit 2"));
    assert!(lines[3].contains("make test") && lines[3].starts_with("00000002"));
    assert!(lines.iter().all(|line| !line.contains('\u{7}')));
    assert!(!lines[0].contains("TERMINAL"));
    assert!(lines[4].starts_with("Older ones"));
    let narrow = ScreenStyle {
        width: Some(40),
        ..ScreenStyle::plain(NOW)
    };
    let lines = history(&page, &narrow);
    assert!(lines[3].starts_with("00000002  exit 2"), "{lines:?}");
    assert!(lines[3].contains("make test"), "{lines:?}");
    let mut page = page;
    page.commands[0].terminal = "build".to_owned();
    assert!(histories(&page, &ScreenStyle::plain(NOW))[0].contains("TERMINAL"));
}

#[test]
fn one_command_is_shown_with_what_it_printed_and_nothing_that_acts() {
    let one = of(7, CommandOrigin::Person, CommandState::Done);
    let lines = command(&one, &ScreenStyle::plain(NOW));
    assert_eq!(lines[0], "$ make test\\u{7}");
    assert!(lines[1].contains("by you · in main") && lines[1].contains("exit 7"));
    assert_eq!(lines[3], "one");
    assert!(!lines.concat().contains('\u{1b}'));
}
