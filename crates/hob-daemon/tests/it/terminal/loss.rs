//! Terminals that go away.

use super::{Rig, of, until};
use hob_wire::rooms::terminal::{
    CommandState, Create, TerminalCreateParams, TerminalExecuteParams,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_that_is_killed_is_told_and_its_callers_are_answered() {
    let rig = Rig::new();
    rig.create("main").await;
    let pid = rig.main().await.unwrap().pid.unwrap();
    let runs = rig.asks("sleep 600");
    until("it runs", || async {
        rig.main().await.is_some_and(|it| it.running.is_some())
    })
    .await;
    let waits = rig.asks("echo never");
    until("another waits", || async {
        rig.main().await.is_some_and(|it| it.queued == 1)
    })
    .await;
    let pid = rustix_pid(pid);
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    for caller in [runs, waits] {
        let commands = caller.await.unwrap().unwrap().commands;
        assert_eq!(commands[0].state, CommandState::Lost, "{commands:?}");
        assert!(commands[0].detail.is_some());
    }
    until("it is forgotten", || async { rig.main().await.is_none() }).await;
    let last = rig.logged("terminal.status").await.pop().unwrap();
    assert_eq!(last["state"], "lost");
    assert!(last["detail"].is_string());
    assert_eq!(
        rig.run("echo anew").await.output.unwrap().trim_end(),
        "anew"
    );
    rig.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_loses_all_and_hob_goes_on() {
    let rig = Rig::new();
    for name in ["main", "other"] {
        rig.create(name).await;
    }
    let runs = rig.detached("sleep 600").await;
    assert!(rig.tmux(&["kill-server"]).status.success());
    assert_eq!(rig.ended(runs).await.state, CommandState::Lost);
    until("both are gone", || async {
        rig.list().await.terminals.is_empty()
    })
    .await;
    let states = rig.logged("terminal.status").await;
    let lost = states.iter().filter(|it| it["state"] == "lost").count();
    assert_eq!(lost, 2, "{states:?}");
    assert_eq!(rig.run("echo anew").await.exit_code, Some(0));
    rig.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_that_is_left_closes_its_terminal() {
    let rig = Rig::new();
    let left = rig.run("exit 5").await;
    assert_eq!(left.state, CommandState::Done, "{left:?}");
    assert_eq!(left.exit_code, Some(5));
    until("it is closed", || async { rig.main().await.is_none() }).await;
    let last = rig.logged("terminal.status").await.pop().unwrap();
    assert_eq!(last["state"], "closed");
    rig.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_is_closed_and_made_again_under_its_name() {
    let rig = Rig::new();
    rig.run("cd /tmp; marker=1").await;
    let runs = rig.detached("sleep 600").await;
    let waits = rig.detached("echo never").await;
    until("it runs", || async {
        rig.command(runs, None).await.state == CommandState::Running
    })
    .await;
    let closed = rig.close("main").await;
    assert!(closed.terminal);
    assert_eq!(rig.ended(runs).await.state, CommandState::Lost);
    assert_eq!(rig.ended(waits).await.state, CommandState::Cancelled);
    assert!(!rig.close("main").await.terminal);
    let anew = rig.run("echo \"<$marker>\"; pwd").await;
    let person = rig.person().display().to_string();
    let expected = format!("<>\n{person}");
    assert_eq!(anew.output.unwrap().trim_end(), expected);
    assert!(!rig.capture(1_000).await.contains("cd /tmp"));
    assert_eq!(rig.history().await.len(), 4);
    rig.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_without_hooks_is_given_up_with_a_sentence() {
    let rig = Rig::new();
    let mute = rig.person().join("mute");
    std::fs::write(&mute, "#!/bin/sh\nexec sleep 600\n").unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&mute, executable).unwrap();
    for shell in [mute.to_str().unwrap(), "/bin/false"] {
        let params = TerminalCreateParams {
            shell: Some(shell.to_owned()),
            ..TerminalCreateParams::default()
        };
        let refused = rig.caller().call::<Create>(&params).await.unwrap_err();
        assert!(refused.message.contains("terminal.shell"), "{refused:?}");
    }
    until("it is gone", || async {
        rig.list().await.terminals.is_empty()
    })
    .await;
    rig.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_falls_is_made_again() {
    let rig = Rig::new();
    rig.create("main").await;
    let clients = rig.tmux(&["list-clients", "-F", "#{client_pid}"]);
    let clients = String::from_utf8(clients.stdout).unwrap();
    let pid = rustix_pid(clients.trim().parse().unwrap());
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let params = TerminalExecuteParams {
        wait_ms: Some(30_000),
        ..of("echo still here")
    };
    let still = rig.execute(params).await.remove(0);
    assert_eq!(still.output.unwrap().trim_end(), "still here");
    rig.end().await;
}

fn rustix_pid(pid: u32) -> rustix::process::Pid {
    rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap()
}
