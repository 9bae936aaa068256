//! The shells beside bash. Each must be there (`cargo xtask test` installs them).

use super::rig::{Rig, Terminal, hand};
use std::path::Path;

const ZSH: &str = "/usr/bin/zsh";
const FISH: &str = "/usr/bin/fish";
/// Shells without hooks.
const POSIX: [&str; 1] = ["/bin/dash"];

async fn terminal(rig: &Rig, shell: &str) -> Terminal {
    assert!(
        Path::new(shell).exists(),
        "{shell} is not installed; run: cargo xtask tools"
    );
    rig.terminal("main", shell).await
}

#[tokio::test]
async fn commands_are_exact_in_every_shell() {
    for shell in [ZSH, FISH, POSIX[0]] {
        let rig = Rig::with(&[(".zshrc", "setopt banghist\n")]).await;
        let mut terminal = terminal(&rig, shell).await;
        let cases = [
            ("a\ttab", "a\ttab"),
            ("a!b !! !$ !x", "a!b !! !$ !x"),
            ("é ☃ 日本語 \u{1F980}", "é ☃ 日本語 \u{1F980}"),
            ("$HOME `x` \" ;", "$HOME `x` \" ;"),
            ("Enter C-c -n echo a;", "Enter C-c -n echo a;"),
            ("one\ntwo\n\tthree", "one\r\ntwo\r\n\tthree"),
        ];
        for (number, (given, shown)) in cases.iter().enumerate() {
            let ran = terminal
                .run(&format!("c{number}"), &format!("printf '<%s>' '{given}'"))
                .await;
            assert_eq!(
                (ran.printed(), ran.status),
                (&*format!("<{shown}>"), 0),
                "{shell}"
            );
        }
        let long = "x".repeat(8_000);
        let ran = terminal.run("long", &format!("printf '<%s>' {long}")).await;
        assert_eq!(ran.printed(), format!("<{long}>"), "{shell}");
        let ran = terminal
            .run("lines", "echo one\necho two\nsh -c 'exit 7'")
            .await;
        assert_eq!(
            (ran.printed(), ran.status),
            ("one\r\ntwo\r\n", 7),
            "{shell}"
        );
        terminal.run("cd", "cd /usr/lib").await;
        let ran = terminal.run("pwd", "pwd").await;
        assert_eq!(ran.printed(), "/usr/lib\r\n", "{shell}");
    }
}

#[tokio::test]
async fn exit_codes_are_real_and_what_does_not_parse_ends_in_every_shell() {
    for shell in [ZSH, FISH, POSIX[0]] {
        let rig = Rig::with(&[(".zshrc", "")]).await;
        let mut terminal = terminal(&rig, shell).await;
        for (command, status) in [
            ("true", 0),
            ("false", 1),
            ("sh -c 'exit 7'", 7),
            ("no-such-command-at-all", 127),
            ("sh -c 'kill -9 $$'", 137),
        ] {
            let ran = terminal.run("x", command).await;
            assert_eq!(ran.status, status, "{shell} {command}: {}", ran.output);
        }
        let ran = terminal.run("bad", "echo )").await;
        assert!(ran.status != 0, "{shell}: {}", ran.output);
        let ran = terminal.run("after", "echo good").await;
        assert_eq!((ran.printed(), ran.status), ("good\r\n", 0), "{shell}");
        terminal.hand_over("left", "exit 6").await;
        assert_eq!(terminal.mark_of("X;").await, "6", "{shell}");
    }
}

#[tokio::test]
async fn what_the_person_types_is_theirs_and_a_half_typed_line_comes_back() {
    for shell in [ZSH, FISH] {
        let zshrc = "setopt histignorespace\nHISTSIZE=100\nSAVEHIST=100\n";
        let rig = Rig::with(&[(".zshrc", zshrc)]).await;
        let mut terminal = terminal(&rig, shell).await;
        terminal
            .control
            .type_text("echo 'mine é'")
            .await
            .expect("typed");
        terminal.sees("mine").await;
        for number in 0..3 {
            let ran = terminal
                .run(&format!("c{number}"), &format!("echo his {number}"))
                .await;
            assert_eq!(ran.printed(), format!("his {number}\r\n"), "{shell}");
            assert_eq!(ran.typed, None);
        }
        terminal.control.type_text(" on\r").await.expect("typed");
        let ran = terminal.ended().await;
        assert_eq!(ran.printed(), "mine é on\r\n", "{shell}");
        assert_eq!(ran.typed.as_deref(), Some("echo 'mine é' on"), "{shell}");
        assert!(ran.id.starts_with('p'), "{shell}: {}", ran.id);
        terminal.prompt().await;
        terminal
            .control
            .type_text(" echo secret\r")
            .await
            .expect("typed");
        let ran = terminal.ended().await;
        assert_eq!(
            (ran.printed(), ran.typed.as_deref()),
            ("secret\r\n", None),
            "{shell}"
        );
    }
}

#[tokio::test]
async fn a_command_is_taken_once_and_a_key_without_one_presses_nothing() {
    for shell in [ZSH, FISH] {
        let rig = Rig::with(&[(".zshrc", "")]).await;
        let mut terminal = terminal(&rig, shell).await;
        terminal
            .control
            .type_text("echo typed")
            .await
            .expect("typed");
        terminal.sees("typed").await;
        for _ in 0..3 {
            terminal.control.nudge().await.expect("sent");
        }
        terminal.control.type_text(" on\r").await.expect("typed");
        assert_eq!(terminal.ended().await.printed(), "typed on\r\n", "{shell}");
        terminal.prompt().await;
        hand(&terminal.folder)
            .hand_over("once", "echo once")
            .expect("written");
        for _ in 0..5 {
            terminal.control.nudge().await.expect("sent");
        }
        let ran = terminal.ended().await;
        // Keys that come while it runs are shown by the terminal itself.
        assert!(
            ran.id == "once" && ran.printed().starts_with("once\r\n"),
            "{shell}: {ran:?}"
        );
        let last = terminal.run("last", "echo last").await;
        assert!(last.printed().starts_with("last\r\n"), "{shell}: {last:?}");
    }
}

#[tokio::test]
async fn zsh_asks_for_the_rest_of_a_line_and_reads_the_persons_files() {
    let files = [
        (".zshenv", "ZDOTDIR=$HOME/conf\nexport FROM_ENV=yes\n"),
        (
            "conf/.zshrc",
            "PS1='mine> '\nFROM_RC=yes\nprecmd() { echo hook $? }\n",
        ),
    ];
    let rig = Rig::with(&files).await;
    let mut terminal = terminal(&rig, ZSH).await;
    let ran = terminal
        .run("files", "echo $FROM_ENV $FROM_RC ${ZDOTDIR:t}")
        .await;
    assert_eq!(ran.printed(), "yes yes conf\r\n");
    terminal.hand_over("half", "echo 'never closed").await;
    terminal.mark_of("I").await;
    terminal
        .control
        .press_keys(&["C-c".into()])
        .await
        .expect("pressed");
    assert_eq!(terminal.ended().await.id, "half");
    terminal.prompt().await;
    assert_eq!(terminal.run("on", "echo on").await.printed(), "on\r\n");
    let said = String::from_utf8_lossy(&terminal.said).into_owned();
    assert!(said.contains("mine> ") && said.contains("hook 0"), "{said}");
}
