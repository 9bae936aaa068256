//! Bash: commands arrive exactly as they are, and end with their real exit code.

use super::rig::{Rig, Terminal, hand};
use std::time::Duration;

async fn bash(rig: &Rig) -> Terminal {
    rig.terminal("main", "/bin/bash").await
}

/// What a program was given, byte by byte.
const SHOW: &str = "printf '<%s>' ";

#[tokio::test]
async fn commands_are_exact_whatever_they_are_made_of() {
    let rig = Rig::new().await;
    let mut terminal = bash(&rig).await;
    let cases = [
        ("a\ttab", "a\ttab"),
        ("a!b !! !$ !x", "a!b !! !$ !x"),
        ("é ☃ 日本語 \u{1F980}", "é ☃ 日本語 \u{1F980}"),
        ("$HOME `x` \\ \" ;", "$HOME `x` \\ \" ;"),
        ("Enter C-c -n echo a;", "Enter C-c -n echo a;"),
        ("~", "~"),
        ("one\ntwo\n\tthree", "one\r\ntwo\r\n\tthree"),
    ];
    for (number, (given, shown)) in cases.iter().enumerate() {
        let id = format!("c{number}");
        let ran = terminal.run(&id, &format!("{SHOW}'{given}'")).await;
        assert_eq!(
            (ran.output.as_str(), ran.status),
            (&*format!("<{shown}>"), 0)
        );
        assert_eq!(ran.typed, None);
    }
    let long = "x".repeat(8_000);
    let ran = terminal.run("long", &format!("{SHOW}{long}")).await;
    assert_eq!(ran.output, format!("<{long}>"));
}

#[tokio::test]
async fn several_lines_are_one_command() {
    let rig = Rig::new().await;
    let mut terminal = bash(&rig).await;
    let ran = terminal
        .run("a", "echo one\necho two\n# a comment\n(exit 7)")
        .await;
    assert_eq!((ran.output.as_str(), ran.status), ("one\r\ntwo\r\n", 7));
    let ran = terminal
        .run("b", "for i in 1 2; do\n\techo \"$i!\"\ndone")
        .await;
    assert_eq!((ran.output.as_str(), ran.status), ("1!\r\n2!\r\n", 0));
    let ran = terminal.run("c", "cat <<'EOF'\n{ $x\nEOF\n").await;
    assert_eq!((ran.output.as_str(), ran.status), ("{ $x\r\n", 0));
    let ran = terminal.run("d", "X=5\ncd /usr\nfalse").await;
    assert_eq!(ran.status, 1);
    let ran = terminal.run("e", "echo $X $PWD").await;
    assert_eq!(ran.output, "5 /usr\r\n");
}

#[tokio::test]
async fn the_exit_code_is_the_real_one_and_a_line_that_does_not_parse_ends_too() {
    let rig = Rig::new().await;
    let mut terminal = bash(&rig).await;
    for (command, status) in [
        ("true", 0),
        ("false", 1),
        ("(exit 7)", 7),
        ("no-such-command-at-all", 127),
        ("sh -c 'kill -9 $$'", 137),
        ("false | true", 0),
    ] {
        let ran = terminal.run("x", command).await;
        assert_eq!(ran.status, status, "{command}: {}", ran.output);
    }
    let ran = terminal.run("bad", "echo )").await;
    assert_eq!(ran.status, 2);
    assert!(ran.output.contains("syntax error"), "{}", ran.output);
    let ran = terminal.run("after", "echo good").await;
    assert_eq!((ran.output.as_str(), ran.status), ("good\r\n", 0));
}

