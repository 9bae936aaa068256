//! Nothing survives: not a cancel, not the deadline, not the death of the daemon (faults 23, 60).

use crate::rig::{alive, levels, mark, search, shim, until};
use hob_exec::shim_protocol::{ExitCause, WaitStatus};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Six processes that do not want to end: in the background, in a session of their own, orphaned
/// twice over, all deaf to polite signals.
fn stubborn(mark: &str) -> String {
    let deaf = format!("trap '' TERM INT HUP QUIT; exec -a {mark} sleep 1000");
    format!(
        "trap '' TERM INT HUP QUIT
         (exec -a {mark} sleep 1000) &
         setsid bash -c \"{deaf}\" &
         ( ( setsid bash -c \"{deaf}\" & ) & )
         ( setsid bash -c \"( {deaf} ) & exit\" & )
         exec -a {mark} sleep 1000"
    )
}
const STUBBORN: usize = 5;

#[tokio::test]
async fn cancelling_leaves_nobody_within_a_second() {
    for rig in levels().await {
        let mark = mark("cancel");
        let child = rig.spawn(rig.plan(&stubborn(&mark))).await;
        until("all run", || alive(&mark) >= STUBBORN).await;
        let begun = Instant::now();
        let exit = child.cancel().await.expect("known");
        let took = begun.elapsed();
        assert_eq!(alive(&mark), 0, "{:?}", rig.level);
        assert_eq!(exit.cause, ExitCause::Cancelled);
        // The goal is a second; the machine that runs the tests is busy.
        assert!(took < Duration::from_secs(5), "{:?}: {took:?}", rig.level);
        eprintln!("{:?}: gone after {took:?}", rig.level);
    }
}

#[tokio::test]
async fn a_polite_program_ends_by_its_own_handler() {
    for rig in levels().await {
        let script = "trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.01; done";
        let mut plan = rig.plan(script);
        plan.grace = Duration::from_secs(30);
        let child = rig.spawn(plan).await;
        until("it is up", || {
            child
                .output_so_far(hob_exec::output::ChildStream::Stdout)
                .head
                .contains("up")
        })
        .await;
        let exit = child.cancel().await.expect("known");
        assert_eq!(exit.stdout.text(), "up\nbye\n", "{:?}", rig.level);
        assert_eq!(
            (exit.status, exit.cause),
            (WaitStatus::Code(7), ExitCause::Cancelled)
        );
    }
}

#[tokio::test]
async fn the_deadline_ends_all_of_it() {
    for rig in levels().await {
        let mark = mark("deadline");
        let mut plan = rig.plan(&stubborn(&mark));
        plan.deadline = Some(Duration::from_millis(400));
        let exit = rig.run(plan).await;
        assert_eq!(exit.cause, ExitCause::Deadline, "{:?}", rig.level);
        assert_eq!(alive(&mark), 0, "{:?}", rig.level);
        assert!(exit.duration >= Duration::from_millis(400));
    }
}

#[tokio::test]
async fn what_a_program_leaves_behind_ends_with_it() {
    for rig in levels().await {
        let mark = mark("left");
        let script =
            format!("( setsid bash -c 'exec -a {mark} sleep 1000' >/dev/null 2>&1 & ); exit 3");
        let exit = rig.sh(&script).await;
        assert_eq!(
            (exit.status, exit.cause),
            (WaitStatus::Code(3), ExitCause::Itself)
        );
        assert_eq!(alive(&mark), 0, "{:?}", rig.level);
    }
}

#[tokio::test]
async fn dropping_a_child_ends_it() {
    for rig in levels().await {
        let mark = mark("drop");
        let child = rig.spawn(rig.plan(&stubborn(&mark))).await;
        until("all run", || alive(&mark) >= STUBBORN).await;
        drop(child);
        until("all are gone", || alive(&mark) == 0).await;
    }
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "it stands for the daemon itself")]
async fn a_killed_daemon_leaves_no_orphan() {
    for rig in levels().await {
        let mark = mark("orphan");
        let mut parent = Command::new(&shim()[0])
            .args(["parent".into(), search(rig.level)])
            .arg(rig.work())
            .arg(stubborn(&mark))
            .stdin(Stdio::null())
            .spawn()
            .expect("started");
        // The parent carries the word too, in the script it was given.
        until("all run", || alive(&mark) > STUBBORN).await;
        parent.kill().expect("killed with SIGKILL");
        parent.wait().expect("waited for");
        until("all are gone", || alive(&mark) == 0).await;
        let placeholder = rig.work().join(".git");
        until("nothing is left in the workspace", || !placeholder.exists()).await;
    }
}

#[tokio::test]
async fn a_signal_and_a_code_are_told_apart_from_success() {
    for rig in levels().await {
        let exit = rig.sh("exit 42").await;
        assert_eq!(exit.status, WaitStatus::Code(42));
        let exit = rig.sh("kill -SEGV $$").await;
        assert_eq!(exit.status.code(), 139, "{:?}", rig.level);
        let exit = rig.sh("true").await;
        assert!(exit.is_success());
        assert_eq!(exit.level, rig.level);
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    for rig in levels().await {
        let mut plan = rig.plan("");
        plan.argv = vec!["no-such-program".into()];
        let error = rig.spawner.spawn(plan).await.expect_err("missing");
        assert_eq!(error.to_string(), "There is no program 'no-such-program'.");
    }
}
