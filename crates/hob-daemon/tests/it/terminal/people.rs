//! A user at the keyboard, and hob keeping out of the way.

use super::{Rig, until};
use hob_wire::rooms::terminal::{CommandOrigin, CommandState, TerminalState};

#[tokio::test(flavor = "multi_thread")]
async fn a_line_of_the_persons_is_seen_and_marked_as_theirs() {
    let rig = Rig::new();
    rig.create("main").await;
    rig.type_line("echo from the person; (exit 3)");
    until("the line is on record", || async {
        let history = rig.history().await;
        history.first().is_some_and(|it| it.state.is_final())
    })
    .await;
    let line = rig.history().await.remove(0);
    assert_eq!(line.by, CommandOrigin::Person);
    assert_eq!(line.exit_code, Some(3));
    let text = line.command.as_deref();
    assert_eq!(text, Some("echo from the person; (exit 3)"));
    let whole = rig.command(line.id, None).await;
    assert_eq!(whole.output.unwrap().trim_end(), "from the person");
    rig.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_persons_program_runs_hob_waits() {
    let rig = Rig::new();
    rig.create("main").await;
    rig.type_line("cat");
    until("it is busy", || async {
        rig.main().await.unwrap().state == TerminalState::Busy
    })
    .await;
    let waiting = rig.detached("echo after").await;
    rig.keys("to the program", &["Enter"]).await.unwrap();
    until("the program got it", || async {
        rig.capture(0).await.matches("to the program").count() == 2
    })
    .await;
    assert_eq!(rig.command(waiting, None).await.state, CommandState::Queued);
    assert_eq!(rig.main().await.unwrap().queued, 1);
    assert!(!rig.capture(0).await.contains("echo after"));
    rig.keys("", &["C-d"]).await.unwrap();
    let after = rig.ended(waiting).await;
    assert_eq!(after.output.unwrap().trim_end(), "after");
    rig.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_half_typed_line_comes_back() {
    let rig = Rig::new();
    rig.create("main").await;
    rig.keys("echo half", &[]).await.unwrap();
    until("it is there", || async {
        rig.capture(0).await.contains("echo half")
    })
    .await;
    let between = rig.run("echo between").await;
    assert_eq!(between.output.unwrap().trim_end(), "between");
    rig.keys(" and whole", &["Enter"]).await.unwrap();
    until("the line was run", || async {
        let newest = rig.history().await.remove(0);
        newest.by == CommandOrigin::Person && newest.state.is_final()
    })
    .await;
    let line = rig.history().await.remove(0);
    assert_eq!(line.command.as_deref(), Some("echo half and whole"));
    rig.end().await;
}
