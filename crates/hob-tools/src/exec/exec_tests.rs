//! What is shown and refused before anything runs, and how an end is told. Real commands run in the
//! tests of the tool room, which has a shim to start.

use super::*;
use crate::trial::{Trial, words};
use hob_exec::Level;
use hob_exec::order::Usage;
use std::time::Duration;

fn exit(ended: Ended, cause: Cause, stdout: &str, stderr: &str) -> Exit {
    let kept = |text: &str| Kept {
        head: text.to_owned(),
        total_bytes: text.len() as u64,
        ..Kept::default()
    };
    Exit {
        ended,
        cause,
        level: Level::Landlock,
        usage: Usage::default(),
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
        (Ended::Code(0), Cause::Itself, "", "(no output)", false),
        (Ended::Code(0), Cause::Itself, "a", "a\n", false),
        (
            Ended::Code(3),
            Cause::Itself,
            "a\n",
            "a\n(exit code 3)",
            false,
        ),
        (
            Ended::Signal(11),
            Cause::Itself,
            "",
            "(ended by signal 11)",
            false,
        ),
    ];
    for (ended, cause, printed, told, is_error) in ends {
        let answer = answer(&exit(ended, cause, printed, ""), 500, None);
        assert_eq!((words(&answer).as_str(), answer.is_error), (told, is_error));
    }
    for cause in [
        Cause::Cancelled,
        Cause::Deadline,
        Cause::Processes,
        Cause::Disk,
        Cause::Replaced,
    ] {
        let answer = answer(&exit(Ended::Signal(9), cause, "x", ""), 500, None);
        assert!(answer.is_error && words(&answer).contains("was ended with everything"));
    }
    let metadata = answer(
        &exit(Ended::Signal(9), Cause::Deadline, "ab", "c"),
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
    let answer = answer(
        &exit(Ended::Code(0), Cause::Itself, "out", "err"),
        500,
        None,
    );
    assert_eq!(words(&answer), "out\n[stderr]\nerr\n");
}

#[tokio::test]
async fn without_a_spawner_nothing_runs() {
    let trial = Trial::new();
    let (text, failed) = trial.say("exec", json!({ "command": "true" })).await;
    assert_eq!((text.as_str(), failed), ("No programs are run here.", true));
}