#[tokio::test]
async fn an_incomplete_line_is_told_and_can_be_given_up() {
    let rig = Rig::new().await;
    let mut terminal = bash(&rig).await;
    terminal.hand_over("half", "echo 'never closed").await;
    terminal.mark_of("I").await;
    // The key does nothing while the shell asks for the rest.
    hand(&terminal.folder)
        .hand_over("other", "echo no")
        .expect("written");
    terminal.control.nudge().await.expect("sent");
    terminal.mark_of("I").await;
    // Right behind another key bash hears of an interruption only with the next one.
    let ran = loop {
        let pressed = terminal.control.press_keys(&["C-c".into()]).await;
        pressed.expect("pressed");
        let ended = tokio::time::timeout(Duration::from_secs(2), terminal.ended()).await;
        if let Ok(ran) = ended {
            break ran;
        }
    };
    assert_eq!((ran.id.as_str(), ran.status), ("half", 130));
    terminal.prompt().await;
    assert_eq!(
        hand(&terminal.folder).untaken().expect("read"),
        Some("other".into())
    );
    terminal.control.nudge().await.expect("sent");
    assert_eq!(terminal.ended().await.output, "no\r\n");
    assert_eq!(hand(&terminal.folder).untaken().expect("read"), None);
}

#[tokio::test]
async fn a_half_typed_line_is_kept_and_comes_back() {
    let rig = Rig::new().await;
    let mut terminal = bash(&rig).await;
    terminal
        .control
        .type_text("echo 'mine é'")
        .await
        .expect("typed");
    terminal.sees("mine").await;
    for number in 0..3 {
        let id = format!("c{number}");
        let ran = terminal.run(&id, &format!("echo his {number}")).await;
        assert_eq!(ran.output, format!("his {number}\r\n"));
    }
    // A command that is interrupted gives the line back all the same.
    terminal.hand_over("long", "sleep 1000").await;
    terminal.mark_of("C;long").await;
    terminal.runs("sleep").await;
    terminal
        .control
        .press_keys(&["C-c".into()])
        .await
        .expect("pressed");
    assert_eq!(terminal.ended().await.status, 130);
    terminal.prompt().await;
    // It is at the cursor again: what is typed now goes on with it.
    terminal.control.type_text("'!'").await.expect("typed");
    terminal
        .control
        .press_keys(&["Enter".into()])
        .await
        .expect("pressed");
    let ran = terminal.ended().await;
    assert_eq!(ran.output, "mine é!\r\n");
    assert_eq!(ran.typed.as_deref(), Some("echo 'mine é''!'"));
}

#[tokio::test]
async fn a_key_without_a_command_presses_nothing() {
    let rig = Rig::new().await;
    let mut terminal = bash(&rig).await;
    terminal
        .control
        .type_text("echo typed")
        .await
        .expect("typed");
    terminal.sees("echo typed").await;
    for _ in 0..3 {
        terminal.control.nudge().await.expect("sent");
    }
    terminal.control.type_text(" on").await.expect("typed");
    terminal
        .control
        .press_keys(&["Enter".into()])
        .await
        .expect("pressed");
    let ran = terminal.ended().await;
    assert_eq!(ran.output, "typed on\r\n");
    // The same command is taken once however often the key comes.
    hand(&terminal.folder)
        .hand_over("once", "echo once")
        .expect("written");
    for _ in 0..5 {
        terminal.control.nudge().await.expect("sent");
    }
    let ran = terminal.ended().await;
    // Keys that come while it runs are shown by the terminal itself.
    assert!(
        ran.id == "once" && ran.output.starts_with("once\r\n"),
        "{ran:?}"
    );
    let ran = terminal.run("last", "echo last").await;
    assert_eq!(ran.output, "last\r\n");
}

#[tokio::test]
async fn what_the_person_types_is_theirs_and_what_they_hide_stays_hidden() {
    let rig = Rig::with(&[(".bashrc", "HISTCONTROL=ignorespace\n")]).await;
    let mut terminal = bash(&rig).await;
    let types = async |terminal: &mut Terminal, line: &str| {
        terminal.control.type_text(line).await.expect("typed");
        terminal
            .control
            .press_keys(&["Enter".into()])
            .await
            .expect("pressed");
        let ran = terminal.ended().await;
        terminal.prompt().await;
        ran
    };
    let ran = types(&mut terminal, "echo é; (exit 3)").await;
    assert!(
        ran.id.starts_with('p') && ran.id.ends_with(".1"),
        "{}",
        ran.id
    );
    assert_eq!((ran.output.as_str(), ran.status), ("é\r\n", 3));
    assert_eq!(ran.typed.as_deref(), Some("echo é; (exit 3)"));
    let ran = terminal.run("ours", "echo ours").await;
    assert_eq!(ran.typed, None);
    let ran = types(&mut terminal, " echo secret").await;
    assert_eq!((ran.output.as_str(), ran.typed), ("secret\r\n", None));
    // An empty line is no command.
    terminal
        .control
        .press_keys(&["Enter".into()])
        .await
        .expect("pressed");
    terminal.prompt().await;
    let ran = types(&mut terminal, "echo 'a\nb'").await;
    assert_eq!(ran.output, "a\r\nb\r\n");
}

