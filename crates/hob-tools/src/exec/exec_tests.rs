//! Previews and refusals before a command runs, and the answers after it. Real commands run in the
//! tests of the tool room, which has a shim to start.

use super::*;
use crate::trial::{TestWorkspace, words};
use hob_exec::SandboxLevel;
use hob_exec::shim_protocol::ResourceUsage;
use std::time::Duration;

fn exit(ended: WaitStatus, cause: ExitCause, stdout: &str, stderr: &str) -> ChildExit {
    let kept = |text: &str| KeptOutput {
        head: text.to_owned(),
        total_bytes: text.len() as u64,
        ..KeptOutput::default()
    };
    ChildExit {
        status: ended,
        cause,
        level: SandboxLevel::Landlock,
        usage: ResourceUsage::default(),
        duration: Duration::from_millis(7),
        stdout: kept(stdout),
        stderr: kept(stderr),
        output_file: None,
        dropped_lines: 0,
        left_behind: hob_exec::LeftBehind::default(),
    }
}

#[test]
fn an_end_is_told_in_words_and_in_metadata() {
    let ends = [
        (
            WaitStatus::Code(0),
            ExitCause::Itself,
            "",
            "(no output)",
            false,
        ),
        (WaitStatus::Code(0), ExitCause::Itself, "a", "a\n", false),
        (
            WaitStatus::Code(3),
            ExitCause::Itself,
            "a\n",
            "a\n(exit code 3)",
            false,
        ),
        (
            WaitStatus::Signal(11),
            ExitCause::Itself,
            "",
            "(ended by signal 11)",
            false,
        ),
    ];
    for (ended, cause, printed, told, is_error) in ends {
        let answer = exec_answer(&exit(ended, cause, printed, ""), 500, None);
        assert_eq!((words(&answer).as_str(), answer.is_error), (told, is_error));
    }
    for cause in [
        ExitCause::Cancelled,
        ExitCause::Deadline,
        ExitCause::Processes,
        ExitCause::Disk,
        ExitCause::Replaced,
    ] {
        let answer = exec_answer(&exit(WaitStatus::Signal(9), cause, "x", ""), 500, None);
        assert!(answer.is_error && words(&answer).contains("was ended with everything"));
    }
    let metadata = exec_answer(
        &exit(WaitStatus::Signal(9), ExitCause::Deadline, "ab", "c"),
        500,
        None,
    )
    .metadata;
    let expected = json!({
        "exitCode": 137, "signal": 9, "cause": "deadline", "sandbox": "landlock",
        "durationMs": 7, "bytes": 3,
    });
    assert_eq!(metadata, Some(expected));
}

#[test]
fn both_streams_are_told_apart() {
    let answer = exec_answer(
        &exit(WaitStatus::Code(0), ExitCause::Itself, "out", "err"),
        500,
        None,
    );
    assert_eq!(words(&answer), "out\n[stderr]\nerr\n");
}

#[tokio::test]
async fn without_a_spawner_nothing_runs() {
    let trial = TestWorkspace::new();
    let (text, failed) = trial.say("exec", json!({ "command": "true" })).await;
    assert_eq!(
        (text.as_str(), failed),
        ("Programs cannot be run here.", true)
    );
}
