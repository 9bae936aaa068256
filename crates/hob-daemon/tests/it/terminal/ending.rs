//! Cancelling commands and their timeouts.

use super::{Rig, of, until};
use hob_wire::ErrorCode;
use hob_wire::rooms::terminal::{
    Cancel, CommandState, TerminalCancelParams, TerminalExecuteParams, TerminalState,
};
use std::time::{Duration, Instant};

/// Waits until a command runs.
async fn running(rig: &Rig, id: hob_wire::CommandId) {
    until("it runs", || async {
        rig.command(id, None).await.state == CommandState::Running
    })
    .await;
}

/// Waits until a command has printed that it ignores signals.
async fn deaf(rig: &Rig, id: hob_wire::CommandId) {
    until("it is deaf", || async {
        let output = rig.command(id, None).await.output;
        output.is_some_and(|it| it.starts_with("deaf"))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_waits_is_dropped_and_one_that_runs_is_interrupted() {
    let rig = Rig::new();
    let runs = rig.detached("sleep 600").await;
    let waits = rig.detached("echo never").await;
    running(&rig, runs).await;
    assert_eq!(rig.cancel(Some(waits)).await.ended, [waits]);
    assert_eq!(rig.ended(waits).await.state, CommandState::Cancelled);
    assert_eq!(rig.cancel(Some(runs)).await.ended, [runs]);
    let ended = rig.ended(runs).await;
    assert_eq!(ended.state, CommandState::Cancelled, "{ended:?}");
    assert_eq!(ended.exit_code, Some(130));
    assert_eq!(rig.cancel(Some(runs)).await.ended, []);
    assert_eq!(rig.run("echo on").await.output.unwrap().trim_end(), "on");
    rig.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_does_not_heed_is_killed() {
    let rig = Rig::new();
    let line = "bash -c 'trap \"\" INT TERM; echo deaf; while :; do sleep 0.1; done'";
    let runs = rig.detached(line).await;
    deaf(&rig, runs).await;
    rig.cancel(None).await;
    let ended = rig.ended(runs).await;
    assert_eq!(ended.state, CommandState::Cancelled);
    assert_eq!(ended.exit_code, Some(137), "{ended:?}");
    assert_eq!(rig.run("echo on").await.output.unwrap().trim_end(), "on");
    rig.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_of_several_that_do_not_heed_is_killed_to_its_end() {
    let rig = Rig::new();
    let runs = rig
        .detached("trap '' INT TERM; echo deaf; sleep 600; sleep 601; echo out")
        .await;
    deaf(&rig, runs).await;
    rig.cancel(None).await;
    let ended = rig.ended(runs).await;
    assert_eq!(ended.state, CommandState::Cancelled, "{ended:?}");
    assert_eq!(ended.exit_code, Some(0), "{ended:?}");
    assert_eq!(rig.run("echo on").await.output.unwrap().trim_end(), "on");
    rig.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_ends_a_command_and_nothing_else() {
    let rig = Rig::new();
    let timed = TerminalExecuteParams {
        timeout_ms: Some(300),
        ..of("echo begun; sleep 600")
    };
    let timed = rig.execute(timed).await.remove(0);
    assert_eq!(timed.state, CommandState::Timeout, "{timed:?}");
    assert!(timed.output.unwrap().starts_with("begun"));
    let main = rig.main().await.unwrap();
    assert_ne!(main.state, TerminalState::Lost);
    assert_eq!(rig.run("echo on").await.output.unwrap().trim_end(), "on");
    rig.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_ends_before_its_command() {
    let rig = Rig::new();
    let short = TerminalExecuteParams {
        wait_ms: Some(500),
        ..of("echo so far; sleep 600")
    };
    let began = Instant::now();
    let seen = rig.execute(short).await.remove(0);
    assert!(began.elapsed() < Duration::from_mins(1));
    assert_eq!(seen.state, CommandState::Running, "{seen:?}");
    assert_eq!(seen.output.unwrap().trim_end(), "so far");
    rig.cancel(None).await;
    rig.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_person_typed_is_not_ended() {
    let rig = Rig::new();
    rig.create("main").await;
    rig.type_line("sleep 600");
    until("it is on record", || async {
        !rig.history().await.is_empty()
    })
    .await;
    let line = rig.history().await.remove(0);
    let params = TerminalCancelParams {
        name: None,
        id: Some(line.id),
    };
    let refused = rig.caller().call::<Cancel>(&params).await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::Conflict);
    assert_eq!(rig.cancel(None).await.ended, []);
    assert_eq!(rig.main().await.unwrap().state, TerminalState::Busy);
    rig.end().await;
}
