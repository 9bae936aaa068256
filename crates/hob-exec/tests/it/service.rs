//! Input, output as it comes, background processes, services without a sandbox.

use crate::rig::{Rig, alive, facts, levels, mark, until};
use hob_exec::output::ChildStream;
use hob_exec::shim_protocol::ExitCause;
use hob_exec::spawner::BACKGROUND_MAX;
use hob_exec::{ExecError, OutputMode, SandboxLevel, SandboxMode, StdinSource};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

async fn rig() -> Rig {
    Rig::with(facts(SandboxLevel::Landlock).await)
}

#[tokio::test]
async fn input_comes_whole_or_piece_by_piece() {
    for rig in levels().await {
        let mut plan = rig.plan("wc -c");
        plan.stdin = StdinSource::Bytes(vec![b'x'; 300_000]);
        let exit = rig.run(plan).await;
        assert_eq!(exit.stdout.text().trim(), "300000", "{:?}", rig.level);
        let mut plan = rig.plan("while read line; do echo \"<$line>\"; done; echo over");
        plan.stdin = StdinSource::Open;
        let child = rig.spawn(plan).await;
        child.write_stdin(b"one\n").await.expect("read");
        until("an answer", || {
            child
                .output_so_far(ChildStream::Stdout)
                .head
                .contains("<one>")
        })
        .await;
        child.write_stdin(b"two\n").await.expect("read");
        child.close_stdin().await;
        let exit = child.wait().await.expect("known");
        assert_eq!(exit.stdout.text(), "<one>\n<two>\nover\n");
        assert_eq!(child.write_stdin(b"x").await, Err(ExecError::StdinClosed));
        let exit = rig.sh("cat; echo empty").await;
        assert_eq!(exit.stdout.text(), "empty\n");
    }
}

#[tokio::test]
async fn chunks_come_in_order_and_a_slow_taker_slows_the_child() {
    let rig = rig().await;
    let mut plan = rig.plan("yes abcdefg | head -c 8M; echo last >&2");
    plan.output_mode = OutputMode::Chunks;
    let child = rig.spawn(plan).await;
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    let held = child.output_so_far(ChildStream::Stdout).total_bytes;
    assert!(
        held < 4 * 1024 * 1024,
        "{held} bytes went past a taker who waits"
    );
    let (mut text, mut errors) = (String::new(), String::new());
    while let Some(piece) = child.next_output().await {
        match piece.stream {
            ChildStream::Stdout => text.push_str(&piece.text),
            ChildStream::Stderr => errors.push_str(&piece.text),
        }
    }
    let exit = child.wait().await.expect("known");
    assert_eq!(text.len(), 8 * 1024 * 1024);
    assert!(text.split_terminator('\n').all(|line| line == "abcdefg"));
    assert_eq!(errors, "last\n");
    assert!(exit.is_success());
}

#[tokio::test]
async fn a_service_speaks_in_lines_and_a_flood_of_them_is_dropped_and_counted() {
    let rig = rig().await;
    let sandbox = SandboxMode::Unsandboxed { reason: "a test" };
    let script = "printf 'begin'; sleep 0.05; printf 'ning\\nsecond\\n'; read go; yes | head -c 4M";
    let mut plan = rig.plan_in(script, sandbox);
    plan.output_mode = OutputMode::Lines;
    plan.stdin = StdinSource::Open;
    let child = rig.spawn(plan).await;
    assert_eq!(child.level(), SandboxLevel::None);
    assert_eq!(child.next_output().await.expect("a line").text, "beginning");
    assert_eq!(child.next_output().await.expect("a line").text, "second");
    child.write_stdin(b"go\n").await.expect("read");
    // Nobody takes lines now, and the child ends all the same.
    let exit = child.wait().await.expect("known");
    let mut taken = 0;
    while child.next_output().await.is_some() {
        taken += 1;
    }
    assert_eq!(exit.dropped_lines + taken, 2 * 1024 * 1024);
    assert!(exit.dropped_lines > 0 && exit.level == SandboxLevel::None);
}

#[tokio::test]
async fn a_protocol_over_stdio_gets_the_pipes_themselves() {
    for rig in levels().await {
        let mut plan = rig.plan("exec cat");
        plan.output_mode = OutputMode::Pipes;
        let child = rig.spawn(plan).await;
        let (mut writes, mut reads) = child.take_pipes().await.expect("once");
        assert!(child.take_pipes().await.is_none());
        writes.write_all(b"{\"id\":1}\n").await.expect("written");
        let mut line = [0; 9];
        reads.read_exact(&mut line).await.expect("read");
        assert_eq!(&line, b"{\"id\":1}\n");
        drop(writes);
        assert!(child.wait().await.expect("known").is_success());
    }
}

#[tokio::test]
async fn background_processes_are_found_polled_and_ended_by_id() {
    for rig in levels().await {
        let mark = mark("background");
        let script = format!("echo one; sleep 0.2; echo two; exec -a {mark} sleep 1000");
        let child = rig.spawn(rig.plan(&script)).await;
        let id = rig.spawner.keep_in_background(child).expect("room");
        let child = rig.spawner.process(id).expect("kept");
        until("the first line", || {
            child.output_since(ChildStream::Stdout, 0).next >= 4
        })
        .await;
        let first = child.output_since(ChildStream::Stdout, 0);
        until("both lines", || {
            child.output_so_far(ChildStream::Stdout).total_bytes == 8
        })
        .await;
        let rest = child.output_since(ChildStream::Stdout, first.next);
        assert_eq!(format!("{}{}", first.text, rest.text), "one\ntwo\n");
        assert_eq!(rig.spawner.processes().len(), 1);
        until("it sleeps", || alive(&mark) > 0).await;
        let child = rig.spawner.forget(id).expect("kept");
        assert_eq!(
            child.wait().await.expect("known").cause,
            ExitCause::Cancelled
        );
        assert_eq!(alive(&mark), 0);
        assert!(rig.spawner.process(id).is_none());
    }
}

#[tokio::test]
async fn the_background_has_a_bound() {
    let rig = rig().await;
    for _ in 0..BACKGROUND_MAX {
        let child = rig.spawn(rig.plan("true")).await;
        rig.spawner.keep_in_background(child).expect("room");
    }
    let child = rig.spawn(rig.plan("true")).await;
    let error = rig.spawner.keep_in_background(child).expect_err("full");
    assert_eq!(
        error,
        ExecError::TooMany {
            running: BACKGROUND_MAX
        }
    );
}

#[tokio::test]
async fn what_a_run_used_is_reported() {
    for rig in levels().await {
        let exit = rig
            .sh("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")
            .await;
        assert!(
            exit.usage.cpu_user_ms + exit.usage.cpu_system_ms > 20,
            "{exit:#?}"
        );
        assert!(exit.usage.peak_bytes > 500_000, "{exit:#?}");
    }
}
