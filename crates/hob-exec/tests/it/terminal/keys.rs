//! Keys: text is typed letter by letter, names press keys, and scrolling back changes nothing.

use super::rig::{Rig, Terminal};
use hob_exec::tmux::TmuxError;

/// Waits until `cat -A`-like output of what was typed is there.
async fn types(terminal: &mut Terminal, text: &str) {
    terminal.control.type_text(text).await.expect("typed");
    terminal
        .control
        .press_keys(&["Enter".into()])
        .await
        .expect("pressed");
}

#[tokio::test]
async fn text_is_never_read_as_the_name_of_a_key_or_as_a_command_of_tmux() {
    let rig = Rig::new().await;
    let mut terminal = rig.terminal("main", "/bin/bash").await;
    let file = rig.folder.path().join("typed");
    terminal
        .hand_over("cat", &format!("cat > '{}'", file.display()))
        .await;
    terminal.mark_of("C;cat").await;
    let long = "é-n;".repeat(600);
    let lines = [
        "Enter",
        "-n",
        "echo a;",
        "C-c",
        "~/$HOME",
        "#{pane_id} %H",
        "é ☃ \u{1F980}",
        ";",
        "'\"\\",
        &long,
    ];
    for line in lines {
        types(&mut terminal, line).await;
    }
    terminal
        .control
        .press_keys(&["C-d".into()])
        .await
        .expect("pressed");
    assert_eq!(terminal.ended().await.status, 0);
    let typed = std::fs::read_to_string(file).expect("written");
    assert_eq!(typed.lines().collect::<Vec<_>>(), lines);
}

#[tokio::test]
async fn eight_kibibytes_are_typed_whole() {
    let rig = Rig::new().await;
    let mut terminal = rig.terminal("main", "/bin/bash").await;
    let letters = (b'a'..=b'z').cycle().map(char::from);
    let long: String = letters.take(8_000).collect();
    types(&mut terminal, &format!("printf '%s' {long} | cksum")).await;
    let ran = terminal.ended().await;
    let expected = terminal_cksum(&rig, &long);
    assert_eq!(ran.output.trim(), expected.trim());
}

/// What the same program says of the same bytes without a terminal.
#[expect(clippy::disallowed_methods, reason = "a program beside hob")]
fn terminal_cksum(rig: &Rig, text: &str) -> String {
    let file = rig.folder.path().join("long");
    std::fs::write(&file, text).expect("written");
    let input = std::fs::File::open(file).expect("opened");
    let output = std::process::Command::new("cksum").stdin(input).output();
    String::from_utf8(output.expect("runs").stdout).expect("text")
}

#[tokio::test]
async fn keys_have_names_and_what_is_no_name_presses_nothing() {
    let rig = Rig::new().await;
    let mut terminal = rig.terminal("main", "/bin/bash").await;
    terminal.run("one", "echo first").await;
    let error = terminal
        .control
        .press_keys(&["Up".into(), "Entr".into()])
        .await;
    assert!(matches!(error, Err(TmuxError::NoKey(name)) if name == "Entr"));
    let names = [
        "Up", "Home", "#", "C-a", "Delete", "End", "Space", "2", "Enter",
    ];
    let names: Vec<String> = names.map(str::to_owned).into();
    terminal.control.press_keys(&names).await.expect("pressed");
    let ran = terminal.ended().await;
    assert_eq!(ran.output, "first 2\r\n");
}

#[tokio::test]
async fn somebody_who_scrolls_back_keeps_nothing_from_the_program() {
    let rig = Rig::new().await;
    let mut terminal = rig.terminal("main", "/bin/bash").await;
    let pane = terminal.session.pane.clone();
    rig.tmux(&["copy-mode", "-t", &pane]);
    let ran = terminal.run("one", "echo there").await;
    assert_eq!(ran.output, "there\r\n");
    types(&mut terminal, "echo typed").await;
    assert_eq!(terminal.ended().await.output, "typed\r\n");
    terminal.prompt().await;
    let mode = rig.tmux(&["display-message", "-p", "-t", &pane, "#{pane_in_mode}"]);
    assert_eq!(mode.trim(), "1", "still scrolling");
    terminal
        .control
        .press_keys(&["Up".into(), "Enter".into()])
        .await
        .expect("pressed");
    assert_eq!(terminal.ended().await.output, "typed\r\n");
}
