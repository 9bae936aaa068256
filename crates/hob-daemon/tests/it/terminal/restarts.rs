//! Restarts of the daemon while the terminals live on.

use super::{Rig, of, until};
use hob_kit::host_environment::EnvVars;
use hob_wire::ErrorCode;
use hob_wire::rooms::terminal::{CommandOrigin, CommandState, Execute, TerminalState};
use std::time::{Duration, Instant};

#[tokio::test(flavor = "multi_thread")]
async fn a_command_outlives_the_daemon_and_its_result_is_right() {
    let mut rig = Rig::new();
    rig.run("echo earlier").await;
    let runs = rig
        .detached("echo one; until [ -e go ]; do sleep 0.05; done; echo two; (exit 9)")
        .await;
    let waits = rig.detached("echo third").await;
    until("it runs", || async {
        rig.command(runs, None)
            .await
            .output
            .is_some_and(|it| it.contains("one"))
    })
    .await;
    let pid = rig.main().await.unwrap().pid;
    let began = Instant::now();
    let waiting = rig.asks("echo fourth");
    until("it waits", || async {
        rig.main().await.unwrap().queued == 2
    })
    .await;
    rig.stop().await;
    assert!(
        began.elapsed() < Duration::from_secs(30),
        "a stop waits for no terminal"
    );
    let refused = waiting.await.unwrap().unwrap_err();
    assert_eq!(refused.code, ErrorCode::ServiceUnavailable);
    std::fs::write(rig.person().join("go"), "").unwrap();
    rig.begin(true);
    let ended = rig.ended(runs).await;
    assert_eq!(ended.exit_code, Some(9), "{ended:?}");
    assert_eq!(ended.output.unwrap().trim_end(), "one\ntwo");
    assert_eq!(rig.ended(waits).await.output.unwrap().trim_end(), "third");
    let main = rig.main().await.unwrap();
    assert_eq!(main.pid, pid);
    assert!(rig.capture(100).await.contains("echo earlier"));
    until("all have ended", || async {
        rig.history().await.iter().all(|it| it.state.is_final())
    })
    .await;
    let history = rig.history().await;
    assert_eq!(history.len(), 4, "{history:?}");
    assert!(history.iter().all(|it| it.state == CommandState::Done));
    // Each began and ended once.
    let told = rig.logged("terminal.command").await;
    for command in &history {
        let id = command.id.to_string();
        let states = told.iter().filter(|it| it["id"] == id.as_str());
        let states: Vec<_> = states.map(|it| it["state"].as_str().unwrap()).collect();
        assert_eq!(states, ["running", "done"], "{command:?}");
    }
    rig.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_ended_while_nobody_was_there_is_found_in_the_recording() {
    let mut rig = Rig::new();
    let runs = rig
        .detached("until [ -e go ]; do sleep 0.05; done; echo done")
        .await;
    until("it runs", || async {
        rig.command(runs, None).await.state == CommandState::Running
    })
    .await;
    rig.stop().await;
    std::fs::write(rig.person().join("go"), "").unwrap();
    until("the command is over", || async {
        let screen = rig.tmux(&["capture-pane", "-p", "-t", "=main:"]).stdout;
        let screen = String::from_utf8(screen).unwrap();
        screen.lines().any(|line| line == "done")
    })
    .await;
    // The person uses the terminal meanwhile.
    let marker = rig.person().join("marker");
    rig.type_line("echo mine > marker; (exit 4)");
    until("the person's line ran", || async { marker.exists() }).await;
    rig.begin(true);
    assert_eq!(rig.ended(runs).await.output.unwrap().trim_end(), "done");
    until("both are on record", || async {
        let history = rig.history().await;
        history.len() == 2 && history.iter().all(|it| it.state.is_final())
    })
    .await;
    let line = rig.history().await.remove(0);
    assert_eq!((line.by, line.exit_code), (CommandOrigin::Person, Some(4)));
    rig.stop().await;
    rig.begin(true);
    assert_eq!(rig.run("echo again").await.exit_code, Some(0));
    assert_eq!(rig.history().await.len(), 3, "nothing is doubled");
    rig.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_that_died_meanwhile_is_told_with_what_it_did() {
    let mut rig = Rig::new();
    let runs = rig
        .detached("until [ -e go ]; do sleep 0.05; done; exit 6")
        .await;
    let waits = rig.detached("echo never").await;
    until("it runs", || async {
        rig.command(runs, None).await.state == CommandState::Running
    })
    .await;
    rig.stop().await;
    std::fs::write(rig.person().join("go"), "").unwrap();
    until("the shell is gone", || async {
        let sessions = rig.tmux(&["list-sessions"]).stdout;
        !String::from_utf8(sessions).unwrap().contains("main")
    })
    .await;
    rig.begin(true);
    let ended = rig.ended(runs).await;
    assert_eq!(ended.exit_code, Some(6), "{ended:?}");
    assert_eq!(rig.ended(waits).await.state, CommandState::Lost);
    until("it is over", || async { rig.main().await.is_none() }).await;
    rig.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_restarts_lose_and_double_nothing() {
    let mut rig = Rig::new();
    rig.create("main").await;
    let mut all = Vec::new();
    for number in 0..6 {
        let command = format!("echo {number} >> all.txt");
        for _ in 0..2 {
            all.push(rig.detached(&command).await);
        }
        rig.stop().await;
        rig.begin(true);
    }
    for id in all {
        assert_eq!(rig.ended(id).await.state, CommandState::Done);
    }
    let written = std::fs::read_to_string(rig.person().join("all.txt")).unwrap();
    assert_eq!(written.replace('\n', ""), "001122334455");
    assert_eq!(rig.main().await.unwrap().state, TerminalState::Idle);
    rig.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_cannot_ask_tmux_tells_no_terminal_lost() {
    let mut rig = Rig::new();
    rig.run("echo earlier").await;
    let pid = rig.main().await.unwrap().pid;
    rig.stop().await;
    let programs = rig.person().join("programs");
    std::fs::create_dir(&programs).unwrap();
    for _ in 0..2 {
        rig.begin_on(true, programs.to_str().unwrap());
        assert!(rig.list().await.problem.is_some(), "there is no tmux");
        assert_eq!(rig.main().await, None);
        let refused = rig.caller().call::<Execute>(&of("echo no")).await;
        assert_eq!(refused.unwrap_err().code, ErrorCode::Conflict);
        rig.stop().await;
    }
    rig.begin_on(true, programs.to_str().unwrap());
    assert_eq!(rig.main().await, None);
    // It is installed while the daemon runs.
    let tmux = hob_exec::find_program("tmux", &EnvVars::capture()).unwrap();
    std::os::unix::fs::symlink(tmux, programs.join("tmux")).unwrap();
    assert_eq!(rig.run("echo later").await.exit_code, Some(0));
    assert_eq!(rig.main().await.unwrap().pid, pid);
    assert!(rig.capture(100).await.contains("echo earlier"));
    rig.end().await;
}