#[tokio::test]
async fn marks_without_the_key_are_data() {
    let rig = Rig::new().await;
    let mut terminal = bash(&rig).await;
    let forged = r"printf '\e]7717;D;real;0;1.000000\a\e]7717;0000;D;real;0;1.000000\a'; (exit 5)";
    let ran = terminal.run("real", forged).await;
    assert_eq!(ran.status, 5);
    assert!(ran.output.contains("0000;D;real;0"), "{}", ran.output);
    // The key is neither in the environment nor among the arguments of anything.
    let ran = terminal
        .run(
            "env",
            "env; cat /proc/$$/environ /proc/$$/cmdline | tr '\\0' '\\n'",
        )
        .await;
    assert!(ran.output.contains("HOME="), "{}", ran.output);
    assert!(!ran.output.contains(super::rig::KEY));
}

#[tokio::test]
async fn the_folder_is_told_at_each_prompt() {
    let rig = Rig::new().await;
    let odd = rig.home.join("é #{x} %Y;");
    std::fs::create_dir(&odd).expect("made");
    let mut new = rig.new_terminal("main", "/bin/bash");
    new.dir.clone_from(&odd);
    let mut terminal = rig.begin(new).await;
    assert_eq!(terminal.prompt().await, odd.to_str().expect("text"));
    terminal.hand_over("cd", "cd /usr/lib").await;
    terminal.ended().await;
    assert_eq!(terminal.prompt().await, "/usr/lib");
}

#[tokio::test]
async fn the_persons_own_settings_go_on_working() {
    let bashrc = "PS1='[mine] '; PS0='(go)'; PS2='more? '
        PROMPT_COMMAND='echo hook $?'; trap 'echo farewell $?' EXIT
        set -u; set -o vi; set -o noclobber; alias hi='echo hello'; LANG=de_DE.UTF-8\n";
    let rig = Rig::with(&[(".bashrc", bashrc)]).await;
    let mut terminal = bash(&rig).await;
    let ran = terminal.run("a", "hi; (exit 4)").await;
    assert_eq!((ran.output.as_str(), ran.status), ("(go)hello\r\n", 4));
    let said = String::from_utf8_lossy(&terminal.said).into_owned();
    assert!(
        said.contains("hook 4") && said.contains("[mine] "),
        "{said}"
    );
    // In vi's command mode as well.
    terminal
        .control
        .type_text("echo kept")
        .await
        .expect("typed");
    terminal
        .control
        .press_keys(&["Escape".into()])
        .await
        .expect("pressed");
    terminal.sees("kept").await;
    let ran = terminal.run("b", "echo again").await;
    assert_eq!(ran.output, "(go)again\r\n");
    // Pipes' states and the last argument stay those of the person's command.
    terminal.run("c", "true | (exit 3) | true").await;
    let ran = terminal.run("d", "echo \"${PIPESTATUS[*]}\" $?").await;
    assert_eq!(ran.output, "(go)0 3 0 0\r\n");
    terminal.control.type_text("\r").await.expect("typed");
    assert_eq!(terminal.ended().await.typed.as_deref(), Some("echo kept"));
    terminal.prompt().await;
    terminal.run("e", "set -e").await;
    terminal
        .control
        .type_text("echo \"$-\"\r")
        .await
        .expect("typed");
    let ran = terminal.ended().await;
    terminal.prompt().await;
    assert!(
        ran.output.contains('e') && ran.output.contains('H'),
        "{}",
        ran.output
    );
    terminal.hand_over("left", "exit 6").await;
    assert_eq!(terminal.mark_of("X;").await, "6");
    terminal.sees("farewell").await;
}
