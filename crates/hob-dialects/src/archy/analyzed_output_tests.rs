//! Answers with analyzed output.

use super::{TEXT_BYTES_MAX, captured, failed, finished, tail, timed_out};
use crate::archy::types::ArchyAnswer;
use hob_wire::CommandId;
use hob_wire::analysis::{Importance, OutputAnalysis, OutputFinding};
use hob_wire::rooms::terminal::{CommandOrigin, CommandState, TerminalCommand};
use serde_json::{Value, json};

fn command(state: CommandState, exit_code: Option<i32>) -> TerminalCommand {
    TerminalCommand {
        id: "0199c0de-0000-7000-8000-000000000001"
            .parse::<CommandId>()
            .unwrap(),
        terminal: "archy_session".to_owned(),
        by: CommandOrigin::Client,
        command: Some("df -h".to_owned()),
        reason: None,
        state,
        exit_code,
        duration_ms: Some(12),
        queued_at: 1,
        started_at: Some(2),
        ended_at: Some(14),
        output: Some("/dev/sda 95%\n".to_owned()),
        output_bytes: 13,
        recorded: None,
        truncated: false,
        detail: None,
    }
}

fn numbered(before: &str, lines: usize) -> String {
    let lines: Vec<_> = (0..lines).map(|line| format!("{before}{line}")).collect();
    lines.join("\n") + "\n"
}

fn shown(answer: ArchyAnswer) -> Value {
    serde_json::to_value(answer).unwrap()
}

#[test]
fn an_exit_code_is_the_shells_own() {
    for (state, code, success, told, status) in [
        (CommandState::Done, Some(0), true, 0, "success"),
        (CommandState::Done, Some(7), true, 7, "error"),
        (CommandState::Cancelled, Some(130), false, -1, "error"),
        (CommandState::Lost, None, false, -1, "error"),
    ] {
        let answer = shown(finished("df -h", command(state, code), None));
        assert_eq!(answer["success"], success, "{state:?}");
        assert_eq!(answer["exit_code"], told, "{state:?}");
        assert_eq!(answer["status"], status, "{state:?}");
        assert_eq!(answer["raw_output"], "/dev/sda 95%\n");
        assert_eq!(answer["output"], answer["raw_output"]);
        assert_eq!(answer["error"].is_null(), success);
        assert_eq!(answer["metadata"]["duration_ms"], 12);
        let display = answer["display_plain"].as_str().unwrap();
        assert_eq!(display.contains('✗'), told != 0, "{display}");
    }
}

#[test]
fn findings_are_for_programs_and_for_eyes() {
    let read = OutputAnalysis {
        format: "df".to_owned(),
        parsed: json!({ "filesystems": [] }),
        findings: vec![OutputFinding {
            category: "disk".to_owned(),
            message: "/dev/sda is 95% full".to_owned(),
            importance: Importance::Critical,
        }],
        summary: "1 filesystem".to_owned(),
        line_count: 1,
        byte_count: 13,
    };
    let answer = shown(finished(
        "df -h",
        command(CommandState::Done, Some(0)),
        Some(read),
    ));
    assert_eq!(
        answer["structured"],
        json!({ "filesystems": [], "command": "df -h" })
    );
    assert_eq!(answer["findings"][0]["importance"], "Critical");
    assert_eq!(
        answer["parsed"]["findings"][0]["importance"],
        answer["findings"][0]["importance"]
    );
    assert_eq!(answer["metadata"]["format_detected"], "disk_usage");
    assert_eq!(answer["parsed"]["summary"], "1 filesystem");
    assert_eq!(
        answer["display_plain"],
        "$ df -h\n/dev/sda 95%\n! /dev/sda is 95% full\n✓ 1 filesystem\n"
    );
    let display = answer["display"].as_str().unwrap();
    assert!(
        display.contains("\x1b[31m! /dev/sda is 95% full\x1b[0m"),
        "{display:?}"
    );
}

#[test]
fn what_is_unknown_is_not_claimed() {
    let answer = shown(captured("ls", "a\nb\n".to_owned(), None));
    assert_eq!(
        (&answer["success"], &answer["exit_code"]),
        (&json!(true), &json!(null))
    );
    assert_eq!(answer["structured"]["content"], "a\nb");
    assert_eq!(answer["metadata"]["line_count"], 2);

    let answer = shown(timed_out("sleep 9", command(CommandState::Running, None)));
    assert_eq!(answer["status"], "timeout");
    assert_eq!(answer["exit_code"], -1);
    assert_eq!(answer["error"], "Command timeout - may still be running");
    assert_eq!(answer["structured"]["partial_output"], "/dev/sda 95%\n");

    let answer = shown(failed("", "Missing command parameter"));
    assert_eq!(answer["status"], "error");
    assert_eq!(answer["error"], "Missing command parameter");
    assert_eq!(answer["output"], json!(null));
    assert_eq!(answer["parsed"], json!(null));
}

#[test]
fn eyes_get_the_beginning_of_much() {
    let output = numbered("", 500);
    let answer = shown(captured("seq", output, None));
    let display = answer["display_plain"].as_str().unwrap();
    assert!(display.contains("\n199\n… 300 more lines\n"), "{display}");
    assert!(!display.contains("\n200\n"));
}

#[test]
fn of_a_long_capture_the_latest_lines_stay() {
    assert_eq!(tail("short\n"), "short\n");
    let long = numbered("ä", 400_000);
    let kept = tail(&long);
    assert!(kept.len() <= TEXT_BYTES_MAX);
    assert!(
        kept.starts_with('ä') && kept.ends_with("ä399999\n"),
        "{}",
        &kept[..20]
    );
}
