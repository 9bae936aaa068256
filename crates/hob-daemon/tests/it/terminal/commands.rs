//! Commands, from the request to the answer.

use super::{Rig, of, until};
use hob_kit::randomness::Randomness;
use hob_wire::rooms::audit::AuditListParams;
use hob_wire::rooms::terminal::{
    CommandOrigin, CommandState, Execute, Keys, TerminalExecuteParams, TerminalKeysParams,
    TerminalState,
};
use hob_wire::{ErrorCode, RunId};

#[tokio::test(flavor = "multi_thread")]
async fn a_command_has_its_own_output_and_exit_code() {
    let rig = Rig::new();
    let first = rig.run("echo before").await;
    assert_eq!(first.state, CommandState::Done, "{first:?}");
    assert_eq!(first.exit_code, Some(0));
    let seven = rig.run("echo hello; (exit 7)").await;
    assert_eq!(seven.exit_code, Some(7));
    assert_eq!(seven.output.as_deref().map(str::trim_end), Some("hello"));
    assert_eq!(seven.by, CommandOrigin::Client);
    assert!(seven.duration_ms.is_some() && seven.ended_at >= seven.started_at);
    let special = "printf '%s\\n' 'é \"$HOME\" !! 漢字'\t'Enter' '-n'; echo 'a;'";
    let special = rig.run(special).await;
    let output = special.output.as_deref().map(str::trim_end);
    assert_eq!(output, Some("é \"$HOME\" !! 漢字\nEnter\n-n\na;"));
    let lines = rig.run("for i in 1 2; do\n  echo $i\ndone").await;
    assert_eq!(lines.output.as_deref().map(str::trim_end), Some("1\n2"));
    rig.run("cd /tmp").await;
    until("the folder is told", || async {
        rig.main().await.unwrap().folder.as_deref() == Some("/tmp")
    })
    .await;
    let terminal = rig.main().await.unwrap();
    assert_eq!(terminal.state, TerminalState::Idle);
    assert!(terminal.pid.is_some());
    let screen = rig.capture(100).await;
    assert!(screen.contains("echo hello; (exit 7)"), "{screen}");
    rig.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn several_go_in_order_and_stop_at_a_failure() {
    let rig = Rig::new();
    let texts = ["echo 1", "echo 2", "false", "echo 4"];
    let batch = |stop| TerminalExecuteParams {
        commands: texts.iter().map(|it| (*it).to_owned()).collect(),
        stop_on_failure: stop,
        ..TerminalExecuteParams::default()
    };
    let all = rig.execute(batch(false)).await;
    let codes: Vec<_> = all.iter().map(|it| it.exit_code).collect();
    assert_eq!(codes, [Some(0), Some(0), Some(1), Some(0)]);
    let outputs: Vec<_> = all.iter().map(|it| it.output.clone().unwrap()).collect();
    assert_eq!(
        outputs.concat().split_whitespace().collect::<Vec<_>>(),
        ["1", "2", "4"]
    );
    let some = rig.execute(batch(true)).await;
    assert_eq!(some[2].exit_code, Some(1));
    assert_eq!(some[3].state, CommandState::Cancelled);
    assert!(some[3].detail.is_some());
    rig.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_callers_at_once_while_one_waits() {
    let rig = Rig::new();
    let long = rig.detached("sleep 1; echo long").await;
    let callers: Vec<_> = (0..10)
        .map(|number| rig.asks(&format!("echo number {number}")))
        .collect();
    // Nobody who only looks waits for the long one.
    assert!(rig.main().await.is_some());
    assert!(rig.capture(10).await.len() < 10_000);
    for (number, caller) in callers.into_iter().enumerate() {
        let command = caller.await.unwrap().unwrap().commands.remove(0);
        let output = command.output.unwrap();
        assert_eq!(output.trim_end(), format!("number {number}"));
    }
    assert_eq!(rig.ended(long).await.output.unwrap().trim_end(), "long");
    rig.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_key_is_the_same_commands() {
    let rig = Rig::new();
    let keyed = TerminalExecuteParams {
        idempotency_key: Some("once".to_owned()),
        ..of("echo x >> once.txt")
    };
    let first = rig.execute(keyed.clone()).await;
    let again = rig.execute(keyed.clone()).await;
    assert_eq!(first[0].id, again[0].id);
    assert_eq!(again[0].state, CommandState::Done);
    rig.run("true").await;
    let written = std::fs::read_to_string(rig.person().join("once.txt")).unwrap();
    assert_eq!(written, "x\n");
    let other = TerminalExecuteParams {
        command: Some("echo y".to_owned()),
        ..keyed
    };
    let refused = rig.caller().call::<Execute>(&other).await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::Conflict);
    rig.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_run_is_refused_in_a_sentence() {
    let rig = Rig::new();
    let refused = |params: TerminalExecuteParams| {
        let caller = rig.caller();
        async move { caller.call::<Execute>(&params).await.unwrap_err().code }
    };
    let named = |name: &str| TerminalExecuteParams {
        name: Some(name.to_owned()),
        ..of("ls")
    };
    for params in [
        TerminalExecuteParams::default(),
        of(" "),
        of(&"x".repeat(8_193)),
        of("a\0b"),
        named("../x"),
        named(&"n".repeat(65)),
    ] {
        assert_eq!(refused(params).await, ErrorCode::InvalidParams);
    }
    assert!(rig.keys("", &["NoKey"]).await.is_err());
    let longest = format!("echo {}", "x".repeat(8_187));
    let ran = rig.run(&longest).await;
    assert_eq!(ran.output_bytes, 8_187 + 2, "{:?}", ran.state);
    rig.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_is_no_command_ends_all_the_same() {
    let rig = Rig::new();
    let wrong = rig.run("if then").await;
    assert_eq!(wrong.state, CommandState::Done);
    assert_eq!(wrong.exit_code, Some(2), "{wrong:?}");
    assert!(wrong.output.unwrap().contains("syntax error"));
    let half = rig.run("echo 'half").await;
    assert_eq!(half.exit_code, Some(2), "{half:?}");
    assert!(half.detail.is_some());
    let next = rig.run("echo whole").await;
    assert_eq!(next.output.unwrap().trim_end(), "whole");
    rig.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_lines_are_captured() {
    let rig = Rig::new();
    let all = rig.run("seq 1 10000").await;
    assert!(all.truncated || all.output.as_deref().unwrap().lines().count() == 10_000);
    let screen = rig.capture(20_000).await;
    let lines: Vec<&str> = screen.lines().collect();
    assert!(lines.len() >= 10_000, "{}", lines.len());
    let at = lines.iter().position(|line| *line == "42").unwrap();
    assert_eq!(lines[at + 9_000], "9042");
    rig.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_persons_own_act_is_on_record_before_it_happens() {
    let rig = Rig::new();
    rig.run("echo secret").await;
    rig.keys("echo typed", &["Enter"]).await.unwrap();
    // What a model asked for was judged, and recorded, before it came here.
    let asked = TerminalKeysParams {
        keys: vec!["Enter".to_owned()],
        run_id: Some(RunId(Randomness::system().uuid(1))),
        ..TerminalKeysParams::default()
    };
    rig.caller().call::<Keys>(&asked).await.unwrap();
    let audit = rig
        .store()
        .list_audit(AuditListParams::default())
        .await
        .unwrap();
    let tools: Vec<_> = audit
        .entries
        .iter()
        .map(|it| it.tool.clone().unwrap())
        .collect();
    assert_eq!(tools, ["terminal.keys", "terminal.execute"]);
    assert_eq!(audit.entries[1].matter["commands"][0], "echo secret");
    assert_eq!(audit.entries[1].act, "own-act");
    rig.end().await;
}
