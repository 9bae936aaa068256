//! What would end the terminal is refused, and nothing else.

use super::*;
use proptest::prelude::*;

#[test]
fn what_ends_or_nests_the_terminal_is_refused() {
    for line in [
        "exit",
        " exit 3",
        "ls; exit",
        "make && exit",
        "false || logout",
        "cd /tmp\nexit",
        "if true; then exit; fi",
        "{ exit; }",
        "e\\xit",
        "'exit'",
        "A=1 exit",
        "exec bash",
        "exec zsh -l",
        "exec > log bash",
        "tmux",
        "tmux kill-server",
        "tmux kill-serv",
        "tmux -L other attach",
        "/usr/bin/tmux a",
        "tmux new -s x",
        "sleep 1 & exit",
    ] {
        assert!(check(line).is_err(), "{line}");
    }
}

#[test]
fn what_only_mentions_it_is_run() {
    for line in [
        "(exit 7)",
        "bash -c 'exit 7'",
        "echo exit",
        "echo 'ls; exit'",
        "grep -r exit .",
        "man exit",
        "echo \"a;exit\"",
        "ls # exit",
        "x=$(exit 3)",
        "exec 3>&1",
        "exec >log 2>&1",
        "exec > log",
        "tmux ls",
        "tmux -V",
        "tmux display-message hi",
        "echo a 2>&1 | tee exit",
        "make &> exit",
        "exits",
        "python -c 'import sys; sys.exit(1)'",
        "",
    ] {
        let checked = check(line);
        assert!(checked.is_ok(), "{line}: {checked:?}");
    }
}

proptest! {
    #[test]
    fn no_line_breaks_it(line in "(?s).{0,200}") {
        let _ = check(&line);
    }

    #[test]
    fn whatever_stands_before_it_does_not_hide_it(before in "[a-z ./-]{0,20}") {
        let line = format!("{before};exit");
        prop_assert!(check(&line).is_err());
    }
}
